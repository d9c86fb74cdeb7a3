"""Argo CD's health check and Flux' expressions give the verdict of the table, each in its own language.

The check runs in Lua 5.1, which Argo CD embeds, with no library but the basic one. The expressions run in CEL with the
extensions that Flux has, in Flux' order: failed, then current, else in progress (fluxcd/pkg runtime/cel).
"""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import yaml
from test import recorded
from test.unit.fleet import evaluators, table

from topology_api.vocabulary import Phase, ProblemReason
from topology_simulator.apiserver import patch

EXAMPLE = pathlib.Path(__file__).parents[3] / "docs" / "examples" / "gitops"
CHECK = (EXAMPLE / "argocd" / "health.lua").read_text()
(EXPRESSIONS,) = yaml.safe_load((EXAMPLE / "flux" / "topology.yaml").read_text())["spec"]["healthCheckExprs"]
ROWS = table.rows()
everywhere = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def _record(infrastructure: dict[str, Any]) -> dict[str, Any]:
    record = (infrastructure.get("status") or {}).get("topologyTransition")
    return record if isinstance(record, dict) else {}


def argo(infrastructure: dict[str, Any]) -> tuple[str, str]:
    """Status and message, as Argo CD gets them."""
    answer = evaluators.in_lua(CHECK, infrastructure)
    return answer.status, answer.message


def flux(infrastructure: dict[str, Any]) -> str:
    """The status, as Flux gets it; `error` where an expression cannot be evaluated."""
    for name, status in (("failed", "Failed"), ("current", "Current")):
        value = evaluators.in_flux(EXPRESSIONS[name], infrastructure)
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
