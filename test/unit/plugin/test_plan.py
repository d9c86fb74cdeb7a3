"""`plan`: what the operator would publish, whatever the cluster; what to expect and to see to; Machines in use.

`plan -f`: which manifest of a file speaks for the cluster, and what would come of it. `graph` draws the ways.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import assume, event, given
from hypothesis import strategies as st

from kubectl_topology import errors, manifest, simulate
from kubectl_topology.commands import graph, plan
from kubectl_topology.commands import set as setting
from kubectl_topology.commands.graph import Edge
from topology_api.types import TopologyPair
from topology_api.vocabulary import Phase, Stage, Topology
from topology_controller.checks import load_balancer
from topology_controller.decide import admission, phases
from topology_controller.observe import facts

from ..core import machine_worlds as under
from ..core import worlds
from ..core.strategies import terms, worlds_of_any_kind
from . import replies

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from kubectl_topology import answers
    from topology_controller.decide import state

TARGETS = st.just("HighlyAvailable") | st.sampled_from([topology.value for topology in Topology])


@given(known=worlds_of_any_kind(), term=terms(), target=TARGETS)
def test_the_checks_that_are_planned_are_those_that_the_operator_decides(
    known: facts.Facts, term: state.LeaderState, target: str
) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    # What a leader holds back for a moment, because its watches were behind, is nothing that a person could ask about;
    # nor is an admission of its own that is about to end with the change.
    leader = dataclasses.replace(term, hold_until=None, attempt=None)
    decided = phases.decide(worlds.with_infrastructure(known, desired=target), worlds.TRANSITIONS, leader, worlds.NOW)
    own = known.own_operator
    assume(not isinstance(own, facts.Unobserved) or own.missing)
    try:
        found = simulate.requested(known, worlds.TRANSITIONS, target, worlds.NOW)
    except errors.PluginError:
        assert isinstance(known.installed, facts.Installed)
        assert known.installed.lacks
        return
    event(found.verdict)
    if decided.phase in {Phase.PENDING, Phase.ADMITTING} and decided.definition is not None:
        assert found.definition == decided.definition
        assert found.results == decided.results
        assert decided.record is not None
        published = [(one.name, one.status.value) for one in decided.record.checks if one.stage is Stage.PREFLIGHT]
        shown = replies.planned(known, target)["checks"]
        assert [(one["name"], one["status"]) for one in shown] == published
        assert [one["message"] for one in shown] == [one.message for one in decided.results]
    else:
        # Where status has no topology, the checks are listed as they will be once it has one; nothing is possible now.
        assert found.results == () or getattr(known.infrastructure, "control_plane", "") is None
        assert found.verdict != "Possible"
    if decided.disabled is not None:
        # The phase is that of the record then, which is left as it is; what counts is why nothing is done here.
        assert found.verdict == "Unsupported"
        assert found.message.startswith(decided.disabled.message)
    elif decided.phase is Phase.UNSUPPORTED and decided.degraded is None:
        assert (found.verdict, found.message) == ("Unsupported", decided.note)
    assert (found.verdict == "Possible") <= all(one.met for one in found.results)


@given(known=worlds_of_any_kind())
def test_what_could_be_asked_for_is_what_the_operator_discovers(known: facts.Facts) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    discovered = admission.available(known, worlds.TRANSITIONS, worlds.NOW) or ()
    ways = [one for one in replies.overview(known)["transitions"] if not one["elsewhere"]]
    assert [(one["name"], one["verdict"] == "Possible") for one in ways] == [
        (one.name, one.available) for one in discovered
    ]
    assert [one["blockers"] for one in ways] == [
        [{"name": why.name, "status": why.status.value, "message": why.message} for why in one.blockers]
        for one in discovered
    ]


PINNED = facts.IngressController(1, 1)


@pytest.mark.parametrize(
    ("changes", "waits"),
    [
        ({"ingress_controller": PINNED}, True),
        ({}, False),
        ({"ingress_controller": facts.IngressController(2, 1)}, False),
        ({"ingress_controller": PINNED, "scheduler": False}, False),
        ({"dnsmasq": True}, False),
    ],
    ids=["pinned", "free", "as implied", "blocked anyway", "an advisory that no check waits for"],
)
def test_what_will_wait_for_a_person_is_told_before_the_topology_changes(
    changes: dict[str, Any], *, waits: bool
) -> None:
    """Every real single node: the ingress operator writes spec.replicas when it makes the default controller."""
    found = replies.planned(worlds.healthy(**changes))
    command = load_balancer.TWO_ROUTERS
    wanted = [{"check": "RouterReplicas", "advisory": "RouterReplicasPinned", "command": command}]
    assert found.get("notCompleteUntil") == (wanted if waits else None)
    assert ("will not complete until: RouterReplicas" in found["message"]) is waits
    required = "\nRequired\n  RouterReplicasPinned" in replies.printed(found)
    assert required is (found["required"] == ["RouterReplicasPinned"]) is (changes.get("ingress_controller") == PINNED)
    assert ("\nRecommended\n  DnsmasqConfigurationLeft" in replies.printed(found)) is ("dnsmasq" in changes)
    if waits:
        assert found["verdict"] == "Possible"
        assert command in replies.printed(found).partition("Preflight")[0]


def test_a_setting_for_one_node_is_planned_as_a_step_for_after_the_change() -> None:
    setting = worlds.MATRIX.single_node_settings[0]
    there = facts.SingleNodeSetting("cluster", None, present=True)
    found = replies.planned(worlds.healthy(operands={**worlds.healthy().operands, setting.key: there}))
    (advisory,) = found["advisories"]
    assert "Set them back after the change, and not before" in advisory["message"]
    assert advisory["command"] == setting.command("cluster", None)


def test_plan_of_an_old_node_has_all_that_is_in_its_way() -> None:
    etcd = dataclasses.replace(worlds.etcd(), unsafe_scaling=True)
    old = worlds.with_infrastructure(worlds.healthy(etcd=etcd), control_plane=None, infrastructure=None)
    plan, overview = replies.planned(old), replies.overview(old)
    sets = """-p '{"status":{"controlPlaneTopology":"SingleReplica","infrastructureTopology":"SingleReplica"}}'"""
    for found in (plan, overview):
        assert (found["verdict"], sets in found["message"]) == ("Unsupported", True), found["message"]
    assert [one["name"] for one in plan["checks"] if one["status"] != "Met"] == ["EtcdScalingSafe"]
    assert "EtcdScalingSafe" in replies.printed(plan)
    assert (plan["transition"], plan["command"]) == (None, None), "there is nothing to request yet"
    assert "oc topology plan HighlyAvailable" in overview["message"]
    unheard = replies.planned(worlds.with_infrastructure(worlds.healthy(), control_plane="Unheard"))
    assert unheard["checks"] == [], "a value that is not known is not taken for one node's"


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (worlds.healthy(own_operator=worlds.own(paused=True)), "topology.openshift.io/paused"),
        (worlds.healthy(own_operator=worlds.BROKEN), "not all could"),
        # Who only asks does not wait for a native controller that has not shown up.
        (worlds.healthy(feature_gates=facts.FeatureGates((("4.20.1", True),))), "preflight checks are met"),
    ],
    ids=["paused", "without the right to read our own operator", "native controller awaited"],
)
def test_every_check_is_told_whatever_else_is_in_the_way(known: facts.Facts, words: str) -> None:
    found = replies.planned(known)
    assert {one["status"] for one in found["checks"]} == {"Met"}
    assert words in found["message"]


def test_a_check_that_only_the_operator_can_ask_is_told_as_it_was_answered() -> None:
    known = worlds.healthy(etcd_members=facts.EtcdMembers(worlds.voices()), scheduler=worlds.BROKEN)
    record = worlds.decide(known, transitions=worlds.DIRECTLY).record
    found = replies.planned(worlds.recorded(worlds.healthy(scheduler=worlds.BROKEN), record))
    assert [(one["name"], one["status"]) for one in found["onlyOperator"]] == [("EtcdMembersDirect", "Met")]
    assert "EtcdMembersDirect" not in {one["name"] for one in found["checks"]}


@pytest.mark.parametrize("control_plane", ["HighlyAvailable", "DualReplica"])
def test_a_cluster_that_has_its_topology_has_nothing_to_do(control_plane: str) -> None:
    has = {"control_plane": control_plane, "infrastructure": "HighlyAvailable"}
    found = replies.overview(worlds.with_infrastructure(replies.WITHOUT_REQUEST, **has))
    assert (found["verdict"], simulate.exit_code(found["verdict"])) == ("NothingToDo", 0)


# What to expect


def _named(found: list[dict[str, str]]) -> dict[str, str]:
    """The messages of each name, one a line."""
    messages: dict[str, str] = {}
    for item in found:
        before = messages.get(item["name"])
        messages[item["name"]] = item["message"] if before is None else f"{before}\n{item['message']}"
    return messages


def test_a_single_node_that_grows_restarts_its_nodes_and_needs_a_load_balancer() -> None:
    found = replies.planned(replies.WITHOUT_REQUEST)
    expected, checklist = _named(found["expected"]), _named(found["checklist"])
    assert expected["Reboots"].endswith("In pool master they are node-0, node-1, node-2 now")
    assert expected["Revisions"].startswith("kube-apiserver: ")
    assert "openshift-console/console: 1 to 2" in expected["Replicas"]
    assert expected["Duration"].startswith(
        "Typically 25-75 min (the estimate of definition sno-to-ha-compact), overdue 120 "
    )
    # Nodes that have yet to join are counted, and who may not read pools is told no number that may be too small.
    pool = dataclasses.replace(worlds.pool("master"), machines=1)
    for pools, overdue in (((pool,), "overdue 120 min"), (facts.NOT_READ, "overdue at least 120 min")):
        told = replies.planned(dataclasses.replace(replies.WITHOUT_REQUEST, machine_config_pools=pools))
        assert overdue in _named(told["expected"])["Duration"]
    assert "TwoVoters" not in expected, "etcd has three voters already"
    assert list(checklist) == ["EtcdBackup", "LoadBalancer", "DNS"]
    assert found["changes"] == [
        {"field": "status.controlPlaneTopology", "now": "SingleReplica", "then": "HighlyAvailable"},
        {"field": "status.infrastructureTopology", "now": "SingleReplica", "then": "HighlyAvailable"},
    ]


@pytest.mark.parametrize("name", ["alertmanager-main", "monitoring-plugin"])
def test_an_optional_operand_that_is_not_there_is_not_announced(name: str) -> None:
    def replicas(*, there: bool) -> str:
        operands = dict(replies.WITHOUT_REQUEST.operands)
        (key,) = [key for key in operands if key.endswith(f"/openshift-monitoring/{name}")]
        if not there:
            operands[key] = worlds.MISSING
        known = dataclasses.replace(replies.WITHOUT_REQUEST, operands=operands)
        return _named(replies.planned(known)["expected"])["Replicas"]

    announced = f"openshift-monitoring/{name}: 1 to 2"
    assert (announced in replicas(there=True), announced in replicas(there=False)) == (True, False)
    assert "openshift-monitoring/thanos-querier: 1 to 2" in replicas(there=False)


def test_an_operand_that_was_removed_follows_nothing() -> None:
    def replicas(state: str) -> str:
        managed = {"consoles.operator.openshift.io/cluster": facts.Managed(state, None)}
        known = dataclasses.replace(replies.WITHOUT_REQUEST, operands={**replies.WITHOUT_REQUEST.operands, **managed})
        return _named(replies.planned(known)["expected"])["Replicas"]

    assert "openshift-console/console: 1 to 2" in replicas("Managed")
    assert "openshift-console/console" not in replicas("Removed")
    assert "image-registry" not in replicas("Managed"), "topology implies no number for it"


@pytest.mark.parametrize(("routers", "warned"), [(1, True), (2, False), (None, False)])
def test_a_single_router_that_will_be_drained_is_expected_and_set_warns_of_it(
    routers: int | None, *, warned: bool
) -> None:
    known = dataclasses.replace(replies.WITHOUT_REQUEST, ingress_controller=facts.IngressController(routers, 1))
    lone = [item for item in replies.planned(known)["expected"] if item["name"] == "LoneRouter"]
    assert [item["command"] for item in lone] == ([load_balancer.TWO_ROUTERS] if warned else [])
    answer, _ = setting.judged(replies.seen(known), worlds.TRANSITIONS, replies.asked(confirm=True))
    text = replies.printed(answer)
    commands = [line.strip() for line in text.partition("Warning")[2].splitlines() if "patch ingress" in line]
    assert (load_balancer.TWO_ROUTERS in commands) is warned, "on a line of its own, to be pasted"


def test_a_control_plane_that_stays_drains_no_router() -> None:
    known = dataclasses.replace(
        worlds.ready_for(worlds.named("infra-to-ha")), ingress_controller=facts.IngressController(1, 1)
    )
    assert "LoneRouter" not in _named(replies.planned(known)["expected"])


# Machines of the control plane


TITLE = "Machines of the control plane"


def pending(*listed: Any, **changes: Any) -> facts.Facts:
    return dataclasses.replace(replies.in_phase(Phase.PENDING), machines=listed, **changes)


@pytest.mark.parametrize("answer", [replies.planned, replies.told])
def test_each_machine_says_whose_it_is_and_how_far(answer: Callable[[facts.Facts], dict[str, Any]]) -> None:
    listed = (
        *under.on_hosts(under.machine(0)),
        under.machine(1, addresses=(), deleting=True, authority="MachineAPI"),
        under.machine(2, phase="Provisioning", addresses=(), node=None, host="host-2"),
    )
    found = answer(pending(*listed, hosts=(under.host(0),)))
    replies.conforms(found)
    assert found["machines"] == [
        {
            "node": "node-0", "machine": "machine-0", "phase": "Running", "authority": None, "boundBy": "Address",
            "leaving": False, "host": "host-0", "hostState": "provisioned", "voter": True,
        },
        {
            "node": "node-1", "machine": "machine-1", "phase": "Running", "authority": "MachineAPI",
            "boundBy": "NodeRef", "leaving": True, "host": None, "hostState": None, "voter": True,
        },
        {
            "node": None, "machine": "machine-2", "phase": "Provisioning", "authority": None, "boundBy": None,
            "leaving": False, "host": "host-2", "hostState": None, "voter": False,
        },
    ]  # fmt: skip
    printed = " ".join(replies.printed(found, wide=True).split())
    assert TITLE in printed
    assert "machine-1 leaving node-1 (by nodeRef only)" in printed
    assert "machine-2 Provisioning no node host-2 (no state)" in printed
    # Where Machines are not in use, people see no table.
    found = answer(pending(under.machine(0, phase="Provisioned")))
    assert (len(found["machines"]), TITLE in replies.printed(found, wide=True)) == (1, False)


ONE = """\
apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata:
  name: cluster
