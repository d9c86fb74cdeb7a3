"""Whatever keeps the operator from working has a reason and a message of its own, and ends when its cause does."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from test.component import cluster, definitions, polling
from test.component import world as worlds
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import conditions, kinds

if TYPE_CHECKING:
    import pathlib

    from test.component import neighbours
    from test.component.world import World

_SNO = ("SingleReplica", "SingleReplica")
_FIVE = ("Available", "Progressing", "Degraded", "Upgradeable", "Disabled")
_AS_EXPECTED = dict.fromkeys(_FIVE, "AsExpected")


async def told(world: World) -> dict[str, str]:
    """The reason of each condition of ClusterOperator topology."""
    return {name: (await world.condition(name)).get("reason", "") for name in _FIVE}


async def until_told(world: World, **reasons: str) -> None:
    """Wait until all reasons are AsExpected but for these."""

    async def ask() -> bool:
        return await told(world) == {**_AS_EXPECTED, **reasons}

    try:
        await polling.until(f"reasons {reasons}", ask)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{await told(world)}\n{await world.describe()}") from None


def deafen(*heard: neighbours.Echo | neighbours.Operands) -> None:
    """Let these neighbours ignore what a test spoils: they are simpler than the operator."""

    async def ignore(_: dict[str, Any]) -> None:
        """Hear nothing."""

    for one in heard:
        one._act = ignore  # type: ignore[method-assign, assignment]  # one instance, for one test


async def stays_put(world: World, seconds: float = 0.5) -> None:
    """Nothing was written to Infrastructure by an operator, and nothing is in the next moment."""

    async def ask() -> bool:
        return not [one for one in world.embedded.writes if one.resource == "infrastructures"]

    await polling.steadily("Infrastructure is not written", ask, seconds)


# -- Infrastructure is not what it should be


async def test_infrastructure_missing_is_degraded_until_it_is_created(world: World) -> None:
    kept = await world.infrastructure()
    await world.api.delete(kinds.INFRASTRUCTURES, "cluster")
    await world.operator()
    await until_told(world, Degraded="InfrastructureMissing")
    message = (await world.condition("Degraded"))["message"]
    assert "Infrastructure cluster does not exist" in message
    assert "installer" in message
    made = {**kept, "metadata": {"name": "cluster"}}
    await world.api.create(kinds.INFRASTRUCTURES, made)
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", kept["status"])
    await until_told(world)
    await world.wish()
    await world.until_phase("Completed")


async def test_infrastructure_deleted_while_watched_is_told_within_a_moment(world: World) -> None:
    await world.idle_operator()
    await world.api.delete(kinds.INFRASTRUCTURES, "cluster")
    await until_told(world, Degraded="InfrastructureMissing")


async def test_infrastructure_without_status_is_unknown_topology(world: World) -> None:
    kept = await world.infrastructure()
    await world.api.delete(kinds.INFRASTRUCTURES, "cluster")
    await world.api.create(kinds.INFRASTRUCTURES, {**kept, "metadata": {"name": "cluster"}, "status": None, "spec": {}})
    await world.operator()
    await until_told(world, Disabled="UnknownTopology")
    message = (await world.condition("Disabled"))["message"]
    assert "has no status.controlPlaneTopology" in message
    assert "no such key" not in message
    await stays_put(world)
    with pytest.raises(clients.ApiError, match=r"status\.controlPlaneTopology is not set") as refused:
        await world.wish()
    assert refused.value.code == 422
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", kept["status"])
    await until_told(world)


@pytest.mark.parametrize("field", ["controlPlaneTopology", "infrastructureTopology"])
async def test_a_topology_that_is_not_known_is_left_alone_and_named(world: World, field: str) -> None:
    await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_rules)
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {field: "Galactic"})
    await world.wish()
    await world.operator()
    await until_told(world, Disabled="UnknownTopology")
    message = (await world.condition("Disabled"))["message"]
    assert f"status.{field} Galactic" in message
    await stays_put(world)
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {field: "SingleReplica"})
    await world.until_phase("Completed")


async def test_a_hosted_control_plane_is_looked_at_as_little_as_possible(tmp_path: pathlib.Path) -> None:
    async with worlds.opened(tmp_path, simulated.Shape(hosted=True)) as world:
        await world.operator()
        await until_told(world, Disabled="HostedControlPlane")
        message = (await world.condition("Disabled"))["message"]
        for knob in ("HostedCluster", "controllerAvailabilityPolicy", "infrastructureAvailabilityPolicy"):
            assert knob in message
        with pytest.raises(clients.ApiError, match=r"cannot be reached from status\.controlPlaneTopology External"):
            await world.wish()
        await stays_put(world)
        asked = {one.resource for one in world.embedded.asked()}
        assert not asked & {"nodes", "etcds", "configmaps"}, asked


async def test_an_image_based_install_is_left_alone_while_its_label_is_there(world: World) -> None:
    label = "topology.openshift.io/image-based-install"
    await world.api.patch(kinds.INFRASTRUCTURES, "cluster", {"metadata": {"labels": {label: ""}}})
    await world.wish()
    await world.operator()
    await until_told(world, Disabled="ImageBasedInstall")
    assert label in (await world.condition("Disabled"))["message"]
    await stays_put(world)
    assert await world.pair() == _SNO
    await world.api.patch(kinds.INFRASTRUCTURES, "cluster", {"metadata": {"labels": {label: None}}})
    await world.until_phase("Completed")


# -- the wish leads nowhere


async def test_a_wish_that_nobody_defines_is_unsupported_with_what_would_be_legal(world: World) -> None:
    await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_rules)
    await world.idle_operator()
    await world.wish("DualReplica")
    record = await world.until_phase("Unsupported")
    assert record["source"] == {"controlPlane": "SingleReplica", "infrastructure": "SingleReplica"}
    await until_told(world, Progressing="UnsupportedTransition", Upgradeable="UnsupportedTransition")
    for type_ in ("Progressing", "Upgradeable"):
        message = (await world.condition(type_))["message"]
        assert "No transition leads from SingleReplica/SingleReplica to DualReplica on platform None" in message
        assert "HighlyAvailable (sno-to-ha-compact" in message
    assert "oc patch infrastructure cluster" in (await world.condition("Upgradeable"))["message"]
    await world.wish(None)
    await world.until_phase("Idle")
    await until_told(world)
    assert await world.pair() == _SNO


async def test_a_platform_without_transitions_is_only_mentioned_when_something_is_wished(
    tmp_path: pathlib.Path,
) -> None:
    async with worlds.opened(tmp_path, simulated.Shape(platform="VSphere")) as world:
        await world.operator()
        await world.until_phase("Idle")
        await until_told(world)
        await world.wish()
        await world.until_phase("Unsupported")
        message = (await world.condition("Progressing"))["message"]
        assert "on platform VSphere" in message
        assert "platform None or External" in message


# -- the API is not there


async def test_a_crd_without_our_fields_is_degraded_with_the_command_and_installing_it_recovers(world: World) -> None:
    before = await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_our_fields)
    await world.operator()
    await until_told(world, Degraded="APINotInstalled")
    message = (await world.condition("Degraded"))["message"]
    assert "infrastructures.config.openshift.io" in message
    assert "cluster-topology-operator manifests --crd-patch" in message
    await stays_put(world)
    await definitions.restore(world.api, kinds.INFRASTRUCTURES, before)
    await world.wish()
    await world.until_phase("Completed")
    await until_told(world, Progressing="TransitionCompleted")


async def test_a_crd_that_loses_our_fields_while_pending_is_noticed(world: World) -> None:
    await world.idle_operator()
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.wish()
    await world.until_phase("Pending")
    before = await definitions.change(world.api, kinds.INFRASTRUCTURES, definitions.without_our_fields)
    await cluster.set_ready(world.api, "master-1", ready=False)
    await until_told(world, Degraded="APINotInstalled")
    assert await world.pair() == _SNO
    await definitions.restore(world.api, kinds.INFRASTRUCTURES, before)
    for name in ("master-1", "master-2"):
        await cluster.set_ready(world.api, name, ready=True)
    # Without news the definition is looked at once a minute; a wish is news.
    await world.wish(None)
    await world.wish()
    await world.until_phase("Completed")


# -- somebody wrote over what we wrote


@pytest.mark.parametrize("phase", ["Pending", "Converging", "Completed"])
async def test_a_record_that_a_typed_writer_dropped_is_rebuilt(world: World, phase: str) -> None:
    await world.idle_operator()
    if phase == "Pending":
        await cluster.set_ready(world.api, "master-2", ready=False)
    world.operands.on = phase == "Completed"
    await world.wish()
    lost = await world.until_phase(phase)
    await world.until_condition("Progressing", "True" if phase == "Converging" else "False")
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": None})
    rebuilt = await world.until_phase(phase)
    for head in ("name", "source", "target", "attempt", "admittedTime", "completedTime"):
        assert rebuilt.get(head) == lost.get(head), head
    await cluster.set_ready(world.api, "master-2", ready=True)
    await world.operands.go_on()
    if phase == "Pending":
        # Before an admission a lost record is a fresh start: the request may be told again, the flip comes once.
        await world.until_phase("Completed")
        assert world.operands.history == [_SNO, worlds.MOVED]
        assert len(world.embedded.flips) == 1
    else:
        await world.completed_once()


@pytest.mark.parametrize("phase", ["Converging", "Completed"])
async def test_a_topology_that_somebody_set_back_is_reported_and_never_fought_over(world: World, phase: str) -> None:
    await world.idle_operator()
    world.operands.on = phase == "Completed"
    await world.wish()
    await world.until_phase(phase)
    back = {"controlPlaneTopology": "SingleReplica", "infrastructureTopology": "SingleReplica"}
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", back)
    await until_told(world, Degraded="TopologyOverwritten")
    message = (await world.condition("Degraded"))["message"]
    assert "field manager administrator" in message
    assert "was HighlyAvailable/HighlyAvailable and is SingleReplica/SingleReplica now" in message

    async def untouched() -> bool:
        return await world.pair() == _SNO and len(world.embedded.flips) == 1

    await polling.steadily("topology is not written", untouched, 0.5)
    # The way out is the one that the message gives.
    assert """'{"spec":{"desiredTopology":null}}'""" in message
    await world.wish(None)
    await world.until_phase("Idle")
    await until_told(world)
    # The machine config operator has followed back, too.
    old = {"configuration": {"name": simulated.rendered("master", "SingleReplica")}}
    pool = await world.api.patch(kinds.MACHINE_CONFIG_POOLS, "master", {"spec": old})
    seen = {**old, "observedGeneration": pool["metadata"]["generation"]}
    await world.api.patch_status(kinds.MACHINE_CONFIG_POOLS, "master", seen)
    world.operands.on = True
    await world.wish()
    await world.until_phase("Completed")
    assert await world.pair() == worlds.MOVED
    assert len(world.embedded.flips) == 2


# -- somebody else is in charge, or we are told to wait


def _gates(version: str, *, on: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"version": version, "enabled": [], "disabled": []}
    entry["enabled" if on else "disabled"] = [{"name": "MutableTopology"}]
    return {"featureGates": [entry]}


async def test_the_native_controller_takes_over_and_gives_back(world: World) -> None:
    await world.idle_operator()
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.wish()
    await world.until_phase("Pending")
    signs = [
        conditions.Condition("TopologyTransitionControllerDegraded", "False", "AsExpected", ""),
        conditions.Condition("TopologyTransitionControllerUpgradeable", "True", "AsExpected", ""),
    ]
    await cluster.set_conditions(world.api, kinds.CONFIGS, "cluster", *signs)
    await world.api.patch_status(kinds.FEATURE_GATES, "cluster", _gates(simulated.VERSION, on=True))
    await until_told(world, Disabled="NativeControllerActive")
    message = (await world.condition("Disabled"))["message"]
    assert "MutableTopology" in message
    assert """'{"spec":{"controlPlaneTopology":"HighlyAvailable"}}'""" in message
    # What was not admitted is cleared, once, and then nothing is written any more.
    assert "attempt" not in await world.until_phase("Idle")
    await cluster.set_ready(world.api, "master-2", ready=True)

    async def idle() -> bool:
        return (await world.record()).get("phase") == "Idle" and await world.pair() == _SNO

    await polling.steadily("stood down", idle, 0.5)
    gone = tuple(one.type for one in signs)
    await cluster.set_conditions(world.api, kinds.CONFIGS, "cluster", without=gone)
    await world.api.patch_status(kinds.FEATURE_GATES, "cluster", _gates(simulated.VERSION, on=False))
    await world.until_phase("Completed")


async def test_paused_admits_nothing_new_and_still_reports(world: World) -> None:
    await world.idle_operator()
    annotation = "topology.openshift.io/paused"

    async def pause(value: str | None) -> None:
        await world.api.patch(kinds.CLUSTER_OPERATORS, "topology", {"metadata": {"annotations": {annotation: value}}})

    await pause("")
    await world.wish()
    await world.until_phase("Pending")
    await until_told(world, Progressing="PreflightUnmet", Upgradeable="TransitionPending")
    assert annotation in (await world.condition("Progressing"))["message"]

    async def waits() -> bool:
        return bool((await world.record())["phase"] == "Pending")

    await polling.steadily("nothing is admitted", waits, 0.5)
    world.operands.on = False
    await pause(None)
    await world.until_phase("Converging")
    await pause("true")
    await world.operands.go_on()
    await world.completed_once()


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


@pytest.mark.parametrize("case", _MALFORMED)
async def test_a_malformed_status_is_unknown_and_names_its_object(world: World, case: str) -> None:
    kind, name, namespace, spoilt, check = _MALFORMED[case]
    await definitions.change(world.api, kind, definitions.anything)
    good = copy.deepcopy((await world.api.get(kind, name, namespace))["status"])
    world.echo.on = kind is not kinds.CLUSTER_VERSIONS
    await world.idle_operator()
    await world.api.patch_status(kind, name, spoilt, namespace)
    await world.wish()
    # An operator that says nothing may be called unstable; that it is taken for stable is what must not happen.
    silent = (kind is kinds.CLUSTER_OPERATORS and "absent" in case) or case == "condition-of-nulls"
    found = await world.until_check(check, "Unknown", *(["Unmet"] if silent else []))
    assert name in found["message"], found
    assert (await world.record())["phase"] == "Pending"
    await world.api.patch_status(kind, name, {key: good.get(key) for key in spoilt}, namespace)
    await world.until_check(check, "Met")
    world.echo.on = True
    await world.echo.say(await world.api.get(kinds.CLUSTER_OPERATORS, "topology"))
    await world.until_phase("Completed")


@pytest.mark.parametrize("value", [None, "yes", 3, [True]], ids=repr)
async def test_a_malformed_scheduler_never_passes(world: World, value: object) -> None:
    await definitions.change(world.api, kinds.SCHEDULERS, definitions.anything)
    await world.idle_operator()
    await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": value}})
    await world.wish()
    found = await world.until_check("MastersSchedulable", "Unmet" if value is None else "Unknown")
    if value is not None:
        assert "spec.mastersSchedulable should be a boolean" in found["message"]
    await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": True}})
    await world.until_phase("Completed")


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
    world.operands.on = False
    await world.wish()
    await world.until_phase("Converging")
    kept = (await world.api.get(kinds.MACHINE_CONFIG_POOLS, "worker"))["status"]
    await world.api.patch_status(kinds.MACHINE_CONFIG_POOLS, "worker", spoilt)
    await world.operands.go_on()
    found = await world.until_check("MachineConfigPoolsRolledOut", "Unknown", stage="Convergence")
    assert "worker" in found["message"]
    assert next(iter(spoilt)) in found["message"]
    # The operands went on in a definition that drops nothing, and the pool is whole again.
    await world.api.patch_status(kinds.MACHINE_CONFIG_POOLS, "worker", {key: kept[key] for key in spoilt})
    await world.completed_once()


@pytest.mark.parametrize(
    "spoilt",
    [
        {"topologyTransition": "Idle"},
        {"topologyTransition": {"phase": "Dreaming"}},
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
    await world.wish()
    await world.until_phase("Converging")
    await cluster.follow_the_flip(world.api)
    await world.until_phase("Completed")


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
            and [one["type"] for one in kept if isinstance(one, dict)] == list(_FIVE)
            and (isinstance(found.get("extension"), dict) and found["extension"].get("phase") == "Idle")
        )

    await polling.until("the conditions are ours again", right)


async def test_a_foreign_clusteroperator_topology_deleted_is_made_again(world: World) -> None:
    await world.idle_operator()
    await world.api.delete(kinds.CLUSTER_OPERATORS, "topology")
    await until_told(world)


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
        await world.wish()
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
    await world.wish()
    await world.until_phase("Converging")
    await cluster.follow_the_flip(world.api)
    await world.until_phase("Completed")
    assert len(world.embedded.flips) == 1


async def test_a_malformed_feature_gate_admits_nothing_until_it_can_be_read(world: World) -> None:
    await definitions.change(world.api, kinds.FEATURE_GATES, definitions.anything)
    good = (await world.api.get(kinds.FEATURE_GATES, "cluster"))["status"]
    await world.api.patch_status(kinds.FEATURE_GATES, "cluster", {"featureGates": [7]})
    await world.idle_operator()
    await world.wish()
    await world.until_phase("Pending")

    async def named() -> bool:
        return "featuregates.config.openshift.io/cluster" in (await world.condition("Progressing"))["message"]

    await polling.until("the feature gate is named", named)
    assert await world.pair() == _SNO
    await world.api.patch_status(kinds.FEATURE_GATES, "cluster", good)
    await world.until_phase("Completed")


@pytest.mark.parametrize(
    "spoilt",
    [
        {"conditions": None},
        {"capacity": None},
        {"addresses": None},
        {"nodeInfo": None},
        {"capacity": {"cpu": "many", "memory": "32Gi"}},
    ],
    ids=["no-conditions", "no-capacity", "no-addresses", "no-version", "no-number"],
)
async def test_a_node_that_says_too_little_is_not_eligible(world: World, spoilt: dict[str, Any]) -> None:
    await world.idle_operator()
    kept = (await world.api.get(kinds.NODES, "master-2"))["status"]
    await world.api.patch_status(kinds.NODES, "master-2", spoilt)
    await world.wish()
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
    await world.wish()
    found = await world.until_check(check, "Unknown")
    assert f"{kind.plural}.{kind.group}/{name}: NotFound: it does not exist" in found["message"]
    assert await world.pair() == _SNO
