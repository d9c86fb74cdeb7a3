"""What is recorded with the change: everything convergence is measured against, small, or else what cannot be read."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test import sentences

from topology_api.types import Baseline, OperandBaseline
from topology_api.vocabulary import CheckName
from topology_controller.decide import baseline
from topology_controller.definitions import model, registry
from topology_controller.observe import facts

from . import operand_worlds, worlds

FULL = [*sorted(registry.OPERAND_CHECKS), CheckName.MACHINE_CONFIG_CONTROLLER_OBSERVED]
CONSOLE = "deployments.apps/openshift-console/console"
ROUTER = "ingresscontrollers.operator.openshift.io/openshift-ingress-operator/default"
ETCD = "etcds.operator.openshift.io/cluster"


def asking(*checks: CheckName) -> model.Definition:
    """The first definition, with these convergence checks."""
    asked = tuple(model.CheckSpec.model_construct(check=check) for check in checks)
    convergence = worlds.COMPACT.convergence.model_copy(update={"checks": asked})
    return worlds.COMPACT.model_copy(update={"convergence": convergence})


EVERYTHING = asking(*FULL)


def capture(known: facts.Facts, definition: model.Definition = EVERYTHING) -> Baseline | baseline.Unmeasured:
    return baseline.capture(known, definition, worlds.MATRIX)


def captured(known: facts.Facts, definition: model.Definition = EVERYTHING) -> Baseline:
    found = capture(known, definition)
    assert isinstance(found, Baseline), str(found)
    return found


def refused(known: facts.Facts, definition: model.Definition = EVERYTHING) -> list[str]:
    found = capture(known, definition)
    assert isinstance(found, baseline.Unmeasured), found
    return [str(one) for one in found.what]


def with_operand(known: facts.Facts, key: str, found: Any) -> facts.Facts:
    return dataclasses.replace(known, operands={**known.operands, key: found})


def operand(found: Baseline, key: str) -> OperandBaseline | None:
    return next((one for one in found.operands if one.name == key), None)


def test_a_healthy_cluster_is_captured_whole():
    found = captured(worlds.healthy())
    assert found.version == "4.20.1"
    assert found.control_plane_observed == "SingleReplica"
    assert [pool.name for pool in found.machine_config_pools] == ["master", "worker"]
    assert found.machine_config_pools[0].configuration == "rendered-master-1"
    assert operand(found, CONSOLE) == OperandBaseline(name=CONSOLE, generation=1, replicas=1, ready=1)
    assert operand(found, ETCD) == OperandBaseline(name=ETCD, revision=operand_worlds.REVISION)
    assert operand(found, ROUTER) == OperandBaseline(name=ROUTER, ready=1)
    budgets = [one.name for one in found.operands if one.name.startswith("poddisruption")]
    assert budgets == [], "what is not there on a single node is nothing to measure against"
    assert {one.name for one in found.cluster_operators} == {
        name for group in worlds.MATRIX.groups for name in group.operators
    }
    assert all(one.settled_time == operand_worlds.LONG_AGO for one in found.cluster_operators)


def test_only_what_the_definition_asks_is_captured_or_needed():
    known = dataclasses.replace(worlds.healthy(), machine_config_pools=worlds.BROKEN, controller_config=worlds.BROKEN)
    known = dataclasses.replace(known, operands={}, cluster_operators=worlds.BROKEN)
    found = captured(known, asking(CheckName.CLUSTER_OPERATORS_STABLE))
    assert found == Baseline(version="4.20.1")


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ("cluster_version", "clusterversions.config.openshift.io/version"),
        ("controller_config", worlds.BROKEN.what),
        ("machine_config_pools", worlds.BROKEN.what),
        ("cluster_operators", worlds.BROKEN.what),
        ("etcd", ETCD),
        ("ingress_controller", ROUTER),
    ],
)
def test_what_cannot_be_read_is_named(field: str, named: str):
    known = worlds.unread(worlds.healthy(), field)
    assert f"{named}: {sentences.FORBIDDEN}" in refused(known)


def missing(key: str) -> facts.Unobserved:
    return facts.Unobserved(key, sentences.MISSING, missing=True)


def test_an_operand_that_is_another_kind_is_no_measure():
    found = with_operand(worlds.healthy(), CONSOLE, facts.Managed("Managed", 1))
    assert refused(found) == [f"{CONSOLE}: is no Deployment"]


def test_what_the_cluster_does_not_have_is_recorded_as_missing():
    without = dataclasses.replace(
        worlds.version(), known_capabilities=frozenset({"Console"}), enabled_capabilities=frozenset()
    )
    known = dataclasses.replace(worlds.healthy(), cluster_version=without)
    found = captured(with_operand(known, CONSOLE, missing(CONSOLE)))
    assert operand(found, CONSOLE) == OperandBaseline(name=CONSOLE, missing=True)
    registry = "deployments.apps/openshift-image-registry/image-registry"
    known = with_operand(
        worlds.healthy(), "configs.imageregistry.operator.openshift.io/cluster", facts.Managed("Removed", None)
    )
    found = captured(with_operand(known, registry, missing(registry)))
    assert operand(found, registry) == OperandBaseline(name=registry, missing=True)


def test_what_would_be_larger_than_allowed_is_refused_and_says_so(monkeypatch: pytest.MonkeyPatch):
    size = len(json.dumps(captured(worlds.healthy()).to_api()))
    monkeypatch.setattr(baseline, "LARGEST", size)
    captured(worlds.healthy())
    monkeypatch.setattr(baseline, "LARGEST", size - 1)
    assert refused(worlds.healthy()) == [f"the baseline: would be larger than {size - 1} bytes"]


NAMES = st.text(max_size=300)
NUMBERS = st.integers(-(10**3), 10**20)


@given(
    names=st.lists(NAMES, max_size=30),
    configuration=NAMES,
    version=NAMES,
    topology=NAMES,
    workload=st.builds(facts.Workload, NUMBERS, st.booleans(), NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    pods=st.builds(facts.StaticPods, NUMBERS, st.just(())),
)
def test_whatever_the_cluster_looks_like_it_is_small_or_refused(  # noqa: PLR0917 - everything that may be odd
    names: list[str],
    configuration: str,
    version: str,
    topology: str,
    workload: facts.Workload,
    pods: facts.StaticPods,
):
    known = worlds.healthy()
    known = dataclasses.replace(
        known,
        cluster_version=dataclasses.replace(worlds.version(), newest=version or None),
        controller_config=dataclasses.replace(worlds.controller_config("x"), control_plane=topology or None),
        machine_config_pools=tuple(worlds.pool(name, configuration=configuration) for name in ("master", *names)),
        operands={
            key: workload
            if isinstance(found, facts.Workload)
            else pods
            if isinstance(found, facts.StaticPods)
            else found
            for key, found in known.operands.items()
        },
    )
    found = capture(known)
    if isinstance(found, Baseline):
        assert len(json.dumps(found.to_api())) <= baseline.LARGEST
        assert Baseline.model_validate(found.to_api()) == found
    else:
        assert found.what
        assert str(found)