spec:
  desiredTopology: HighlyAvailable
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {kind: nothing}\n"
WITHOUT_REQUEST = ONE.replace("  desiredTopology: HighlyAvailable\n", "  cloudConfig: {name: ''}\n")


def _file(folder: pathlib.Path, text: str | bytes) -> str:
    place = folder / "infrastructure.yaml"
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(place)


def _refused(source: str) -> list[str]:
    with pytest.raises(errors.InputError) as raised:
        manifest.read(source)
    assert "\n".join(raised.value.problems) == str(raised.value)
    return [problem.removeprefix(f"{source}:").strip() for problem in raised.value.problems]


def _asked(known: facts.Facts, wanted: answers.Manifest) -> tuple[dict[str, Any], int]:
    found, judgement = plan.manifest(replies.seen(known), worlds.TRANSITIONS, wanted)
    answer = replies.through_json(found)
    replies.conforms(answer)
    assert replies.printed(answer, 80)
    return answer, simulate.exit_code(judgement.verdict)


# What is found


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (ONE, 6),
        (f"---\n{CONFIG_MAP}---\n{ONE}---\n{CONFIG_MAP}", 12),
        (f"{CONFIG_MAP}---\n{ONE}".replace("\n", "\r\n"), 11),
        ("\ufeff" + ONE, 6),
        (ONE.replace("name: cluster", "name: cluster\n  labels: {a: &t HighlyAvailable}").replace(
            "desiredTopology: HighlyAvailable", "desiredTopology: *t"), 5),
        (json.dumps(yaml.safe_load(ONE)), 1),
        (yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [
            yaml.safe_load(CONFIG_MAP), yaml.safe_load(ONE)]}), 14),
        (json.dumps({"apiVersion": "config.openshift.io/v1", "kind": "InfrastructureList",
                     "items": [yaml.safe_load(ONE)]}), 1),
        (f"{{{{ if .Values.x }}}}\nkind: ConfigMap\n{{{{ end }}}}\n---\n{ONE}", 10),
    ],
)  # fmt: skip
def test_the_manifest_is_found_however_it_is_written(tmp_path: pathlib.Path, text: str, line: int) -> None:
    found = manifest.read(_file(tmp_path, text))
    assert (found["desiredTopology"], found["skipped"]) == ("HighlyAvailable", [])
    assert [file["line"] for file in found["files"]] == [line]


