"""`plan TARGET --probe` from a desk with names, addresses and listeners of its own: what it says, and what it sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from test import skips
from test.component import cluster, desk
from topology_simulator import kinds, machines

if TYPE_CHECKING:
    import pathlib

    from test.component.world import World

TARGET = "HighlyAvailable"
NODES = [machines.address(machines.number_of(name)) for name in cluster.MASTERS]
BALANCER, SIX = "192.0.2.100", "2001:db8::100"
API_HOST, INTERNAL, WILDCARD = (
    "api.edge.example.com",
    "api-int.edge.example.com",
    "console-openshift-console.apps.edge.example.com",
)
SECONDS = 5.0
"""What asking may take, whatever is silent. Add what a plan takes on this machine, and as much for slack."""


def right(**changes: Any) -> desk.Network:
    """Three nodes that answer, and a load balancer that all names lead to, by both families."""
    ports = (desk.API, desk.MACHINE_CONFIG)
    listeners = [desk.Listener(one, port) for one in NODES for port in ports]
    listeners += [desk.Listener(one, port) for one in (BALANCER, SIX) for port in (desk.API, desk.INGRESS)]
    names = {host: [BALANCER, SIX] for host in (API_HOST, INTERNAL, WILDCARD)}
    return desk.Network(**{"listeners": listeners, "names": names, **changes})


def instead(network: desk.Network, address: str, port: int, kind: str) -> desk.Network:
    """The same, where something else listens at one place; `dead` is nothing."""
    listeners = [one for one in network.listeners if (one.address, one.port) != (address, port)]
    if kind != "dead":
        listeners.append(desk.Listener(address, port, kind))
    return desk.Network(listeners, network.names, [*network.addresses, address], network.hosts)


async def probed(
    world: World, folder: pathlib.Path, network: desk.Network, host: str = API_HOST, code: int = 0
) -> desk.Seen:
    if why := desk.missing():
        pytest.skip(
            f"{skips.ELSEWHERE}no network of its own can be made here, which needs root or user namespaces: {why}"
        )
    seen = await desk.run(folder, network, world.server.kubeconfig(), host, "plan", TARGET, "--probe", "-o", "json")
    # What a plan takes without it differs by half of that while other tests run.
    assert seen.seconds < SECONDS + 3 * seen.usual
    # Exit code and everything else are those of a plan: a probe informs.
    assert seen.ended.code == code, seen.ended
    for asked in seen.asked:
        assert asked["certificate"] in (None, {}), asked
        assert not {name.lower() for name in asked["headers"]} & {"authorization", "cookie", "impersonate-user"}, asked
    return seen


def results(seen: desk.Seen) -> dict[tuple[str, str], str]:
    return {(probe["what"], probe["address"]): probe["result"] for probe in seen.ended.answer["probes"]}


def findings(seen: desk.Seen) -> list[tuple[str, str]]:
    return [(item["name"], item["message"].split()[0]) for item in seen.ended.answer["findings"]]


def entry(seen: desk.Seen, name: str) -> str:
    messages: dict[str, str] = {step["name"]: step["message"] for step in seen.ended.answer["checklist"]}
    return messages[name]


@pytest.mark.on_real
async def test_where_everything_is_right_all_are_ready(world: World, tmp_path: pathlib.Path) -> None:
    seen = await probed(world, tmp_path, right())
    assert set(results(seen).values()) == {"Ready"}
    assert len(results(seen)) == 2 * 3 + 3 * 2
    assert findings(seen) == []
    assert [probe["node"] for probe in seen.ended.answer["probes"]][:3] == list(cluster.MASTERS)
    assert {probe["node"] for probe in seen.ended.answer["probes"] if probe["what"] == "API"} == {None}
    of_all = "at 3 of 3 addresses of nodes"
    assert entry(seen, "LoadBalancer").endswith(
        f"Seen from here: /readyz answers on 6443 {of_all}; 22623 answers {of_all}"
    )
    asked = [one for one in seen.asked if one["port"] == desk.API]
    assert {one["line"] for one in asked} == {"GET /readyz HTTP/1.1"}
    assert {one["headers"]["Host"] for one in asked} == {f"{API_HOST}:6443"}
    assert len(asked) == 5, "api and api-int lead to the same addresses, which are asked once"
    notes = seen.ended.answer["probeNotes"]
    assert any("no node's leads" in note for note in notes)
    assert not any("could not be read" in note for note in notes), notes


@pytest.mark.on_real
async def test_a_name_that_leads_to_one_node_is_a_finding(world: World, tmp_path: pathlib.Path) -> None:
    network = right()
    network.names[INTERNAL] = [NODES[0]]
    seen = await probed(world, tmp_path, network)
    assert findings(seen) == [("APINameOnOneNode", INTERNAL)]
    assert "master-0 alone" in seen.ended.answer["findings"][0]["message"]
    assert f"{INTERNAL} leads to node master-0 alone" in entry(seen, "DNS")
    network.names |= {API_HOST: [NODES[0]], WILDCARD: [NODES[0]]}
    seen = await probed(world, tmp_path / "all", network)
    assert [name for name, _ in findings(seen)] == ["APINameOnOneNode", "APINameOnOneNode", "IngressNameOnOneNode"]


@pytest.mark.on_real
async def test_an_api_url_that_is_the_address_of_a_node(world: World, tmp_path: pathlib.Path) -> None:
    infrastructure = await world.infrastructure()
    status = {**infrastructure["status"], "apiServerURL": f"https://{NODES[0]}:6443"}
    await world.api.put_status(kinds.INFRASTRUCTURES, {**infrastructure, "status": status})
    network = instead(instead(right(), NODES[1], desk.API, "dead"), NODES[2], desk.API, "silent")
    seen = await probed(world, tmp_path, network, NODES[0])
    assert ("APINameOnOneNode", NODES[0]) in findings(seen)
    found = results(seen)
    assert [found["Node", one] for one in NODES] == ["Ready", "Refused", "TimedOut"]
    assert "not master-1 (Refused), master-2 (TimedOut)" in entry(seen, "LoadBalancer")


async def test_without_the_flag_nothing_is_asked_and_the_verdict_is_the_same(
    world: World, tmp_path: pathlib.Path
) -> None:
    with_flag = await probed(world, tmp_path, right())
    kubeconfig = world.server.kubeconfig()
    seen = await desk.run(tmp_path / "without", right(), kubeconfig, API_HOST, "plan", TARGET, "-o", "json")
    assert seen.asked == []
    added = {"probes", "findings", "probeNotes"}
    assert set(with_flag.ended.answer) - set(seen.ended.answer) == added
    for key in ("verdict", "checks", "changes", "expected", "command"):
        assert seen.ended.answer[key] == with_flag.ended.answer[key]
    assert "Seen from here" not in seen.ended.printed


async def test_what_is_not_possible_stays_so(world: World, tmp_path: pathlib.Path) -> None:
    await cluster.set_ready(world.api, "master-2", ready=False)
    seen = await probed(world, tmp_path, right(), code=3)
    assert set(results(seen).values()) == {"Ready"}


async def test_each_way_to_fail_has_its_result(world: World, tmp_path: pathlib.Path) -> None:
    network = right()
    kinds_of = {NODES[0]: "not-ready", NODES[1]: "stranger", NODES[2]: "hidden", BALANCER: "plain", SIX: "cut"}
    for one, kind in kinds_of.items():
        network = instead(network, one, desk.API, kind)
    network = instead(network, NODES[0], desk.MACHINE_CONFIG, "dead")
    network = instead(network, NODES[1], desk.MACHINE_CONFIG, "silent")
    network = instead(network, NODES[2], desk.MACHINE_CONFIG, "stranger")
    seen = await probed(world, tmp_path, network)
    found = results(seen)
    assert [found["Node", one] for one in NODES] == ["NotReady", "BadCertificate", "NotReady"]
    assert [found["API", one] for one in (BALANCER, SIX)] == ["NotReady", "NotReady"]
    # Who certifies it is not its business.
    assert [found["MachineConfigServer", one] for one in NODES] == ["Refused", "TimedOut", "Ready"]
    messages = {(probe["what"], probe["address"]): probe["message"] for probe in seen.ended.answer["probes"]}
    assert "HTTP 500: [-]etcd failed:" in messages["Node", NODES[0]]
    assert "\x1b" not in "".join(messages.values())
    assert "without credentials" in messages["Node", NODES[2]]


async def test_a_name_server_that_is_slow_or_silent_holds_up_nothing_else(world: World, tmp_path: pathlib.Path) -> None:
    network = right()
    network.names |= {API_HOST: "never", INTERNAL: f"slow:1.5:{BALANCER}"}
    del network.names[WILDCARD]
    seen = await probed(world, tmp_path, instead(network, BALANCER, desk.API, "silent"))
    found = results(seen)
    assert found["API", API_HOST] == "Unresolved"
    assert found["InternalAPI", BALANCER] == "TimedOut"
    assert found["Ingress", WILDCARD] == "Unresolved"
    assert [found["Node", one] for one in NODES] == ["Ready"] * 3
    messages = [probe["message"] for probe in seen.ended.answer["probes"] if probe["result"] == "Unresolved"]
    assert any("no answer from the name servers" in message for message in messages)
    assert any("not known" in message for message in messages), messages


async def test_a_hundred_addresses_are_counted_and_sixteen_asked(world: World, tmp_path: pathlib.Path) -> None:
    crowd = [f"203.0.113.{number}" for number in range(1, 101)]
    network = right(addresses=crowd)
    network.names |= {API_HOST: crowd, WILDCARD: NODES[:2]}
    seen = await probed(world, tmp_path, network)
    rows = [probe for probe in seen.ended.answer["probes"] if probe["what"] == "API"]
    assert 0 < len(rows) <= 13
    assert len({probe["address"] for probe in seen.ended.answer["probes"]}) <= 16
    assert any(f"{API_HOST} has 100 addresses" in note for note in seen.ended.answer["probeNotes"])
    assert findings(seen) == []


async def test_a_name_that_leads_to_this_desk_is_called_so(world: World, tmp_path: pathlib.Path) -> None:
    network = right(hosts=f"127.0.0.1 {API_HOST}\n::ffff:{NODES[1]} {INTERNAL}\n{NODES[0]} {WILDCARD}\n")
    network.names.clear()
    seen = await probed(world, tmp_path, network)
    notes = seen.ended.answer["probeNotes"]
    assert any(f"{API_HOST} leads to this computer (127.0.0.1)" in note for note in notes)
    # An address of a node is that node, also where it is written as IPv6, and where this is run on it.
    assert findings(seen) == [("APINameOnOneNode", INTERNAL), ("IngressNameOnOneNode", "*.apps.edge.example.com")]
    assert results(seen)["API", "127.0.0.1"] == "Refused"
    assert not any(f"{WILDCARD} leads to this computer" in note for note in notes)
