"""Raw objects that may hold anything: a fact comes out, or fields.Malformed; never another exception."""

from __future__ import annotations

import copy
import functools
import math
import tracemalloc
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from topology_api import quantities
from topology_api.vocabulary import Phase
from topology_controller.observe import catalog, facts, fields, nodes, operands
from topology_simulator.apiserver import patch as merge_patches

from . import clusters, raw_operands, worlds

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Raw = dict[str, Any]


SOURCES = {
    source.key: source
    for source in (*catalog.IDLE, *catalog.watched(worlds.TRANSITIONS), catalog.Sources.leader_leases)
    if source is not catalog.Sources.machines
}
WRITTEN: Raw = {"fieldsV1": {"f:status": {"f:controlPlaneTopology": {}}}}
RICH: dict[str, Raw] = {
    "infrastructure": {
        "metadata": {
            "name": "cluster",
            "labels": {"a": "b"},
            "managedFields": [
                {"manager": "old", "time": "2026-01-01T00:00:00Z", **WRITTEN},
                {"manager": "new", "time": "2026-02-01T00:00:00Z", **WRITTEN},
                {"manager": "spec", "time": "2026-03-01T00:00:00Z", "fieldsV1": {"f:spec": {}}},
            ],
        },
        "spec": {"desiredTopology": "HighlyAvailable", "controlPlaneTopology": "HighlyAvailable"},
        "status": {"platform": "None", "topologyTransition": worlds.converging().to_api()},
    },
    "own_operator": {
        "metadata": {
            "name": "topology",
            "resourceVersion": "5",
            "annotations": {
                "topology.openshift.io/paused": "true",
                "topology.openshift.io/etcd-backup-taken": "2026-03-01T11:00:00+01:00",
                "topology.openshift.io/router-drain-accepted": "true",
            },
        },
        "status": {
            "conditions": raw_operands.conditions(Available="True"),
            "extension": worlds.copy_of(worlds.converging()).status["extension"],
        },
    },
    "cluster_operators": {
        "status": {
            "conditions": [
                *raw_operands.conditions(Available="True"),
                {"type": "Progressing", "status": "False", "lastTransitionTime": "2026-03-01T11:00:00Z"},
            ]
        },
    },
    "cluster_version": {
        "status": {
            "conditions": raw_operands.conditions(Progressing="False", Upgradeable="False"),
            "history": [{"version": "4.20.1", "state": "Partial"}, {"version": "4.20.0", "state": "Completed"}],
            "capabilities": {"knownCapabilities": ["Console", "ImageRegistry"], "enabledCapabilities": ["Console"]},
        },
    },
    "control_plane_nodes": {
        "metadata": {"labels": {"disk": "fast"}, "deletionTimestamp": "2026-03-01T10:00:00Z"},
        "spec": {"unschedulable": True, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
        "status": {"conditions": raw_operands.conditions(PIDPressure="True", MemoryPressure="False", Ready="True")},
    },
    "other_nodes": {"metadata": {"name": "w", "labels": {"node-role.kubernetes.io/arbiter": ""}}},
    "ingress_controller": {
        "spec": {
            "replicas": 2,
            "nodePlacement": {
                "nodeSelector": {
                    "matchLabels": {"node-role.kubernetes.io/infra": ""},
                    "matchExpressions": [{"key": "disk", "operator": "In", "values": ["fast"]}],
                },
                "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}],
            },
        },
    },
    "dnsmasq": {"metadata": {"name": "50-master-dnsmasq-configuration"}},
    "lifecycle_agent": {"metadata": {"name": "upgrade"}},
    "workers": {
        "metadata": {"name": "worker-0", "labels": {"node-role.kubernetes.io/worker": ""}},
        "spec": {"taints": [{"key": "k", "effect": "NoExecute"}]},
        "status": {"conditions": raw_operands.conditions(Ready="True")},
    },
    "deployments.apps/openshift-console/console": {},
    "statefulsets.apps/openshift-monitoring/prometheus-k8s": {},
    "poddisruptionbudgets.policy/openshift-etcd/etcd-guard-pdb": {
        "metadata": {"name": "etcd-guard-pdb", "namespace": "openshift-etcd"},
        "spec": {"minAvailable": 2},
    },
    "kubeapiservers.operator.openshift.io/cluster": {
        "status": {
            "nodeStatuses": [
                {"nodeName": "node-1", "currentRevision": 8, "targetRevision": 9, "lastFailedRevision": 3},
            ],
        },
    },
    "configs.imageregistry.operator.openshift.io/cluster": {"spec": {"managementState": "Removed"}},
    "leader_leases": {"spec": {"leaseDurationSeconds": 270}},
    "feature_gates": {
        "status": {"featureGates": [{"version": "4.20.1", "enabled": [{"name": "MutableTopology"}], "disabled": None}]},
    },
    "native_controller": {
        "status": {"conditions": raw_operands.conditions(TopologyTransitionControllerDegraded="False")},
    },
    **{field: {} for field in (
        "scheduler", "etcd_endpoints", "etcd", "etcd_lease", "machine_config_pools", "controller_config",
    )},
}  # fmt: skip
"""What a real object of each source has besides what one of the cluster in memory has."""
CLUSTER = clusters.Cluster()


def real(field: str) -> Raw:
    """An object as the API server may have it."""
    selection = SOURCES[field].selection
    found = [raw for key, raw in CLUSTER.objects.items() if CLUSTER._selects(selection, key, raw)]
    rich = RICH[field]
    return merge_patches.merge(found[0], rich) if found else rich


OBJECTS = {field: real(field) for field in RICH}


def parse_as(field: str, raw: Any) -> Any:
    return SOURCES[field].reduce(raw)


def test_every_source_has_an_object_here_or_one_that_is_read_alike() -> None:
    fixed = {field for field, source in SOURCES.items() if not source.operand}
    assert fixed == {field for field in OBJECTS if not SOURCES[field].operand}
    # What is read of any object by a path is tested with the settings for one node.
    reducers = {source.reduce for source in SOURCES.values() if not isinstance(source.reduce, functools.partial)}
    assert {SOURCES[field].reduce for field in OBJECTS} == reducers


def paths(value: Any, before: tuple[Hashable, ...] = ()) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = [before] if before else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += paths(inner, (*before, key))
    elif isinstance(value, list):
        # The others of a list are read by the same lines as its first.
        for index, inner in enumerate(value[:1]):
            found += paths(inner, (*before, index))
    return found


def put(raw: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy along the path."""
    part, *rest = path
    changed = raw.copy()
    if value is ... and not rest:
        del changed[part]
    else:
        changed[part] = put(raw[part], (*rest,), value) if rest else value
    return changed


ODD: list[Any] = [
    ..., None, "", "x", 0, -1, 1.5, True, [], [None], ["x"], {}, {"x": None}, [[]], [{}], 10**30, 10**400, math.inf,
    math.nan, "1e999", "2026-03-01T12:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-14:00", "\u00b2", "x" * 5000, "v1.\u00b2.3", "v" + "9" * 5000 + ".1.2",
]  # fmt: skip


@pytest.mark.parametrize("field", OBJECTS)
def test_any_field_may_be_anything(field: str) -> None:
    """Each path of a real-looking object, replaced in turn by each odd value."""
    used = set()
    for path in paths(OBJECTS[field]):
        for value in ODD:
            raw = put(OBJECTS[field], path, value)
            try:
                fact = parse_as(field, raw)
            except fields.Malformed:
                continue
            # What came out can be asked: by every check and every decision, without an exception. Once: most odd
            # values come out the same.
            if (read := repr(fact)) not in used:
                used.add(read)
                use(field, fact)


BASES = (worlds.healthy(), worlds.moved(worlds.healthy(), worlds.converging()))


def use(field: str, fact: Any) -> None:
    """Decide with it, as one of a list where the source is a list."""
    source = SOURCES[field]
    value = fact if source.single else (fact,)
    for base in BASES:
        worlds.decide(catalog.filled(base, {source: value}))


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("32Gi", 32 * 2**30), ("7500m", 7.5), ("8", 8), (8, 8), ("1e3", 1000), ("1E3", 1000),
        ("2E", 2e18), ("0.5", 0.5), (".5Gi", 2**29), ("1k", 1000), ("100u", 1e-4), ("5M", 5e6),
        ("", None), ("Gi", None), ("32GiB", None), ("32 Gi", None), ("-1", None), ("1K", None), ("1gi", None),
        ("1e", None), ("NaN", None), ("inf", None), (None, None), (True, None), ([], None), ("1e999", None),
        (10**400, None), ("\u0663", None), ("1\n", None),
    ],
)  # fmt: skip
def test_quantities(written: object, number: float | None) -> None:
    found = quantities.parse(written)
    assert found == (None if number is None else pytest.approx(number))


@pytest.mark.parametrize("field", ["f:controlPlaneTopology", "f:infrastructureTopology"])
def test_who_wrote_either_topology_last_is_known(field: str) -> None:
    raw = copy.deepcopy(OBJECTS["infrastructure"])
    raw["metadata"]["managedFields"].append(
        {"manager": "typed", "time": "2099-01-01T00:00:00Z", "fieldsV1": {"f:status": {field: {}}}}
    )
    assert parse_as("infrastructure", raw).topology_writer == "typed"


TEN = datetime(2026, 3, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("name", [None, "", "x" * 254, "Node", "a b", "a;b", "$(a)", "-a", "a/b", "a\n"])
def test_a_node_has_a_name_that_can_stand_in_a_command(name: object) -> None:
    with pytest.raises(fields.Malformed):
        parse_as("control_plane_nodes", put(OBJECTS["control_plane_nodes"], ("metadata", "name"), name))


def test_revisions_that_cannot_be_read_leave_what_is_said_of_the_members() -> None:
    found = parse_as("etcd", put(OBJECTS["etcd"], ("status", "nodeStatuses", 0, "currentRevision"), "seven"))
    assert found.conditions.status("EtcdMembersAvailable") == "True"
    assert isinstance(found.static_pods, facts.Unobserved)
    assert "currentRevision should be an integer" in found.static_pods.why


@pytest.mark.parametrize(
    ("entries", "observed"),
    [
        ((), None),
        ((("f:spec", "f:observedConfig", "2026-03-01T10:00:00Z"),), TEN),
        ((("f:spec", "f:observedConfig", "2026-03-01T09:00:00Z"),), None),
        ((("f:spec", "f:managementState", "2026-03-01T10:00:00Z"),), None),
        ((("f:status", "f:observedConfig", "2026-03-01T10:00:00Z"),), None),
        ((("f:spec", "f:observedConfig", "yesterday"), ("f:spec", "f:observedConfig", "2026-03-01T10:00:00Z")), TEN),
        (
            (
                ("f:spec", "f:observedConfig", "2026-03-01T09:30:00Z"),
                ("f:spec", "f:observedConfig", "2026-03-01T10:00:00Z"),
            ),
            TEN,
        ),
    ],
    ids=["nobody", "written", "with the object", "other fields", "status", "no time", "two managers"],
)
def test_when_the_configuration_was_last_observed(
    entries: tuple[tuple[str, str, str], ...], observed: datetime | None
) -> None:
    """Who makes the object with its configuration has not changed it."""
    field = "kubeapiservers.operator.openshift.io/cluster"
    managed = [{"manager": "m", "time": time, "fieldsV1": {part: {name: {}}}} for part, name, time in entries]
    raw = put(OBJECTS[field], ("metadata", "managedFields"), managed)
    raw = put(raw, ("metadata", "creationTimestamp"), "2026-03-01T09:00:00Z")
    assert parse_as(field, raw).observed_time == observed


@pytest.mark.parametrize(
    ("config", "single"),
    [
        (None, None),
        ({}, None),
        ({"apiServerArguments": {"goaway-chance": ["0"]}}, True),
        ({"apiServerArguments": {"goaway-chance": ["0.001"]}}, False),
        ({"apiServerArguments": {"goaway-chance": []}}, None),
        ({"apiServerArguments": {"goaway-chance": "0"}}, None),
        ({"apiServerArguments": []}, None),
    ],
)
def test_which_topology_the_kube_apiserver_operator_has_observed(config: object, single: object) -> None:
    field = "kubeapiservers.operator.openshift.io/cluster"
    assert parse_as(field, put(OBJECTS[field], ("spec",), {"observedConfig": config})).observed_single is single


@pytest.mark.parametrize(
    ("field", "noise"),
    [
        ("deployments.apps/openshift-console/console", {"conditions": [{"type": "Progressing", "message": "new"}]}),
        ("kubeapiservers.operator.openshift.io/cluster", {"conditions": [{"type": "NodeInstaller", "message": "new"}]}),
        ("controller_config", {"controllerCertificates": [{"subject": "CN=x"}]}),
        ("cluster_operators", {"relatedObjects": [{"name": "x"}], "versions": [{"name": "operator"}]}),
        ("cluster_version", {"availableUpdates": [{"version": "4.20.2"}]}),
        ("machine_config_pools", {"certExpirys": [{"bundle": "x"}]}),
    ],
)
def test_what_nobody_asks_about_makes_no_other_fact(field: str, noise: Raw) -> None:
    """Equal facts wake nobody (`kube.reflector`): times, messages and counters of others are not kept."""
    raw = copy.deepcopy(OBJECTS[field])
    before = parse_as(field, raw)
    status = raw.setdefault("status", {})
    for item in status.get("conditions", ()):
        # What the version operator says is read: it must repeat our own words.
        item["message"] = item.get("message") if field == "cluster_version" else "another pod restarted"
    raw["metadata"]["resourceVersion"] = "later"
    for key, value in noise.items():
        status[key] = [*status.get(key, []), *value] if isinstance(value, list) else value
    assert parse_as(field, raw) == before


def test_a_capability_that_the_payload_has_and_the_cluster_has_not_is_lacking() -> None:
    assert parse_as("cluster_version", OBJECTS["cluster_version"]).lacks == {"ImageRegistry"}


@pytest.mark.parametrize("value", ["true", "", "yes", "false"])
def test_any_value_of_the_pause_but_false_pauses(value: str) -> None:
    raw = put(OBJECTS["own_operator"], ("metadata", "annotations", "topology.openshift.io/paused"), value)
    assert parse_as("own_operator", raw).paused is (value != "false")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda record: {**record, "phase": "Dreaming"},
        lambda record: {**record, "phaseTransitionTime": "2026-03-01T12:00:00"},
        lambda record: {**record, "admittedTime": "9999-12-31T23:59:59Z"},
        # In UTC it is of another year, which is not read again.
        lambda record: {**record, "requestedTime": "1970-01-01T00:00:00+01:00"},
        lambda record: {**record, "requestedTime": "8999-12-31T23:00:00-05:00"},
        lambda record: {**record, "admittedTime": "soon"},
        lambda record: {**record, "attempt": "x" * 65},
        lambda record: {**record, "target": {"controlPlane": None}},
        lambda record: {key: value for key, value in record.items() if key != "phase"},
    ],
)
def test_a_record_that_is_not_what_the_schema_promises_is_unobserved(spoil: Callable[[Raw], Raw]) -> None:
    record = spoil(worlds.converging().to_api())
    found = parse_as("infrastructure", put(OBJECTS["infrastructure"], ("status", "topologyTransition"), record))
    assert isinstance(found.record, facts.Unobserved)
    assert "topologyTransition" in found.record.why
    assert found.raw_record == record
    own = parse_as("own_operator", put(OBJECTS["own_operator"], ("status", "extension"), record))
    if "phase" in record and record["target"]["controlPlane"]:
        # That it was under way is all that is taken from it, and what is spoilt is left out.
        assert own.copy is not None
        assert (own.copy.phase, own.copy.target) == (Phase.CONVERGING, worlds.converging().target)
    else:
        assert own.copy is None


def test_what_is_spoilt_beside_the_transition_does_not_lose_the_record() -> None:
    last = {"name": "x", "phase": "Completed", "requestedTime": "0001-01-01T00:00:00Z"}
    spoilt = {"lastTransition": last, "problem": {"since": "soon"}, "deadlineTime": "9999-12-31T23:59:59Z"}
    record = {**worlds.converging().to_api(), **spoilt}
    found = parse_as("infrastructure", put(OBJECTS["infrastructure"], ("status", "topologyTransition"), record))
    assert found.record == worlds.converging().model_copy(update={"deadline_time": None})


ROLE = "node-role.kubernetes.io/"
INFRA = {"key": ROLE + "infra", "value": "reserved", "effect": "NoSchedule"}


def raw_node(labels: dict[str, str] | None = None, taints: Any = None, **conditions: str) -> dict[str, Any]:
    said = [{"type": type_, "status": status, "reason": "R"} for type_, status in conditions.items()]
    return {
        "metadata": {"name": "n", "labels": {ROLE + "worker": "", **(labels or {})}},
        "spec": {"taints": taints},
        "status": {"conditions": [*said, {"type": "Ready", "status": "True"}]},
    }


@pytest.mark.parametrize("reduce", [nodes.node, nodes.worker])
def test_of_conditions_of_lack_only_those_that_are_true_are_kept(reduce: Any) -> None:
    well = reduce(raw_node())
    assert well.pressure == ()
    for status in ("False", "Unknown"):
        assert reduce(raw_node(MemoryPressure=status, DiskPressure=status)) == well, "a heartbeat is no news"
    assert reduce(raw_node(OutOfDisk="True", ConfigOK="True")) == well, "what is nothing of ours is no news"
    pressed = reduce(raw_node(PIDPressure="True", DiskPressure="True", MemoryPressure="False"))
    assert pressed.pressure == ("DiskPressure", "PIDPressure")
    assert reduce(raw_node(NetworkUnavailable="True")).pressure == ("NetworkUnavailable",)


def test_what_is_left_to_pods_is_what_the_kubelet_says_else_the_capacity() -> None:
    capacity = {"memory": "16Gi", "ephemeral-storage": "1Ki"}
    for allocatable, left in ({}, (2**34, 1024)), ({"ephemeral-storage": "-1"}, (None, None)):
        node = nodes.node({**raw_node(), "status": {"capacity": capacity, "allocatable": allocatable}})
        assert (node.memory, node.free_memory, node.free_storage) == (2**34, *left)


@pytest.mark.parametrize("reduce", [nodes.node, nodes.worker])
def test_taints_that_keep_pods_away_are_kept_whole(reduce: Any) -> None:
    soft = {"key": "soft", "effect": "PreferNoSchedule"}
    node = reduce(raw_node(taints=[INFRA, soft, {"key": "a", "effect": "NoExecute"}]))
    assert node.taints == (facts.Taint("a", "", "NoExecute"), facts.Taint(ROLE + "infra", "reserved", "NoSchedule"))
    assert reduce(raw_node({"disk": "fast"})) == reduce(raw_node({"disk": "slow"})), "nobody asks without a taint"
    assert reduce(raw_node({"disk": "fast"}, [INFRA])).labels == ("disk=fast", ROLE + "worker=")


def placed(**placement: Any) -> facts.IngressController:
    return operands.ingress_controller({"spec": {"nodePlacement": placement}})


def test_a_toleration_that_ends_does_not_count() -> None:
    lasting = {"key": "k", "operator": "Exists"}
    found = placed(tolerations=[lasting, {**lasting, "effect": "NoExecute", "tolerationSeconds": 0}])
    assert found.tolerations == (facts.Toleration("k", "Exists", "", ""),)
    assert placed(tolerations=[{"key": "k", "value": "v"}]).tolerations == (facts.Toleration("k", "Equal", "v", ""),)
    assert placed() == placed(tolerations=[], nodeSelector={}) == facts.IngressController(None, 0)


@pytest.mark.parametrize(
    ("expression", "label"),
    [
        ({"key": "a", "operator": "In", "values": ["b"]}, "a=b"),
        ({"key": "a", "operator": "In", "values": ["b", "c"]}, "a In (b, c)"),
        ({"key": "a", "operator": "Exists"}, "a Exists ()"),
        ({"key": "a", "operator": "NotIn", "values": ["b"]}, "a NotIn (b)"),
    ],
)
def test_a_selector_is_read_as_the_ingress_operator_reads_it(expression: dict[str, Any], label: str) -> None:
    found = placed(nodeSelector={"matchLabels": {"x": "y"}, "matchExpressions": [expression]})
    assert found.node_labels == {"x=y", label}


@pytest.mark.parametrize("reduce", [nodes.node, nodes.worker, nodes.other_node])
def test_nothing_of_hostile_nodes_stays_in_memory(reduce: Callable[[dict[str, Any]], Any]) -> None:
    """A kubelet writes what it likes into its Node: what is kept or cached of it is bounded in length and number."""

    def hostile(number: int) -> dict[str, Any]:
        long = f"{number:08}" * 25_000
        return {
            "metadata": {
                "name": f"node-{number}",
                "labels": {f"{long}/label": long, "node-role.kubernetes.io/worker": ""},
                "annotations": {"machineconfiguration.openshift.io/controlPlaneTopology": long},
            },
            "spec": {"taints": [{"key": long, "value": long, "effect": "NoSchedule"}]},
            "status": {
                "conditions": [{"type": "Ready", "status": long}, {"type": long, "status": "True"}],
                "addresses": [{"type": "InternalIP", "address": long}],
                "nodeInfo": {"kubeletVersion": long},
                "capacity": {"cpu": "4", "memory": "16Gi"},
            },
        }

    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        nodes = [reduce(hostile(number)) for number in range(100)]
        kept = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert kept < 512 * 1024, f"{kept} bytes stay of {len(nodes)} nodes of 1.4 MB each"


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        (("", "Exists", "", ""), True),
        (("infra", "Exists", "", "NoSchedule"), True),
        (("infra", "Exists", "", "NoExecute"), False),
        (("other", "Exists", "", ""), False),
        (("infra", "Equal", "reserved", ""), True),
        (("infra", "Equal", "", ""), False),
        (("infra", "Gt", "reserved", ""), False),
    ],
)
def test_what_a_toleration_tolerates(toleration: tuple[str, str, str, str], *, tolerates: bool) -> None:
    taint = facts.Taint("infra", "reserved", "NoSchedule")
    assert facts.Toleration(*toleration).tolerates(taint) is tolerates