def test_other_objects_are_named_when_they_could_have_been_meant(tmp_path: pathlib.Path) -> None:
    misspelt = ONE.replace("name: cluster", "name: clsuter")
    source = _file(tmp_path, f"{misspelt}---\n{ONE.replace('/v1', '/v1alpha1')}")
    (line,) = _refused(source)
    assert f"{source}:1 is an Infrastructure named 'clsuter', not cluster" in line
    assert f"{source}:8 has apiVersion 'config.openshift.io/v1alpha1'" in line
    found = manifest.read(_file(tmp_path, f"{misspelt}---\n{ONE}"))
    assert [skipped["file"] for skipped in found["skipped"]] == [f"{source}:1"]


# What is refused


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        (ONE.replace("HighlyAvailable", "HighAvailable"), 6, "unknown target 'HighAvailable'; did you mean HighlyAv"),
        (ONE.replace("HighlyAvailable", "External"), 6, "a hosted control plane is created on the management cluster"),
        (ONE.replace("HighlyAvailable", "3"), 6, "'3', which reads as int; wanted one of SingleReplica"),
        (ONE.replace("HighlyAvailable", "{{ .Values.topology }}"), 6, "a template that has not been rendered"),
        (ONE.replace("desiredTopology: HighlyAvailable", "{{ .Values.topology }}"), 6, "spec: a key is a mapping, or"),
        (ONE + "  desiredTopology: SingleReplica\n", 7, "spec: the key 'desiredTopology' stands here twice"),
        (ONE + "  <<: {a: b}\n", 7, "spec: a key is '<<', which reads as merge; wanted a text"),
        (ONE + "status: {controlPlaneTopology: HighlyAvailable}\n", 7, "sets status, which an apply does not write"),
        (ONE.replace("spec:\n  desiredTopology: ", "spec: "), 5, "spec is 'HighlyAvailable'; wanted a mapping"),
        (
            ONE + "  a: 'b\n",
            8,
            "cannot be parsed: found unexpected end of stream. If it is a template, render it first",
        ),
        (ONE + "x: " + "[\n" * 5000, 1, "cannot be parsed: nested too deeply"),
        (ONE + "# " + "x" * manifest.LARGEST_DOCUMENT, 1, "this document is larger than 1048576 characters"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: pathlib.Path, text: str, line: int, told: str) -> None:
    above = f"{CONFIG_MAP}---\n"
    (found,) = _refused(_file(tmp_path, f"{above}{text}---\n{ONE}" if "[\n" not in text else above + text))
    # A document that cannot be placed more exactly is named by its first line, the mark.
    shift = len(CONFIG_MAP.splitlines()) + (1 if line > 1 else 0)
    assert found.startswith(f"{line + shift}: "), found
    assert told in found


