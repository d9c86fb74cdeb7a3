"""Who may carry the control plane: one node has to pass every question, and the message names its first failure.

What is under a node: is it on its way out, and why does the etcd operator leave a node out? The rule is that of
cluster-etcd-operator (pkg/operator/ceohelpers, clustermembercontroller); its four reasons are its silent ones.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test import sentences

from topology_api.types import MESSAGE_LIMIT
from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller.checks import advisories, catalog, result
from topology_controller.checks import machines as checks
from topology_controller.checks import nodes as nodes_module
from topology_controller.observe import facts

from . import machine_worlds as under
from . import strategies, worlds

if TYPE_CHECKING:
    from topology_api.types import Advisory, TopologyPair
    from topology_controller.definitions import model

GIB, MIB = 2**30, 2**20


def ask(check: CheckName, known: facts.Facts, **spec: Any) -> tuple[CheckStatus, str]:
    found = catalog.answer(worlds.question(known, check, **spec))
    assert found.name is check
    return found.status, found.message


def nodes(known: facts.Facts, **spec: Any) -> tuple[CheckStatus, str]:
    return ask(CheckName.CONTROL_PLANE_NODES, known, **spec)


def with_third(**changes: Any) -> facts.Facts:
    third = worlds.node(2, **changes)
    return dataclasses.replace(worlds.healthy(), control_plane_nodes=(worlds.node(0), worlds.node(1), third))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"master": False}, "lacks label node-role.kubernetes.io/master"),
        ({"deleting": True}, "is being deleted"),
        ({"ready": "False"}, "Ready=False"),
        ({"cordoned": True}, "is cordoned"),
        ({"pressure": ("DiskPressure", "PIDPressure")}, "DiskPressure=True, PIDPressure=True"),
        ({"kubelet_version": None}, "kubelet version is not known"),
        ({"kubelet_version": "v1.\u00b2.3"}, "kubelet version is not known"),
        ({"kubelet_version": "v1.33.9"}, "kubelet 1.33 while others have 1.34"),
        ({"memory": None}, "capacity is not known"),
        ({"cpus": 3.5}, "has 3.5 of 4 CPUs"),
        ({"memory": 8 * GIB}, "has 8.0 of 14.5 GiB memory"),
        ({"free_memory": None}, "allocatable memory or ephemeral-storage is not known"),
        ({"free_memory": 2834 * MIB - 1}, "has 2833 of 2834 MiB allocatable memory: add memory or reserve less"),
        ({"free_storage": 4 * GIB}, "has 4096 of 8192 MiB allocatable ephemeral-storage: enlarge its disk"),
        ({"addresses": ("192.0.2.99",)}, "has no voting etcd member"),
        ({"worker": False}, "lacks label node-role.kubernetes.io/worker"),
        (
            {"taints": (facts.Taint("node-role.kubernetes.io/master", "", "NoSchedule"),)},
            "has taint node-role.kubernetes.io/master:NoSchedule",
        ),
        ({"master": None}, "label node-role.kubernetes.io/master has a value, operators select it without one"),
    ],
)
def test_the_first_reason_of_a_node_that_falls_short_is_named(changes: dict[str, Any], reason: str) -> None:
    status, message = nodes(with_third(**changes))
    assert status is CheckStatus.UNMET
    assert f"node-2 ({reason})" in message
    assert message.startswith("Wanted: 3 eligible control-plane nodes. Found: 2: node-0, node-1. Not eligible: node-2 ")


LEAST = {"cpus": 8, "memory": 32 * GIB, "free_memory": 2834 * MIB, "free_storage": 8 * GIB}
TIMES = st.tuples(*[st.just(1.0) | st.none() | st.floats(0, 2)] * len(LEAST))


@given(TIMES, TIMES)
def test_a_node_needs_the_least_of_everything_and_more_of_it_is_never_worse(times: Any, more: Any) -> None:
    def eligible(*factors: float | None) -> bool:
        sizes = {name: by if by is None else by * LEAST[name] for name, by in zip(LEAST, factors, strict=True)}
        return nodes(with_third(**sizes), atLeast=3, minCpus=8, minMemoryGib=32)[0] is CheckStatus.MET

    assert eligible(*times) is all(by is not None and by >= 1 for by in times)
    assert not eligible(*times) or eligible(*(by + (add or 0) for by, add in zip(times, more, strict=True)))


NOT_COMPACT = [one for one in worlds.TRANSITIONS.definitions if one.workers.max != 0]
RESERVED = facts.Taint("node-role.kubernetes.io/infra", "reserved", "NoExecute")


@pytest.mark.parametrize("definition", NOT_COMPACT, ids=lambda one: one.name)
def test_other_taints_only_matter_where_the_control_plane_carries_workloads(definition: model.Definition) -> None:
    asked = next(one for one in definition.preflight if one.check is CheckName.CONTROL_PLANE_NODES)
    tainted = result.CheckContext(with_third(taints=(RESERVED,)), asked, definition, worlds.NOW)
    found = nodes_module.candidates(tainted)
    assert isinstance(found, dict)
    assert found["node-2"] is None


def test_three_ready_and_three_schedulable_need_not_be_the_same_three() -> None:
    """Upstream counts each quality for itself; four nodes with one fault each would pass there."""
    four = (
        worlds.node(0, ready="False"),
        worlds.node(1, cordoned=True),
        worlds.node(2),
        dataclasses.replace(worlds.node(2), name="node-3", addresses=("192.0.2.13",)),
    )
    status, _ = nodes(dataclasses.replace(worlds.healthy(), control_plane_nodes=four))
    assert status is CheckStatus.UNMET


def test_a_candidate_whose_master_label_has_a_value_is_named_and_is_no_worker() -> None:
    known = dataclasses.replace(
        worlds.healthy(),
        control_plane_nodes=(worlds.node(0), worlds.node(1)),
        other_nodes=(
            facts.OtherNode("node-2", master=None, arbiter=False),
            facts.OtherNode("node-3", master=True, arbiter=False),
            facts.OtherNode("arbiter-0", master=False, arbiter=True),
        ),
    )
    status, message = nodes(known)
    assert status is CheckStatus.UNMET
    assert "node-2 (label node-role.kubernetes.io/master has a value, operators select it without one)" in message
    assert "node-3 (lacks label node-role.kubernetes.io/control-plane)" in message
    assert "arbiter-0" not in message
    assert ask(CheckName.DEDICATED_WORKERS, known)[0] is CheckStatus.MET


def workers(known: facts.Facts, at_least: int = 2) -> tuple[CheckStatus, str]:
    return ask(CheckName.ELIGIBLE_WORKERS, known, atLeast=at_least)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"deleting": True, "ready": "False"}, "is being deleted"),
        ({"pressure": ("DiskPressure",)}, "DiskPressure=True"),
        ({"taints": (RESERVED,)}, f"has taint {RESERVED}, which IngressController default does not tolerate"),
    ],
)
def test_a_worker_that_cannot_carry_infrastructure_is_named_with_its_first_reason(
    changes: dict[str, Any], reason: str
) -> None:
    known = dataclasses.replace(
        worlds.healthy(),
        control_plane_nodes=(worlds.node(0, worker=False),),
        workers=(worlds.worker("w-0"), worlds.worker("w-1", **changes)),
    )
    status, message = workers(known)
    assert status is CheckStatus.UNMET
    assert f"Found: 1: w-0. Not eligible: w-1 ({reason}). Look at" in message
    assert "node-0" not in message, "it is no candidate"
    assert message.endswith("mastersSchedulable=true)")


INFRA = "node-role.kubernetes.io/infra="
EXISTS = facts.Toleration("node-role.kubernetes.io/infra", "Exists", "", "")


def set_aside(
    *tolerations: facts.Toleration,
    selector: frozenset[str] = frozenset(),
    taints: tuple[facts.Taint, ...] = (RESERVED,),
) -> facts.Facts:
    """Two infra nodes with these taints and nothing else that could carry infrastructure."""
    infra = [worlds.worker(f"infra-{index}", taints=taints, labels=("disk=fast", INFRA)) for index in range(2)]
    return dataclasses.replace(
        worlds.healthy(),
        control_plane_nodes=(worlds.node(0, worker=False),),
        workers=tuple(infra),
        ingress_controller=facts.IngressController(None, 1, tolerations, selector),
    )


@pytest.mark.parametrize(
    ("selector", "lacks"),
    [
        (frozenset({INFRA}), ""),
        (frozenset({INFRA, "disk=fast"}), ""),
        (frozenset({INFRA, "disk=slow"}), "disk=slow"),
        (frozenset({"disk In (fast, slow)"}), "disk In (fast, slow)"),
    ],
)
def test_a_tainted_node_counts_where_routers_select_it(selector: frozenset[str], lacks: str) -> None:
    status, message = workers(set_aside(EXISTS, selector=selector))
    assert status is (CheckStatus.UNMET if lacks else CheckStatus.MET)
    if lacks:
        assert f"infra-0 (lacks label {lacks}, by which IngressController default selects nodes)" in message


@pytest.mark.parametrize("unread", [worlds.BROKEN, worlds.MISSING, facts.NOT_READ])
def test_while_the_placement_is_not_read_tainted_nodes_do_not_count_and_others_do(unread: facts.Unobserved) -> None:
    known = dataclasses.replace(set_aside(EXISTS), ingress_controller=unread)
    status, message = workers(known)
    assert status is CheckStatus.UNMET, "never Unknown for that"
    assert f"infra-0 (has taint {RESERVED})" in message
    assert workers(dataclasses.replace(worlds.healthy(), ingress_controller=unread))[0] is CheckStatus.MET


KEYS = st.sampled_from(("a", "b", "node.kubernetes.io/not-ready"))
EFFECTS = st.sampled_from(("NoSchedule", "NoExecute"))
TAINTS = st.lists(st.builds(facts.Taint, KEYS, st.sampled_from(("", "x")), EFFECTS), max_size=3).map(tuple)
TOLERATIONS = st.builds(
    facts.Toleration,
    st.just("") | KEYS,
    st.sampled_from(("Exists", "Equal", "Lt")),
    st.sampled_from(("", "x")),
    st.just("") | EFFECTS,
)


@given(TAINTS, st.lists(TOLERATIONS, max_size=3), TOLERATIONS)
def test_another_toleration_never_takes_a_node_away_nor_excuses_its_state(
    taints: tuple[facts.Taint, ...], tolerations: list[facts.Toleration], more: facts.Toleration
) -> None:
    fewer = workers(set_aside(*tolerations, taints=taints))[0]
    status = workers(set_aside(*tolerations, more, taints=taints))[0]
    if fewer is CheckStatus.MET:
        assert status is CheckStatus.MET
    if any(taint.key.startswith("node.kubernetes.io/") for taint in taints):
        assert status is CheckStatus.UNMET
    elif not taints:
        assert fewer is CheckStatus.MET


@pytest.mark.parametrize("field", ["control_plane_nodes", "other_nodes"])
def test_one_malformed_node_makes_it_unknown(field: str) -> None:
    known = worlds.healthy()
    for unread in (field, "etcd_endpoints"):
        assert nodes(worlds.unread(known, unread))[0] is CheckStatus.UNKNOWN
    changes: dict[str, Any] = {field: (*getattr(known, field), worlds.BROKEN)}
    status, message = nodes(dataclasses.replace(known, **changes))
    assert status is CheckStatus.UNKNOWN
    assert worlds.BROKEN.what in message


MET, UNMET, UNKNOWN = CheckStatus.MET, CheckStatus.UNMET, CheckStatus.UNKNOWN
UNSERVED = facts.Unobserved("machines", "NotFound: it does not exist", kind=facts.Kind.MISSING)
BROKEN = facts.Unobserved("machines.machine.openshift.io/odd in namespace openshift-machine-api", "malformed: odd")


def machines_of(known: facts.Facts, check: CheckName = CheckName.CONTROL_PLANE_MACHINES) -> tuple[CheckStatus, str]:
    found = catalog.answer(worlds.question(known, check))
    # A message names three; the findings have every one.
    return found.status, "; ".join(
        [found.message, *(finding.text for finding in found.findings if finding.status is not CheckStatus.MET)]
    )


def reasons(known: facts.Facts) -> str:
    status, message = machines_of(known, CheckName.CONTROL_PLANE_NODES)
    assert status is UNMET
    return message


@pytest.mark.parametrize(
    ("listed", "why"),
    [
        (UNSERVED, "the API server does not serve machines.machine.openshift.io"),
        ((), "there is none"),
        ((under.machine(0, phase="Failed"),), "none of 1 is Running"),
        ((under.machine(0, authority="Migrating", phase="Provisioned"),), "none of 1 is Running"),
    ],
)
def test_where_machines_are_not_in_use_it_is_met_and_says_which_of_the_two(listed: Any, why: str) -> None:
    status, message = machines_of(dataclasses.replace(worlds.healthy(), machines=listed))
    assert status is MET
    assert message.startswith("Machine API is not in use here: ")
    assert why in message


THREE, ON_HOSTS = under.three(), under.on_hosts(*under.three())
NO_HOSTS = facts.Unobserved("baremetalhosts.metal3.io in namespace openshift-machine-api", sentences.FORBIDDEN)
HOST = "baremetalhosts.metal3.io/host-{} in namespace openshift-machine-api"
ODD_HOSTS = [facts.Unobserved(HOST.format(number), "malformed: odd") for number in (2, 9)]
OUT = "BareMetalHost host-2 of Machine machine-2 of node node-2 is "


@pytest.mark.parametrize(
    ("listed", "hosts", "status", "named"),
    [
        # The etcd operator does not care any more then, and the machine controller goes on.
        ((under.machine(1, phase="Deleting", deleting=True),), (), UNMET, "Machine machine-1 of node node-1"),
        # Which of the two the etcd operator finds is not known.
        ((*THREE, under.machine(2, name="older", deleting=True, node=None)), (), UNMET, "older of node node-2"),
        ((*under.three(deleting=True), BROKEN), (), UNMET, str(BROKEN)),
        (under.three(authority="Migrating"), (), UNKNOWN, "Migrating"),
        (under.three(authority="ClusterAPI"), (), MET, ""),
        ((*THREE, BROKEN), (), UNKNOWN, str(BROKEN)),
        # It may be one that runs.
        ((BROKEN,), (), UNKNOWN, str(BROKEN)),
        (ON_HOSTS, (under.host(0), under.host(2, state="deprovisioning")), UNMET, f"{OUT}deprovisioning"),
        (ON_HOSTS, (under.host(2, state="powering off before delete"),), UNMET, f"{OUT}powering off"),
        (ON_HOSTS, (under.host(2, deleting=True),), UNMET, f"{OUT}being deleted"),
        ((*ON_HOSTS[:2], under.machine(2)), (under.host(2, deleting=True),), UNMET, f"{OUT}being deleted"),
        (ON_HOSTS, (under.host(2, state="something new"), under.host(7, deleting=True)), MET, ""),
        # What cannot be read matters where a Machine names a host; absence never blocks.
        (THREE, NO_HOSTS, MET, ""),
        (ON_HOSTS, NO_HOSTS, UNKNOWN, str(NO_HOSTS)),
        (ON_HOSTS, UNSERVED, MET, ""),
        (ON_HOSTS, ODD_HOSTS[:1], UNKNOWN, str(ODD_HOSTS[0])),
        (ON_HOSTS, ODD_HOSTS[1:], MET, ""),
    ],
)
def test_what_leaves_outweighs_what_is_not_known(listed: Any, hosts: Any, status: CheckStatus, named: str) -> None:
    found, message = machines_of(
        under.known(*listed, hosts=hosts if isinstance(hosts, facts.Unobserved) else tuple(hosts))
    )
    assert (found, named in message) == (status, True), message


REASONS = [
    (under.three()[:2], "no Machine in openshift-machine-api has its address 192.0.2.12"),
    (under.three(addresses=()), "Machine machine-2 refers to it but lacks its address 192.0.2.12"),
    (under.three(addresses=("192.0.2.99",)), "Machine machine-2 refers to it but lacks its address 192.0.2.12"),
    (under.three(deleting=True), "Machine machine-2 is being deleted"),
    (under.three(guarded=False), "Machine machine-2 lacks preDrain hook EtcdQuorumOperator"),
    (under.three(guarded=False, deleting=True), "Machine machine-2 is being deleted"),
]


@pytest.mark.parametrize(("listed", "reason"), REASONS)
def test_why_the_etcd_operator_adds_no_member_is_said_by_both_checks(listed: Any, reason: str) -> None:
    known = under.two_voters(*listed)
    assert f"node-2 (has no voting etcd member: {reason})" in reasons(known)
    status, message = machines_of(known, CheckName.ETCD_VOTING_MEMBERS)
    assert (status, f"; node-2 is not home of an etcd voter: {reason}." in message) == (UNMET, True), message
    assert "node-1 is not" not in message


def test_no_reason_is_made_up() -> None:
    """Nothing is wrong; not in use; one that cannot be read may be the one; there is none."""
    unused: Any = tuple(dataclasses.replace(one, phase="Provisioned") for one in under.three()[:2])
    for listed in (under.three(), unused, (*under.three()[:2], BROKEN), ()):
        assert "node-2 (has no voting etcd member)" in reasons(under.two_voters(*listed))
        assert "is not home" not in machines_of(under.two_voters(*listed), CheckName.ETCD_VOTING_MEMBERS)[1]


def test_machines_without_a_node_are_on_the_way() -> None:
    waiting = under.machine(2, phase="Provisioning", addresses=(), node=None, host="host-2", guarded=False)
    more = under.machine(0, name="machine-3", phase="", addresses=(), node=None)
    gone = [
        under.machine(0, name="x", addresses=(), node=None, **changes)
        for changes in ({"deleting": True}, {"phase": "Failed"}, {"arbiter": True})
    ]
    known = under.two_voters(
        *under.three()[:2], waiting, more, *gone,
        control_plane_nodes=(worlds.node(0), worlds.node(1)), hosts=(under.host(2, state="inspecting"),),
    )  # fmt: skip
    message = reasons(known)
    assert (
        "; on the way: Machine machine-2 (Provisioning; BareMetalHost host-2 is inspecting), "
        "Machine machine-3 (no phase yet). Look at" in message
    )
    assert "on the way" not in machines_of(known, CheckName.ETCD_VOTING_MEMBERS)[1], "they are named once"
    assert "on the way" not in reasons(under.two_voters(waiting)), "not in use"


@given(
    st.lists(strategies.MACHINE | st.just(BROKEN), max_size=8).map(tuple),
    st.just(facts.NOT_READ) | st.just(UNSERVED) | st.lists(strategies.HOST, max_size=4).map(tuple),
)
def test_nothing_that_leaves_is_met_and_nothing_else_is_unmet(listed: Any, hosts: Any) -> None:
    """Told apart by the words of the rule itself, machine by machine, without the module's own binding."""
    known = dataclasses.replace(worlds.healthy(), machines=listed, hosts=hosts)
    leaving = set()
    by_name = {} if isinstance(hosts, facts.Unobserved) else {host.name: host for host in hosts}
    for one in listed:
        if isinstance(one, facts.Unobserved):
            continue
        below = [worlds.NAMES[worlds.ADDRESSES.index(item)] for item in one.addresses if item in worlds.ADDRESSES]
        if not below and one.node not in worlds.NAMES:
            continue
        host = by_name.get(one.host) or next((h for h in by_name.values() if h.consumer == one.name), None)
        on_host = host is not None and (host.deleting or host.state in checks._GOING)
        if one.deleting or one.phase == "Deleting" or on_host:
            leaving.add(one.name)
    status, message = machines_of(known)
    assert (status is UNMET) is bool(leaving)
    assert all(f"Machine {name} of node" in message for name in leaving)
    assert not leaving or "Look at oc -n openshift-machine-api get" in message
    named_hosts = any(one.host for one in listed if not isinstance(one, facts.Unobserved))
    migrating = any(one.authority == "Migrating" for one in listed if not isinstance(one, facts.Unobserved))
    if not leaving and not (BROKEN in listed or migrating or (hosts is facts.NOT_READ and named_hosts)):
        assert status is MET, "missing, failed, unguarded, on the way: none of it blocks"
    assert status is not MET or BROKEN not in listed


