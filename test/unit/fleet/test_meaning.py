"""Each object of the table has the state and the verdicts that the table says, in each language that asks.

Of a roll-out: CEL; test/engines has it as a template. Of GitOps: Argo CD's health check, in Lua 5.1 with no
library but the basic one, and Flux' expressions, in CEL with the extensions that Flux has, in Flux' order: failed, then
current, else in progress (fluxcd/pkg runtime/cel).
"""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from test import recorded
from test.unit.fleet import table

from topology_api.vocabulary import Phase, ProblemReason
from topology_deploy.fleet import meaning
from topology_deploy.fleet.meaning import State
from topology_simulator.apiserver import patch

EXAMPLE = pathlib.Path(__file__).parents[3] / "docs" / "examples" / "gitops"
CHECK = (EXAMPLE / "argocd" / "health.lua").read_text()
(EXPRESSIONS,) = yaml.load((EXAMPLE / "flux" / "topology.yaml").read_text(), yaml.CSafeLoader)["spec"][
    "healthCheckExprs"
]
ROWS = table.rows()
EXPRESSION = meaning.choice(meaning.work(table.TARGET, table.NAMES), {state: f'"{state}"' for state in State})
everywhere = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


@everywhere
def test_cel_finds_the_state(row: table.Row) -> None:
    assert table.in_cel(EXPRESSION, row.infrastructure) == (row.state.value if row.legal else "error")


def _fields(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Make an object of which any of these may be missing."""
    return st.fixed_dictionaries({}, optional=optional)


_PAIR = {"controlPlane": "HighlyAvailable", "infrastructure": "HighlyAvailable"}
_RECORD = _fields(
    phase=st.sampled_from(["Idle", "Unsupported", "Pending", "Completed", "Novel"]),
    observedGeneration=st.integers(0, 3),
    problem=st.sampled_from([{}, {"reason": "Stuck"}, {"reason": "Paused"}]),
    available=st.lists(
        st.fixed_dictionaries(
            {"name": st.just("sno-to-ha-compact")},
            optional={"available": st.booleans(), "target": st.sampled_from([{}, _PAIR])},
        ),
        max_size=2,
    ),
)
_INFRASTRUCTURES = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"generation": st.integers(0, 3)},
            optional={"labels": st.sampled_from([{}, {"topology.openshift.io/image-based-install": "true"}])},
        )
    },
    optional={
        "spec": _fields(desiredTopology=st.sampled_from(["SingleReplica", "HighlyAvailable", "External", ""])),
        "status": _fields(
            controlPlaneTopology=st.sampled_from(["SingleReplica", "HighlyAvailable", "External"]),
            infrastructureTopology=st.sampled_from(["SingleReplica", "HighlyAvailable"]),
            topologyTransition=_RECORD,
        ),
    },
)


@given(_INFRASTRUCTURES)
def test_whatever_is_missing_no_expression_fails_and_argo_cd_and_flux_agree(infrastructure: table.Raw) -> None:
    assert table.in_cel(EXPRESSION, infrastructure) in set(State)
    status, _ = argo(infrastructure)
    # Flux knows no field at the top that is missing.
    assert flux({"spec": {}, "status": {}, **infrastructure}) == table.IN_FLUX[status]


def test_without_a_record_a_cluster_is_never_done_and_never_failed() -> None:
    for row in ROWS:
        lost = patch.merge(row.infrastructure, {"status": {"topologyTransition": None}})
        found = table.in_cel(EXPRESSION, lost)
        assert found in {State.NOT_FOR_US, State.SILENT, State.UNDER_WAY}, row.name


# -- the verdicts of GitOps


def _record(infrastructure: dict[str, Any]) -> dict[str, Any]:
    record = (infrastructure.get("status") or {}).get("topologyTransition")
    return record if isinstance(record, dict) else {}


def argo(infrastructure: dict[str, Any]) -> tuple[str, str]:
    """Status and message, as Argo CD gets them."""
    answer = table.in_lua(CHECK, infrastructure)
    return answer.status, answer.message


def flux(infrastructure: dict[str, Any]) -> str:
    """The status, as Flux gets it; `error` where an expression cannot be evaluated."""
    for name, status in (("failed", "Failed"), ("current", "Current")):
        value = table.in_flux(EXPRESSIONS[name], infrastructure)
        if value:
            return "error" if value == "error" else status
    return "InProgress"


@everywhere
def test_argo_cd_gives_the_verdict_of_the_table(row: table.Row) -> None:
    status, message = argo(row.infrastructure)
    assert status == row.argo, message
    assert message


@everywhere
def test_flux_gives_the_same(row: table.Row) -> None:
    assert flux(row.infrastructure) == row.flux


def test_every_recorded_object_every_phase_and_every_problem_is_in_the_table() -> None:
    names = {row.name for row in ROWS if ":" not in row.name}
    assert names == set(recorded.infrastructures())
    records = [_record(row.infrastructure) for row in ROWS]
    assert {record.get("phase") for record in records} >= {phase.value for phase in Phase}
    problems = {(record.get("problem") or {}).get("reason") for record in records}
    assert problems >= {reason.value for reason in ProblemReason}
    assert {row.argo for row in ROWS} == set(table.IN_FLUX)


def test_a_request_without_an_answer_is_never_fulfilled_whatever_the_rest_says() -> None:
    for row in ROWS:
        request = {"spec": {"desiredTopology": "HighlyAvailable"}, "metadata": {"generation": 99}}
        asked = patch.merge(row.infrastructure, request)
        labels = asked["metadata"].get("labels") or {}
        image = labels.get("topology.openshift.io/image-based-install", "false") != "false"
        elsewhere = image or (asked.get("status") or {}).get("controlPlaneTopology") == "External"
        assert argo(asked)[0] == ("Degraded" if elsewhere else "Progressing"), row.name
        assert flux(asked) in ({"Failed"} if elsewhere else {"InProgress", "error"}), row.name
        state = State.NOT_FOR_US if elsewhere else State.UNDER_WAY
        assert not row.legal or table.in_cel(EXPRESSION, asked) == state, row.name