def test_manifests_that_differ_are_each_named(tmp_path: pathlib.Path) -> None:
    problems = _refused(_file(tmp_path, f"{WITHOUT_REQUEST}---\n{ONE}"))
    assert problems[1:] == ["1: this one has no spec.desiredTopology", "13: this one asks for HighlyAvailable"]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "no manifest of Infrastructure cluster (config.openshift.io/v1)"),
        (b"a: b\nc: \xff\n", "2: is not UTF-8 text"),
        (b"#" * (manifest.LARGEST + 1), "is larger than 16777216 bytes"),
    ],
    ids=["empty", "not UTF-8", "too large"],
)
def test_what_is_no_text_is_refused(tmp_path: pathlib.Path, raw: bytes, told: str) -> None:
    assert _refused(_file(tmp_path, raw)) == [told]
    assert _refused(str(tmp_path)) == ["cannot be read: Is a directory"]


# What would come of it


def _wanted(desired: str | None) -> answers.Manifest:
    place = "clusters/edge/infrastructure.yaml"
    return {"folder": place, "desiredTopology": desired, "files": [{"file": place, "line": 6}], "skipped": []}


@pytest.mark.parametrize("phase", list(Phase))
def test_a_manifest_with_a_request_is_judged_as_plan_judges_that_target(phase: Phase) -> None:
    known = replies.in_phase(phase)
    for desired in ("HighlyAvailable", "DualReplica"):
        found, code = _asked(known, _wanted(desired))
        said = found.pop("manifest")
        assert found == replies.planned(known, desired)
        assert said["files"] == [{"file": "clusters/edge/infrastructure.yaml", "line": 6}]
        assert said["desiredTopology"] == desired
        assert code == simulate.exit_code(found["verdict"])