@given(st.lists(strategies.MACHINE, max_size=8).map(tuple))
def test_a_node_is_left_out_exactly_where_the_etcd_operator_leaves_it_out(listed: Any) -> None:
    """getEtcdPeerURLToAdd, once more in a few lines; where several have the address, any of them may be found."""
    reasons = checks.left_out(dataclasses.replace(worlds.healthy(), machines=listed))
    functional = any(one.phase == "Running" for one in listed)
    for name, address in zip(worlds.NAMES, worlds.ADDRESSES, strict=True):
        having = [one for one in listed if address in one.addresses]
        surely_added = all(one.guarded and not one.deleting for one in having) and bool(having)
        assert (name in reasons) is (functional and not surely_added), (name, reasons)


MISSING, TROUBLE, BEHIND = "ControlPlaneMachineMissing", "ControlPlaneHostTrouble", "EtcdReplicasBehind"
ALL = {MISSING, TROUBLE, BEHIND}


def advised(known: facts.Facts, target: TopologyPair = worlds.HA) -> dict[str, Advisory]:
    found = [one for one in advisories.advise(known, target, worlds.MATRIX, None, worlds.NOW) if one.name in ALL]
    names = [one.name for one in found]
    assert names == [name for name in (MISSING, TROUBLE, BEHIND) if name in names]
    assert all(len(one.message) <= MESSAGE_LIMIT and one.command.startswith("oc ") for one in found)
    return {one.name: one for one in found}


