"""An object that is not what its schema promises is Unknown and named, never a traceback, until it is mended."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from test import polling, sentences
from test.component import cluster, definitions
from test.component.operator_conditions import FIVE, deafen, until_told
from topology_simulator import follow, kinds

if TYPE_CHECKING:
    from test.component.world import World

_SNO = ("SingleReplica", "SingleReplica")
_BRAKE = "openshift-etcd/etcd-guard-pdb"


# -- objects that are not what their schema promises

_MALFORMED: dict[str, tuple[kinds.Kind, str, str, dict[str, Any], str]] = {
    "conditions-absent": (kinds.CLUSTER_OPERATORS, "etcd", "", {"conditions": None}, "ClusterOperatorsStable"),
    "conditions-of-nulls": (kinds.CLUSTER_OPERATORS, "etcd", "", {"conditions": [None]}, "ClusterOperatorsStable"),
    "condition-of-nulls": (
        kinds.CLUSTER_OPERATORS, "etcd", "",
        {"conditions": [{"type": None, "status": None}]}, "ClusterOperatorsStable",
    ),
    "conditions-text": (kinds.CLUSTER_OPERATORS, "etcd", "", {"conditions": "all fine"}, "ClusterOperatorsStable"),
    "conditions-of-numbers": (kinds.CLUSTER_OPERATORS, "etcd", "", {"conditions": [1, 2]}, "ClusterOperatorsStable"),
    "condition-status-bool": (
        kinds.CLUSTER_OPERATORS, "etcd", "",
        {"conditions": [{"type": "Available", "status": True}]}, "ClusterOperatorsStable",
    ),
    "version-absent": (kinds.CLUSTER_VERSIONS, "version", "", {"conditions": None}, "NoUpgradeInProgress"),
    "version-list": (kinds.CLUSTER_VERSIONS, "version", "", {"desired": ["4.21"]}, "NoUpgradeInProgress"),
    "etcd-absent": (kinds.ETCDS, "cluster", "", {"conditions": None}, "EtcdHealthy"),
    "etcd-number": (kinds.ETCDS, "cluster", "", {"conditions": 7}, "EtcdHealthy"),
}  # fmt: skip


@pytest.mark.nightly(but=("conditions-absent", "conditions-of-nulls", "condition-status-bool", "etcd-number"))
@pytest.mark.parametrize("case", _MALFORMED)
async def test_a_malformed_status_is_unknown_and_names_its_object(world: World, case: str) -> None:
    kind, name, namespace, spoilt, check = _MALFORMED[case]
    await definitions.change(world.api, kind, definitions.anything)
    good = copy.deepcopy((await world.api.get(kind, name, namespace))["status"])
    world.echo.on = kind is not kinds.CLUSTER_VERSIONS
    await world.idle_operator()
    await world.api.patch_status(kind, name, spoilt, namespace)
    await world.ask_for()
    # An operator that says nothing may be called unstable; that it is taken for stable is what must not happen.
    silent = (kind is kinds.CLUSTER_OPERATORS and "absent" in case) or case == "condition-of-nulls"
    found = await world.until_check(check, "Unknown", *(["Unmet"] if silent else []))
    assert name in found["message"], found
    assert (await world.record())["phase"] == "Pending"
    await world.api.patch_status(kind, name, {key: good.get(key) for key in spoilt}, namespace)
    await world.until_check(check, "Met")
    await world.echo.go_on()
    await world.until_phase("Completed")


@pytest.mark.nightly("3", "[True]")
@pytest.mark.parametrize("value", [None, "yes", 3, [True]], ids=repr)
async def test_a_malformed_scheduler_never_passes(world: World, value: object) -> None:
    await definitions.change(world.api, kinds.SCHEDULERS, definitions.anything)
    await world.idle_operator()
    await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": value}})
    await world.ask_for()
    found = await world.until_check("MastersSchedulable", "Unmet" if value is None else "Unknown")
    if value is not None:
        assert "spec.mastersSchedulable should be a boolean" in found["message"]
    await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": True}})
    await world.until_phase("Completed")


@pytest.mark.nightly("configuration")
@pytest.mark.parametrize(
    "spoilt",
    [
        {"machineCount": "three"},
        {"configuration": "rendered-master"},
        {"observedGeneration": "one"},
    ],
    ids=lambda spoilt: next(iter(spoilt)),
)
async def test_a_malformed_pool_never_ends_a_transition(world: World, spoilt: dict[str, Any]) -> None:
    await definitions.change(world.api, kinds.MACHINE_CONFIG_POOLS, definitions.anything)
    await world.idle_operator()
    world.operands.behind.add(_BRAKE)
    await world.ask_for()
    await world.until_check("MachineConfigPoolsRolledOut", "Met", stage="Convergence")
    # Until then the pools may be written once more.
    await world.operands.followed("HighlyAvailable", "HighlyAvailable")
    kept = (await world.api.get(kinds.MACHINE_CONFIG_POOLS, "worker"))["status"]
    await world.api.patch_status(kinds.MACHINE_CONFIG_POOLS, "worker", spoilt)
    await follow.follow(world.api, only=[_BRAKE])
    found = await world.until_check("MachineConfigPoolsRolledOut", "Unknown", stage="Convergence")
    assert "worker" in found["message"]
    assert next(iter(spoilt)) in found["message"]
    # What had to follow meanwhile may have raised the generation once more.
    pool = await world.api.get(kinds.MACHINE_CONFIG_POOLS, "worker")
    mended = {**kept, "observedGeneration": pool["metadata"]["generation"]}
    await world.api.patch_status(kinds.MACHINE_CONFIG_POOLS, "worker", {key: mended[key] for key in spoilt})
    await world.completed_once()


@pytest.mark.nightly("list", "no-time")
@pytest.mark.parametrize(
    "spoilt",
    [
        {"topologyTransition": "Idle"},
        # With a time it would be a phase of a newer version, and left alone (test/unit/upgrading).
        {"topologyTransition": {"phase": "Dreaming", "phaseTransitionTime": None}},
        {"topologyTransition": {"phase": "Converging", "checks": [{"name": None}]}},
        {"topologyTransition": {"phase": "Pending", "requestedTime": "yesterday"}},
        {"topologyTransition": ["Idle"]},
    ],
    ids=["text", "unknown-phase", "broken-checks", "no-time", "list"],
)
async def test_a_record_that_cannot_be_read_is_replaced_and_nothing_is_made_of_it(
    world: World, spoilt: dict[str, Any]
) -> None:
    def free_record(schema: dict[str, Any]) -> dict[str, Any]:
        changed = definitions.without_rules(copy.deepcopy(schema))
        changed["properties"]["status"]["properties"]["topologyTransition"] = {
            "x-kubernetes-preserve-unknown-fields": True
        }
        return changed

    await world.idle_operator()
    deafen(world.operands)
    await definitions.change(world.api, kinds.INFRASTRUCTURES, free_record)
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", spoilt)

    async def replaced() -> bool:
        found = (await world.infrastructure())["status"].get("topologyTransition")
        return isinstance(found, dict) and found.get("phase") == "Idle" and "checks" not in found

    await polling.until("the record is Idle", replaced)
    await world.ask_for()
    await world.until_phase("Converging")
    await cluster.follow_the_change(world.api)
    await world.until_phase("Completed")


@pytest.mark.nightly(but=("mixed", "extension-types"))
@pytest.mark.parametrize(
    "spoilt",
    [
        {"conditions": None},
        {"conditions": "fine"},
        {"conditions": [None, 3, {"type": 7}, {"type": "Available"}]},
        {"extension": "of us"},
        {"extension": {"phase": 12, "target": []}},
    ],
    ids=["absent", "text", "mixed", "extension-text", "extension-types"],
)
async def test_our_own_clusteroperator_is_put_right_whatever_it_held(world: World, spoilt: dict[str, Any]) -> None:
    await definitions.change(world.api, kinds.CLUSTER_OPERATORS, definitions.anything)
    await world.idle_operator()
    deafen(world.echo)
    await world.api.patch_status(kinds.CLUSTER_OPERATORS, "topology", spoilt)

    async def right() -> bool:
        found = (await world.api.get(kinds.CLUSTER_OPERATORS, "topology"))["status"]
        kept = found.get("conditions")
        return (
            isinstance(kept, list)
            and [one["type"] for one in kept if isinstance(one, dict)] == list(FIVE)
            and (isinstance(found.get("extension"), dict) and found["extension"].get("phase") == "Idle")
        )

    await polling.until("the conditions are ours again", right)


def _without_types(schema: dict[str, Any]) -> dict[str, Any]:
    """Infrastructure with our fields as they are and anything in all others."""
    changed = definitions.without_rules(copy.deepcopy(schema))
    for part in ("spec", "status"):
        fields = changed["properties"][part]["properties"]
        for name in set(fields) - {"desiredTopology", "topologyTransition"}:
            fields[name] = {"x-kubernetes-preserve-unknown-fields": True}
    return changed


@pytest.mark.parametrize("phase", ["Idle", "Converging"])
async def test_a_malformed_infrastructure_is_told_and_keeps_what_it_held_back(world: World, phase: str) -> None:
    await world.idle_operator()
    await definitions.change(world.api, kinds.INFRASTRUCTURES, _without_types)
    world.operands.on = False
    reasons = {"Degraded": "EvidenceUnreadable"}
    if phase == "Converging":
        await world.ask_for()
        await world.until_phase("Converging")
        reasons |= {"Progressing": "TransitionConverging", "Upgradeable": "TransitionInProgress"}
        await world.until_condition("Upgradeable", "False", "TransitionInProgress")
    deafen(world.operands)
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"platformStatus": "None"})
    await until_told(world, **reasons)
    message = (await world.condition("Degraded"))["message"]
    assert "infrastructures.config.openshift.io/cluster" in message
    assert "status.platformStatus should be an object, found str" in message
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"platformStatus": {"type": "None"}})
    await until_told(world, **{name: reason for name, reason in reasons.items() if name != "Degraded"})
    await world.ask_for()
    await world.until_phase("Converging")
    await cluster.follow_the_change(world.api)
    await world.until_phase("Completed")
    assert len(world.server.topology_changes) == 1


async def test_a_malformed_feature_gate_admits_nothing_until_it_can_be_read(world: World) -> None:
    await definitions.change(world.api, kinds.FEATURE_GATES, definitions.anything)
    good = (await world.api.get(kinds.FEATURE_GATES, "cluster"))["status"]
    await world.api.patch_status(kinds.FEATURE_GATES, "cluster", {"featureGates": [7]})
    await world.idle_operator()
    await world.ask_for()
    await world.until_phase("Pending")

    async def named() -> bool:
        return "featuregates.config.openshift.io/cluster" in (await world.condition("Progressing"))["message"]

    await polling.until("the feature gate is named", named)
    assert await world.pair() == _SNO
    await world.api.patch_status(kinds.FEATURE_GATES, "cluster", good)
    await world.until_phase("Completed")


@pytest.mark.nightly(but=("no-capacity", "no-conditions"))
@pytest.mark.parametrize(
    "spoilt",
    [
        {"conditions": None},
        {"capacity": None},
        {"addresses": None},
        {"nodeInfo": None},
    ],
    ids=["no-conditions", "no-capacity", "no-addresses", "no-version"],
)
async def test_a_node_that_says_too_little_is_not_eligible(world: World, spoilt: dict[str, Any]) -> None:
    await world.idle_operator()
    kept = (await world.api.get(kinds.NODES, "master-2"))["status"]
    await world.api.patch_status(kinds.NODES, "master-2", spoilt)
    await world.ask_for()
    found = await world.until_check("ControlPlaneNodes", "Unmet", "Unknown")
    assert "master-2" in found["message"]
    await world.api.patch_status(kinds.NODES, "master-2", {key: kept[key] for key in spoilt})
    await world.until_phase("Completed")


@pytest.mark.parametrize("kind", [kinds.CLUSTER_VERSIONS, kinds.SCHEDULERS, kinds.ETCDS], ids=lambda kind: kind.kind)
async def test_an_object_that_is_not_there_is_unknown_and_named(world: World, kind: kinds.Kind) -> None:
    name = "version" if kind is kinds.CLUSTER_VERSIONS else "cluster"
    check = {
        kinds.CLUSTER_VERSIONS: "NoUpgradeInProgress",
        kinds.SCHEDULERS: "MastersSchedulable",
        kinds.ETCDS: "EtcdHealthy",
    }[kind]
    await world.api.delete(kind, name)
    await world.idle_operator()
    await world.ask_for()
    found = await world.until_check(check, "Unknown")
    assert f"{kind.plural}.{kind.group}/{name}: {sentences.MISSING}" in found["message"]
    assert await world.pair() == _SNO