@pytest.mark.parametrize(
    ("phase", "verdict", "code", "told"),
    [
        (Phase.IDLE, "Fulfilled", 0, "The manifest requests nothing, and nothing is requested"),
        (Phase.UNSUPPORTED, "Possible", 0, "DualReplica is requested: to prune that field"),
        (Phase.PENDING, "Possible", 0, "would cancel the request"),
        (Phase.ADMITTING, "Possible", 0, "would cancel the request"),
        (Phase.CONVERGING, "Blocked", 3, "is refused until the cluster has followed to Highly"),
        (Phase.COMPLETED, "Possible", 0, "would remove a request that is fulfilled; the topology stays"),
    ],
)  # fmt: skip
def test_a_manifest_without_a_request_takes_the_request_back_where_that_is_possible(
    phase: Phase, verdict: str, code: int, told: str
) -> None:
    known = replies.in_phase(phase)
    found, ended = _asked(known, _wanted(None))
    assert (found["verdict"], ended) == (verdict, code)
    assert (found["target"], found["checks"], found["command"]) == ("", [], None)
    assert told in found["message"]
    assert "clusters/edge/infrastructure.yaml:6 has no spec.desiredTopology" in replies.printed(found)


# `graph`: every transition, where the cluster is, and what blocks the way on


BLOCKED = worlds.with_infrastructure(worlds.healthy(scheduler=False), desired=None)


