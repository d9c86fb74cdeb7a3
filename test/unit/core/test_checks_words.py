"""What holds for every check: it has an answer, stops no other, and says the same whenever it is asked."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_api import types
from topology_api.vocabulary import CheckName, Stage
from topology_controller.checks import catalog, result
from topology_controller.definitions import model, registry, settings
from topology_controller.observe import facts

from . import measured_cluster, operand_worlds, strategies, worlds

DEFINITIONS = worlds.TRANSITIONS.definitions
STRICT = settings.applied(
    worlds.TRANSITIONS,
    settings.DEFAULTS.model_copy(
        update={"require_load_balancer_backends": True, "require_router_survives_drains": True}
    ),
)
"""Asking all that a configuration can ask besides."""
MEASURED = result.ConvergenceContext(measured_cluster.baseline(worlds.healthy()), worlds.MATRIX)


@pytest.mark.parametrize("check", CheckName)
def test_a_check_is_entered_wherever_it_has_to_be(check: CheckName) -> None:
    """What a new check still needs is said by name."""
    assert check in registry.TRAITS, f"{check} has no row in definitions/registry.py"
    traits = registry.TRAITS[check]
    if not traits.stages:
        assert check not in catalog.CHECKS, f"{check} cannot be asked, and checks/catalog.py answers it"
        return
    assert check in catalog.CHECKS, f"{check} has no function in checks/catalog.py"
    definitions = DEFINITIONS + worlds.DIRECTLY.definitions + STRICT.definitions
    asked = {spec.check for one in definitions for stage in Stage for spec in one.stages[stage]}
    assert check in asked, f"{check} is asked by no definition in bindata/transitions, and by no configuration"
    assert traits.parameters <= {field.alias for field in model.CheckSpec.model_fields.values()}, (
        f"{check} takes parameters that definitions/model.py does not know"
    )
    assert (worlds.MATRIX.group(check) is not None) is traits.operands, f"{check}: see bindata/operands"
    assert not traits.acceptable or traits.stages == {Stage.CONVERGENCE}, f"{check} is awaited before the change"


OPERANDS = st.fixed_dictionaries(
    {},
    optional={
        operand.key: strategies.UNREAD
        | st.builds(facts.Workload, st.just(1), st.booleans(), *(st.integers(0, 3) for _ in range(4)))
        | st.builds(facts.IngressController, st.none() | st.integers(0, 3), st.integers(0, 3))
        | st.builds(facts.DisruptionBudget, st.none() | st.integers(0, 3))
        | st.builds(facts.Managed, st.sampled_from(("Managed", "Removed", "odd")), st.none() | st.integers(0, 3))
        | st.builds(operand_worlds.static_pods, st.integers(0, 9))
        for group in worlds.MATRIX.groups
        for operand in group.operands
    },
)
FACTS = {
    "Deployment": facts.Workload,
    "StatefulSet": facts.Workload,
    "StaticPods": facts.StaticPods | facts.Etcd,
    "PodDisruptionBudget": facts.DisruptionBudget,
    "IngressController": facts.IngressController,
}
BASELINES = st.sampled_from((None, MEASURED.baseline, types.Baseline()))


@measured_cluster.PATIENT
@given(strategies.worlds_of_any_kind(), OPERANDS, BASELINES, st.sampled_from(DEFINITIONS))
def test_whatever_an_operand_is_there_is_an_answer_that_fits_the_record(
    known: facts.Facts,
    operands: dict[str, facts.Fact[facts.Operand]],
    baseline: types.Baseline | None,
    asked: model.Definition,
) -> None:
    """Even an object that is of another kind than the matrix says."""
    known = dataclasses.replace(known, operands=operands)
    for answer in catalog.ask(
        Stage.CONVERGENCE, asked, known, worlds.NOW, result.ConvergenceContext(baseline, worlds.MATRIX)
    ):
        assert 0 < len(answer.message) <= types.MESSAGE_LIMIT, answer
        group = worlds.MATRIX.group(answer.name)
        if group is None or not answer.met or answer.message.startswith("Nothing has to follow"):
            continue
        for operand in group.operands:
            found = known.operand(operand.key)
            absent = isinstance(found, facts.Unobserved) and found.missing
            younger = baseline is not None and operand.key not in {entry.name for entry in baseline.operands}
            left_out = absent and (operand.optional or (younger and operand.kind != "PodDisruptionBudget"))
            assert left_out or isinstance(found, FACTS[operand.kind]), (answer, operand, found)
