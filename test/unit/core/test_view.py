"""What the status page shows in every state: what was decided, and nothing besides."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from topology_api.types import Accepted, AvailableTransition, Blocker
from topology_api.vocabulary import CheckName, Phase, Topology
from topology_controller.decide import context as contexts
from topology_controller.decide import discovery
from topology_controller.observe import facts
from topology_controller.report import conditions, latest, view

from . import page_state, worlds

IDLE = dataclasses.replace(
    worlds.healthy(),
    infrastructure=worlds.infrastructure(desired=None, cluster_name="edge-7f4kd"),
    control_plane_nodes=facts.NOT_READ,
    other_nodes=facts.NOT_READ,
    etcd_endpoints=facts.NOT_READ,
    operands={},
)


def moved() -> facts.Facts:
    """Right after the change: nobody has followed."""
    return worlds.moved(worlds.healthy(), worlds.converging())


def test_an_idle_cluster_says_what_could_be_asked_for_and_what_is_not_watched():
    term = worlds.term(available=(_available(),))
    shown = page_state.led(IDLE, term=term)
    assert (shown["phase"], shown["stage"], shown["checks"], shown["progress"]) == ("Idle", None, [], None)
    assert shown["cluster"] == {
        "name": "edge-7f4kd",
        "platform": "None",
        "topology": {"controlPlane": "SingleReplica", "infrastructure": "SingleReplica"},
    }
    assert (shown["desired"], shown["cancel"], shown["transition"]) == (None, None, None)
    (way,) = shown["available"]
    assert (way["name"], way["available"]) == ("sno-to-ha-compact", False)
    assert way["summary"] == worlds.COMPACT.summary
    assert way["command"].endswith("""-p '{"spec":{"desiredTopology":"HighlyAvailable"}}'""")
    assert [blocker["name"] for blocker in way["blockers"]] == ["ControlPlaneNodes"]
    for part in ("nodes", "etcd", "operands"):
        assert shown[part] == {"items": [], "said": "Not watched while nothing is in progress"}


def _available() -> AvailableTransition:
    return AvailableTransition(
        name="sno-to-ha-compact",
        target=worlds.HA,
        available=False,
        blockers=(Blocker(name="ControlPlaneNodes", message="Wanted: 3"),),
        evaluated_time=worlds.NOW,
    )


def test_pending_names_each_node_with_its_first_reason_and_how_to_take_the_request_back():
    nodes = (worlds.node(0), worlds.node(1, cordoned=True), worlds.node(2, ready="False"))
    shown = page_state.led(worlds.healthy(control_plane_nodes=nodes))
    assert (shown["phase"], shown["stage"]) == ("Pending", "Preflight")
    assert shown["progress"] == {"met": 9, "total": 10}
    assert page_state.row(shown, "checks", "ControlPlaneNodes")["status"] == "Unmet"
    assert [(node["name"], node["ready"], node["eligible"], node["why"]) for node in shown["nodes"]["items"]] == [
        ("node-0", "True", True, ""),
        ("node-1", "True", False, "is cordoned"),
        ("node-2", "False", False, "Ready=False"),
    ]
    assert shown["cancel"].endswith("""-p '{"spec":{"desiredTopology":null}}'""")
    assert shown["headline"] == "1 of 10 preflight checks not met: ControlPlaneNodes (1 of 3)"
    assert shown["operands"]["items"] == [], "nobody has to follow before the topology has moved"


def test_every_check_is_shown_as_the_decision_keeps_it():
    known = worlds.healthy(etcd=worlds.BROKEN, scheduler=facts.Scheduler(masters_schedulable=False))
    record = worlds.decide(known).record
    assert record is not None
    shown = page_state.led(known)
    kept = [(one.name, one.status.value, one.message) for one in record.checks]
    assert [(one["name"], one["status"], one["message"]) for one in shown["checks"]] == kept
    assert {one["status"] for one in shown["checks"]} == {"Met", "Unmet", "Unknown"}


def test_a_node_that_lacks_the_label_is_named_too():
    shown = page_state.led(
        worlds.healthy(
            control_plane_nodes=(worlds.node(0), worlds.node(1)),
            other_nodes=(facts.OtherNode("node-2", master=True, arbiter=False),),
        )
    )
    assert page_state.row(shown, "nodes", "node-2") == {
        "name": "node-2",
        "ready": "Unknown",
        "eligible": False,
        "why": "lacks label node-role.kubernetes.io/control-plane",
    }


def test_voters_stand_at_their_nodes_and_strangers_nowhere():
    endpoints = facts.EtcdEndpoints((("cafe", worlds.ADDRESSES[1]), ("beef", "192.0.2.99")))
    shown = page_state.led(worlds.healthy(etcd_endpoints=endpoints))
    assert [(one["id"], one["role"], one["address"], one["node"]) for one in shown["etcd"]["items"]] == [
        ("cafe", "voter", "192.0.2.11", "node-1"),
        ("beef", "voter", "192.0.2.99", None),
    ]
    assert "--etcd-cert-dir" in shown["etcd"]["said"]


def test_two_voters_are_a_danger_from_the_first_second():
    two = facts.EtcdEndpoints((("cafe", worlds.ADDRESSES[0]), ("beef", worlds.ADDRESSES[1])))
    shown = page_state.led(worlds.healthy(etcd_endpoints=two))
    assert shown["warning"] == "etcd has two voting members, and the loss of either one stops the cluster"
    assert shown["problem"] is None, "the problem of that name waits for a quarter of an hour"
    for known in (worlds.healthy(), IDLE, worlds.healthy(etcd_endpoints=worlds.BROKEN)):
        assert page_state.led(known)["warning"] == ""


def test_live_is_only_what_is_watched():
    assert page_state.led(moved())["live"] is True
    assert page_state.led(worlds.healthy())["live"] is True
    assert page_state.led(IDLE)["live"] is False, "what could be requested was evaluated some time ago"
    assert page_state.led(dataclasses.replace(moved(), disturbed=("nodes",)))["live"] is False
    assert page_state.standing_by(moved())["live"] is False


def test_learners_are_seen_where_etcd_itself_is_asked():
    ids = sorted(zip(worlds.MEMBERS, worlds.NAMES, strict=True))
    listed = (
        *(facts.EtcdMember(id_, name) for id_, name in ids[:2]),
        facts.EtcdMember(ids[2][0], ids[2][1], learner=True),
    )
    voices = worlds.voices(members=listed)[:2]
    published = facts.EtcdEndpoints(
        tuple((id_, address) for id_, address in zip(worlds.MEMBERS, worlds.ADDRESSES, strict=True) if id_ != ids[2][0])
    )
    known = worlds.healthy(etcd_members=facts.EtcdMembers(voices), etcd_endpoints=published)
    shown = page_state.led(known, transitions=worlds.DIRECTLY)
    assert [(one["name"], one["role"]) for one in shown["etcd"]["items"]][-1] == (ids[2][1], "learner")
    assert sum(one["role"] == "voter" for one in shown["etcd"]["items"]) == 2
    assert shown["etcd"]["said"] == ""


def test_why_no_learner_could_be_seen():
    silent = facts.Unobserved("the members of etcd", "none of them answered")
    before = page_state.led(worlds.healthy(etcd_members=silent))
    assert before["etcd"]["said"] == "Voters only: cannot tell more: the members of etcd: none of them answered"
    after = page_state.led(dataclasses.replace(moved(), etcd_members=silent))
    assert after["etcd"]["said"] == "Voters only: etcd itself is asked until the topology changes"


def test_members_that_cannot_be_told_say_why():
    by_name = facts.EtcdEndpoints(tuple(zip(worlds.NAMES, worlds.ADDRESSES, strict=True)))
    shown = page_state.led(worlds.healthy(etcd_endpoints=by_name))
    assert shown["etcd"]["items"] == []
    assert "is a node name" in shown["etcd"]["said"]
    for node in shown["nodes"]["items"]:
        assert (node["eligible"], "is a node name" in node["why"]) == (None, True), node


def test_converging_counts_every_operand_and_says_what_its_check_says():
    shown = page_state.led(moved())
    assert (shown["phase"], shown["stage"], shown["stuck"]) == ("Converging", "Convergence", False)
    assert shown["cancel"] is None, "the topology has moved"
    expected = {
        "master": (0, 3, "machines", "Unmet"),
        "kube-apiserver": (0, 3, "nodes", "Unmet"),
        "etcd": (3, 3, "nodes", "Met"),
        "openshift-console/console": (1, 2, "replicas", "Unmet"),
        "openshift-ingress-operator/default": (1, 2, "replicas", "Unmet"),
        "openshift-apiserver/apiserver": (3, 3, "replicas", "Met"),
        "openshift-etcd/etcd-guard-pdb": (None, None, "", "Unmet"),
    }
    for name, (have, wanted, unit, status) in expected.items():
        found = page_state.row(shown, "operands", name)
        assert (found["have"], found["wanted"], found["unit"], found["status"]) == (have, wanted, unit, status), found
    asked = {spec.check.value for spec in worlds.COMPACT.convergence.checks}
    assert {one["check"] for one in shown["operands"]["items"]} == {
        group.check.value for group in worlds.MATRIX.groups if group.check.value in asked
    }


def test_a_bar_and_its_check_never_disagree():
    for known in (moved(), worlds.converged(moved())):
        shown = page_state.led(known)
        for check in shown["checks"]:
            statuses = {one["status"] for one in shown["operands"]["items"] if one["check"] == check["name"]}
            if statuses:
                assert (check["status"] == "Met") is (statuses == {"Met"}), (check, statuses)


def test_revisions_and_machines_are_counted_while_they_roll_out():
    rolling = facts.StaticPods(
        8,
        tuple(
            facts.NodeRevision(name, *at, 0) for name, at in zip(worlds.NAMES, ((8, 0), (7, 8), (7, 0)), strict=True)
        ),
    )
    known = worlds.converged(moved())
    known = dataclasses.replace(
        known,
        operands={**known.operands, "kubeapiservers.operator.openshift.io/cluster": rolling},
        machine_config_pools=(
            worlds.pool(wanted_configuration="rendered-master-2", updated=1, ready=3),
            worlds.pool("worker", machines=2, updated=2, ready=1),
        ),
    )
    shown = page_state.led(known)
    for name, have, wanted in (("kube-apiserver", 1, 3), ("master", 1, 3), ("worker", 1, 2)):
        found = page_state.row(shown, "operands", name)
        assert (found["have"], found["wanted"], found["status"]) == (have, wanted, "Unmet"), found


def test_what_the_cluster_does_not_have_is_one_line():
    known = moved()
    removed = facts.Managed("Removed", None)
    group = worlds.MATRIX.group(CheckName.IMAGE_REGISTRY_REPLICAS)
    assert group is not None
    assert group.managed_by is not None
    shown = page_state.led(dataclasses.replace(known, operands={**known.operands, group.managed_by.key: removed}))
    (line,) = [one for one in shown["operands"]["items"] if one["check"] == "ImageRegistryReplicas"]
    assert (line["name"], line["have"], line["wanted"], line["status"]) == ("image-registry", None, None, "Met")
    assert "managementState Removed" in line["message"]


def test_the_deadline_the_settle_time_and_the_times_of_the_record():
    shown = page_state.led(moved(), worlds.NOW + timedelta(minutes=5))
    going = shown["transition"]
    assert going["name"] == "sno-to-ha-compact"
    assert going["summary"] == worlds.COMPACT.summary
    assert (going["requested"], going["admitted"]) == ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z")
    assert (going["deadline"], going["deadlineMinutes"]) == ("2026-03-01T14:00:00Z", 120)
    assert (going["settleSeconds"], going["completed"], going["attempt"]) == (60, None, "mine")
    known = moved()
    pinned = latest.Snapshot(worlds.decide(known), known)
    told = view.look(pinned, known, page_state.about(settle_seconds=3))
    assert told["transition"] is not None
    assert told["transition"]["settleSeconds"] == 3


def test_stuck_is_said_with_what_is_waited_for_longest():
    shown = page_state.led(moved(), worlds.DEADLINE)
    assert (shown["phase"], shown["stuck"]) == ("Converging", True)
    assert shown["degraded"]["reason"] == "TransitionStuck"
    assert shown["degraded"]["message"].startswith(
        "Overdue since 2026-03-01T14:00:00Z, and nothing progresses. Blocked by "
    )


def test_a_problem_has_its_time_and_the_runbook_where_an_address_is_configured():
    known = moved()
    stuck = latest.Snapshot(worlds.decide(known, now=worlds.DEADLINE), known)
    shown = view.look(stuck, known, page_state.about(runbooks="https://docs.example/runbooks/"))
    assert shown["problem"] is not None
    assert (shown["problem"]["reason"], shown["problem"]["since"]) == ("Stuck", "2026-03-01T14:00:00Z")
    assert shown["runbook"] == "https://docs.example/runbooks/TopologyTransitionStuck.md"
    assert view.look(stuck, known, page_state.about())["runbook"] is None
    well = latest.Snapshot(worlds.decide(known), known)
    assert view.look(well, known, page_state.about(runbooks="https://docs.example/"))["runbook"] is None


@pytest.mark.parametrize("name", sorted(set(view.RUNBOOKS.values())))
def test_each_runbook_that_is_linked_is_there(name):
    assert (worlds.BINDATA.parent / "docs" / "runbooks" / f"{name}.md").is_file()


def test_a_timeline_says_what_happened_when():
    later = worlds.NOW + timedelta(minutes=7)
    record = worlds.converging()
    begun = worlds.decide(moved(), now=worlds.NOW).record
    assert begun is not None
    known = worlds.recorded(worlds.converged(moved()), begun)
    told = page_state.led(known, later)["timeline"]
    assert [one["time"] for one in told] == sorted(one["time"] for one in told)
    assert told[0] == {
        "time": "2026-03-01T12:00:00Z",
        "what": "HighlyAvailable requested",
        "detail": "sno-to-ha-compact",
    }
    assert (told[1]["what"], told[1]["detail"]) == (
        "Preflight checks passed, topology changed",
        f"{record.source} to {record.target}",
    )
    at_once, afterwards = told[2:]
    assert at_once["time"] == "2026-03-01T12:00:00Z"
    assert "EtcdHealthy" in at_once["detail"]
    assert afterwards["time"] == "2026-03-01T12:07:00Z"
    assert "ConsoleReplicas" in afterwards["detail"]


def test_a_timeline_ends_with_what_became_of_it():
    now = worlds.NOW + timedelta(seconds=30)
    known = worlds.converged(moved())
    term = worlds.term(settle_seconds=0)
    begun = worlds.decide(known, term, now)
    ended = worlds.decide(worlds.recorded(known, begun.record), term, now + timedelta(seconds=60)).record
    assert ended is not None
    told = page_state.led(worlds.recorded(known, ended), now + timedelta(hours=1))["timeline"]
    assert told[-1] == {"time": "2026-03-01T12:01:30Z", "what": "Completed", "detail": ""}
    assert "Last transition completed" not in {one["what"] for one in told}, "it is this one"

    gone = worlds.with_infrastructure(worlds.recorded(known, ended), desired=None)
    (last,) = page_state.led(gone, now + timedelta(hours=2))["timeline"]
    assert (last["time"], last["what"]) == ("2026-03-01T12:01:30Z", "Last transition completed")
    assert last["detail"] == f"sno-to-ha-compact, from {ended.source} to {ended.target}"


def test_a_timeline_has_the_problem():
    told = page_state.led(moved(), worlds.DEADLINE)["timeline"]
    assert {"time": "2026-03-01T14:00:00Z", "what": "Problem Stuck", "detail": ""} in told
    assert page_state.led(IDLE)["timeline"] == []


def test_advisories_come_with_their_commands():
    shown = page_state.led(dataclasses.replace(moved(), ingress_controller=facts.IngressController(1, 1)))
    pinned = page_state.row(shown, "advisories", "RouterReplicasPinned")
    assert pinned["command"].startswith("oc -n openshift-ingress-operator patch ingresscontroller default")
    assert "RouterReplicasPinned" in shown["required"], "RouterReplicas waits for it"
    assert page_state.row(shown, "advisories", "EtcdBackupOutdated")
    assert "EtcdBackupOutdated" not in shown["required"], "nothing waits for it"


def test_an_action_whose_check_was_accepted_is_not_required():
    accepted = Accepted(name="RouterReplicas", message="one router", accepted_time=worlds.NOW)
    record = worlds.converging().model_copy(update={"accepted": (accepted,)})
    known = worlds.moved(worlds.healthy(ingress_controller=facts.IngressController(1, 1)), record)
    shown = page_state.led(known)
    assert page_state.row(shown, "advisories", "RouterReplicasPinned")
    assert shown["required"] == []


def test_a_problem_and_the_last_transition_are_shown_as_they_are_recorded():
    late = worlds.NOW + timedelta(hours=1)
    broken = worlds.healthy(etcd=worlds.BROKEN, scheduler=facts.Scheduler(masters_schedulable=False))
    first = page_state.led(broken)
    assert (first["problem"], first["lastTransition"]) == (None, None)
    record = worlds.decide(broken).record
    assert record is not None
    known = worlds.recorded(
        dataclasses.replace(broken, etcd_lease=worlds.healthy(late).etcd_lease),
        record.model_copy(update={"last_transition": contexts.completed(worlds.completed())}),
    )
    shown = page_state.led(known, late)
    assert (shown["problem"]["reason"], shown["problem"]["since"]) == ("EvidenceUnreadable", "2026-03-01T13:00:00Z")
    assert worlds.BROKEN.what in shown["problem"]["message"]
    last = shown["lastTransition"]
    assert (last["name"], last["completed"], last["accepted"]) == ("sno-to-ha-compact", "2026-03-01T12:00:00Z", [])
    assert last["target"] == {"controlPlane": "HighlyAvailable", "infrastructure": "HighlyAvailable"}


def test_what_blocks_a_transition_is_unmet_or_unknown():
    broken = worlds.healthy(etcd=worlds.BROKEN, scheduler=facts.Scheduler(masters_schedulable=False))
    idle = worlds.with_infrastructure(broken, desired=None)
    term = worlds.term(available=discovery.available(broken, worlds.ONLY_COMPACT, worlds.NOW))
    (item,) = page_state.led(idle, term=term)["available"]
    assert {blocker["name"]: blocker["status"] for blocker in item["blockers"]} == {
        "MastersSchedulable": "Unmet",
        "EtcdHealthy": "Unknown",
    }


def test_completed_keeps_the_answers_that_it_ended_with():
    now = worlds.NOW + timedelta(seconds=30)
    known = worlds.converged(moved())
    found = worlds.decide(known, worlds.term(settle_seconds=0), now)
    later = worlds.decide(
        worlds.recorded(known, found.record), worlds.term(settle_seconds=0), now + timedelta(seconds=60)
    )
    assert later.record is not None
    assert later.record.phase is Phase.COMPLETED
    shown = page_state.led(worlds.recorded(known, later.record), now + timedelta(hours=1))
    assert (shown["phase"], shown["stage"]) == ("Completed", "Convergence")
    assert shown["progress"] == {"met": 20, "total": 20}
    assert shown["transition"]["completed"] == shown["since"]
    assert shown["transition"]["typical"] == "typically 25-75 min", "not the time that it took itself"
    assert shown["transition"]["deadline"] is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"control_plane": "External"}, "HostedControlPlane"),
        ({"control_plane": "Mystery"}, "UnknownTopology"),
        ({"image_based_install": True}, "ImageBasedInstall"),
    ],
)
def test_disabled_says_why_and_shows_no_checks(changes, reason):
    shown = page_state.led(worlds.with_infrastructure(worlds.healthy(), **changes))
    assert shown["disabled"]["reason"] == reason
    assert shown["disabled"]["message"]
    assert (shown["stage"], shown["checks"]) == (None, [])


def test_unsupported_says_what_would_be_legal():
    shown = page_state.led(worlds.with_infrastructure(worlds.healthy(), desired=Topology.DUAL_REPLICA.value))
    assert (shown["phase"], shown["checks"]) == ("Unsupported", [])
    assert "sno-to-ha-compact" in shown["headline"]
    assert shown["cancel"] is not None


def test_conditions_are_those_that_are_reported_with_the_times_of_the_server():
    known = worlds.healthy(
        own_operator=worlds.own(
            status={
                "conditions": [
                    {"type": "Available", "status": "True", "lastTransitionTime": "2026-02-01T00:00:00Z"},
                    {"type": "Progressing", "status": "False", "lastTransitionTime": "2026-02-02T00:00:00Z"},
                ]
            }
        )
    )
    shown = page_state.led(known)
    said = conditions.of(worlds.decide(known))
    assert [(one["type"], one["status"], one["reason"], one["message"]) for one in shown["conditions"]] == [
        (one.type, one.status, one.reason, one.message) for one in said
    ]
    assert showing_since(shown) == {"Available": "2026-02-01T00:00:00Z", "Progressing": None}, "it turns True just now"


def showing_since(shown):
    return {one["type"]: one["since"] for one in shown["conditions"] if one["type"] in {"Available", "Progressing"}}


def test_paused_and_disturbed_are_said():
    known = worlds.healthy(own_operator=worlds.own(paused=True), disturbed=("nodes",))
    shown = page_state.led(known)
    assert (shown["paused"], shown["disturbed"]) == (True, ["nodes"])
    assert shown["headline"].startswith("Paused: no transition begins. Annotation ")


def test_a_standby_tells_what_the_leader_has_written():
    led = page_state.led(moved(), worlds.NOW + timedelta(minutes=61))
    written = [{**one, "lastTransitionTime": "2026-03-01T13:01:00Z"} for one in led["conditions"]]
    record = worlds.decide(moved(), now=worlds.NOW + timedelta(minutes=61)).record
    known = dataclasses.replace(worlds.moved(IDLE, record), own_operator=worlds.own(status={"conditions": written}))
    shown = page_state.standing_by(known)
    assert shown["leads"] is False
    for part in ("phase", "since", "stuck", "degraded", "headline", "stage", "checks", "progress", "transition"):
        assert shown[part] == led[part], part
    assert shown["advisories"] == led["advisories"]
    assert {one["since"] for one in shown["conditions"]} == {"2026-03-01T13:01:00Z"}
    for part in ("nodes", "etcd", "operands"):
        assert shown[part] == {"items": [], "said": "Shown by the operator process that leads"}


def test_a_standby_without_anything_to_read_is_idle_and_silent():
    shown = page_state.standing_by(facts.Facts())
    assert (shown["phase"], shown["headline"], shown["conditions"], shown["leads"]) == ("Idle", "", [], False)


@pytest.mark.parametrize(
    "found", [None, "x", [None, 3, {}, {"type": None}, {"type": "Degraded"}], {"type": "Degraded"}]
)
def test_conditions_that_make_no_sense_are_left_out(found):
    shown = page_state.standing_by(dataclasses.replace(IDLE, own_operator=worlds.own(status={"conditions": found})))
    assert [one["type"] for one in shown["conditions"]] in ([], ["Degraded"])
    assert shown["degraded"] is None


def test_the_same_is_shown_at_another_time():
    known = moved()
    at = [
        latest.Snapshot(worlds.decide(known, now=now), known)
        for now in (worlds.NOW, worlds.NOW + timedelta(seconds=50))
    ]
    first, again = [view.look(pinned, known, page_state.about()) for pinned in at]
    assert first == again, "a page that is open is told news only"