def _edges(known: facts.Facts) -> tuple[Edge, ...]:
    ways, _ = simulate.ways(known, worlds.TRANSITIONS, worlds.NOW)
    return graph.edges(worlds.TRANSITIONS, worlds.SNO, ways)


def test_where_nothing_is_known_to_be_in_the_way_a_form_says_that_it_cannot_tell() -> None:
    """As `plan` does for the same facts. One check that is known to be unmet blocks, whatever else is unread."""
    unread = facts.Unobserved("nodes", "forbidden")
    known = dataclasses.replace(replies.WITHOUT_REQUEST, etcd=dataclasses.replace(worlds.etcd(), unsafe_scaling=unread))
    found = _edges(known)
    compact = next(edge for edge in found if edge.name == "sno-to-ha-compact" and edge.source == worlds.SNO)
    assert (compact.verdict, compact.notes) == ("CannotTell", ("cannot tell", "EtcdScalingSafe"))
    assert 'label="sno-to-ha-compact\\ncannot tell\\nEtcdScalingSafe"' in graph.dot(found, worlds.SNO)
    assert '-.-o|"sno-to-ha-compact<br/>cannot tell<br/>EtcdScalingSafe"|' in graph.mermaid(found, worlds.SNO)
    blocked = {edge.notes[0] for edge in _edges(dataclasses.replace(BLOCKED, etcd=unread)) if edge.verdict}
    assert blocked == {"blocked"}


