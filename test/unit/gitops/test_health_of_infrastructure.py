"""Argo CD's health check and Flux' expressions give the verdict of the table, each in its own language.

The check runs in Lua 5.1, which Argo CD embeds, with no library but the basic one. The expressions run in CEL with the
extensions that Flux has, in Flux' order: failed, then current, else in progress (fluxcd/pkg runtime/cel).
"""

from __future__ import annotations

import pathlib
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from cel_expr_python import cel  # type: ignore[import-untyped]  # it has .pyi files, but no py.typed
from cel_expr_python.ext import ext_optional, ext_strings  # type: ignore[import-untyped]  # as above
from lupa import lua51
from test import recorded
from test.unit.fleet import table

from topology_api.vocabulary import Phase, ProblemReason
from topology_simulator.apiserver import patch

EXAMPLE = pathlib.Path(__file__).parents[3] / "docs" / "examples" / "gitops"
CHECK = (EXAMPLE / "argocd" / "health.lua").read_text()
EXPRESSIONS: dict[str, str] = yaml.safe_load((EXAMPLE / "flux" / "topology.yaml").read_text())["spec"][
    "healthCheckExprs"
][0]
IN_FLUX = {"Healthy": "Current", "Progressing": "InProgress", "Suspended": "InProgress", "Degraded": "Failed"}
BASIC = {"type", "ipairs", "pairs", "tostring", "tonumber", "next", "select", "_G"}


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the table."""

    name: str
    infrastructure: dict[str, Any]
    verdict: str
    flux: str


def _cases() -> list[Case]:
    cases = []
    objects = recorded.infrastructures()
    for row in yaml.safe_load(table.VERDICTS.read_text()):
        raw = objects[row["of"]]
        name = f"{row['of']}: {row['why']}" if "why" in row else row["of"]
        flux = row.get("flux", IN_FLUX[row["verdict"]])
        cases.append(Case(name, patch.merge(raw, row.get("patch", {})), row["verdict"], flux))
    return cases


def _record(infrastructure: dict[str, Any]) -> dict[str, Any]:
    record = (infrastructure.get("status") or {}).get("topologyTransition")
    return record if isinstance(record, dict) else {}


CASES = _cases()
everywhere = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def argo(infrastructure: dict[str, Any]) -> tuple[str, str]:
    """Status and message, as Argo CD gets them."""
    lua = lua51.LuaRuntime(register_eval=False, register_builtins=False)
    values = lua.globals()
    for name in [name for name in values if name not in BASIC]:
        values[name] = None
    values.obj = lua.table_from(infrastructure, recursive=True)
    answer = lua.execute(CHECK)
    return answer.status, answer.message


def flux(infrastructure: dict[str, Any]) -> str:
    """The status, as Flux gets it; `error` where an expression cannot be evaluated."""
    # Flux declares nothing: each field at the top is a variable, and a missing one is known when it is asked for.
    variables = dict.fromkeys(("metadata", "spec", "status"), cel.Type.DYN)
    extensions = [ext_strings.ExtStrings(), ext_optional.ExtOptional()]
    environment = cel.NewEnv(variables=variables, extensions=extensions)
    known = {name: infrastructure[name] for name in variables if name in infrastructure}
    for expression, status in ((EXPRESSIONS["failed"], "Failed"), (EXPRESSIONS["current"], "Current")):
        try:
            answer = environment.compile(expression).eval(data=known)
        except RuntimeError:
            return "error"
        if answer.type() == cel.Type.ERROR:
            return "error"
        if answer.value():
            return status
    return "InProgress"


@everywhere
def test_argo_cd_gives_the_verdict_of_the_table(case: Case) -> None:
    status, message = argo(case.infrastructure)
    assert status == case.verdict, message
    assert message


@everywhere
def test_flux_gives_the_same(case: Case) -> None:
    assert flux(case.infrastructure) == case.flux


def test_every_recorded_object_every_phase_and_every_problem_is_in_the_table() -> None:
    rows = {case.name for case in CASES if ":" not in case.name}
    assert rows == set(recorded.infrastructures())
    records = [_record(case.infrastructure) for case in CASES]
    assert {record.get("phase") for record in records} >= {phase.value for phase in Phase}
    problems = {(record.get("problem") or {}).get("reason") for record in records}
    assert problems >= {reason.value for reason in ProblemReason}
    assert {case.verdict for case in CASES} == set(IN_FLUX)


def test_a_request_without_an_answer_is_never_fulfilled_whatever_the_rest_says() -> None:
    for case in CASES:
        request = {"spec": {"desiredTopology": "HighlyAvailable"}, "metadata": {"generation": 99}}
        asked = patch.merge(case.infrastructure, request)
        labels = asked["metadata"].get("labels") or {}
        image = labels.get("topology.openshift.io/image-based-install", "false") != "false"
        elsewhere = image or (asked.get("status") or {}).get("controlPlaneTopology") == "External"
        assert argo(asked)[0] == ("Degraded" if elsewhere else "Progressing"), case.name
        assert flux(asked) in ({"Failed"} if elsewhere else {"InProgress", "error"}), case.name