def test_a_missing_machine_is_not_made_up() -> None:
    broken = facts.Unobserved("machines/odd", "malformed: odd")
    assert advised(under.known(*under.three()[:2], broken)) == {}, "it may be the one"
    node = worlds.node(2, master=False)
    assert advised(under.known(*under.three()[:2], control_plane_nodes=(worlds.node(0), worlds.node(1), node))) == {}


@pytest.mark.parametrize(
    ("third", "host", "words", "command"),
    [
        (
            {"phase": "Failed", "trouble": "no such host"}, under.host(2),
            "Machine machine-2 of node node-2 is Failed: no such host",
            "oc -n openshift-machine-api describe machines.machine.openshift.io machine-2",
        ),
        (
            {}, under.host(2, failed=True, trouble="management controller is gone"),
            "BareMetalHost host-2 of Machine machine-2, node node-2, is in error: management controller is gone",
            "oc -n openshift-machine-api describe baremetalhost host-2",
        ),
        (
            {}, under.host(2, powered_on=False),
            "BareMetalHost host-2 of Machine machine-2, node node-2, is powered off, and the node is Ready",
            "oc -n openshift-machine-api describe baremetalhost host-2",
        ),
    ],
    ids=["failed", "error", "off"],
)  # fmt: skip
def test_what_is_not_well_under_a_node_is_named(third: Any, host: Any, words: str, command: str) -> None:
    known = under.known(*under.on_hosts(*under.three(**third)), hosts=(host,))
    advisory = advised(known)[TROUBLE]
    assert words in advisory.message
    assert advisory.command == command
