"""`plan TARGET --probe` from a desk with names, addresses and listeners of its own: what it says, and what it sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from test import skips
from test.component import cluster, desk
from topology_simulator import machines

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