def test_both_forms_draw_every_place_and_every_edge_once() -> None:
    found = _edges(replies.WITHOUT_REQUEST)
    places = {pair for edge in found for pair in (edge.source, edge.target)}
    dot, mermaid = graph.dot(found, worlds.SNO), graph.mermaid(found, worlds.SNO)
    assert len(re.findall(r"^  \"[^\"]+\" \[label=", dot, re.MULTILINE)) == len(places)
    assert dot.count(" -> ") == len(found)
    assert dot.count("fillcolor") == 1
    assert "sno-to-ha-compact\\npossible" in dot
    assert len(re.findall(r"^  p\d+\[", mermaid, re.MULTILINE)) == len(places)
    assert len(re.findall(r"(?:-->|==>|-\.->|-\.-o|--x)\|", mermaid)) == len(found)
    assert "sno-to-ha-compact<br/>possible" in mermaid
    numbers = [int(one) for one in re.findall(r"linkStyle (\d+)", mermaid)]
    assert numbers == [number for number, edge in enumerate(found) if edge.verdict]


def test_each_verdict_has_a_line_of_its_own_and_no_name_ends_its_label() -> None:
    verdicts = ("Possible", "Blocked", "CannotTell", "Unsupported", "")
    way = tuple(Edge(worlds.SNO, worlds.HA, f'a"b<c>{at}', verdict) for at, verdict in enumerate(verdicts))
    dot, mermaid = graph.dot(way, worlds.SNO), graph.mermaid(way, worlds.SNO)
    assert len(set(re.findall(r"style=([^\]]+)\];$", dot, re.MULTILINE)[-5:])) == len(verdicts)
    assert len(set(re.findall(r"^  p0 (\S+?)\|", mermaid, re.MULTILINE))) == len(verdicts)
    assert 'label="a\\"b<c>4"' in dot
    assert '|"a&quot;b&lt;c&gt;4"|' in mermaid


def test_a_place_without_a_way_is_drawn_and_another_platform_with_the_reason() -> None:
    hosted = TopologyPair(control_plane="External", infrastructure="HighlyAvailable")
    assert 'p0["External<br/>HighlyAvailable"]' in graph.mermaid((), hosted)
    elsewhere = _edges(worlds.with_infrastructure(BLOCKED, platform="AWS"))
    notes = ("not for this cluster", "on platform None or External only; this is AWS")
    assert {edge.notes for edge in elsewhere if edge.verdict} == {notes}
