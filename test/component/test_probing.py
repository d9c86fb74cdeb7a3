"""`plan TARGET --probe` from a desk with names, addresses and listeners of its own: what it says, and what it sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test import skips
from test.component import cluster, desk
from topology_simulator import machines

if TYPE_CHECKING:
    import pathlib

    from test.component.world import World

NODES = [machines.address(machines.number_of(name)) for name in cluster.MASTERS]
BALANCER, SIX = "192.0.2.100", "2001:db8::100"
API_HOST = "api.edge.example.com"
NAMES = (API_HOST, "api-int.edge.example.com", "console-openshift-console.apps.edge.example.com")


@pytest.mark.on_real
async def test_where_everything_is_right_all_are_ready(world: World, tmp_path: pathlib.Path) -> None:
    """Three nodes that answer, and a load balancer that all names lead to, by both families."""
    if why := desk.missing():
        pytest.skip(
            f"{skips.ELSEWHERE}no network of its own can be made here, which needs root or user namespaces: {why}"
        )
    listeners = [desk.Listener(one, port) for one in NODES for port in (desk.API, desk.MACHINE_CONFIG)]
    listeners += [desk.Listener(one, port) for one in (BALANCER, SIX) for port in (desk.API, desk.INGRESS)]
    network = desk.Network(listeners, {name: [BALANCER, SIX] for name in NAMES})
    words = ("plan", "HighlyAvailable", "--probe", "-o", "json")
    ended, asked = await desk.run(tmp_path, network, world.server.kubeconfig(), API_HOST, *words)

    assert ended.code == 0, ended
    for one in asked:
        assert one["certificate"] in (None, {}), one
        assert not {name.lower() for name in one["headers"]} & {"authorization", "cookie", "impersonate-user"}, one
    probes = ended.answer["probes"]
    results = {(probe["what"], probe["address"]): probe["result"] for probe in probes}
    assert set(results.values()) == {"Ready"}
    assert len(results) == 2 * 3 + 3 * 2
    assert ended.answer["findings"] == []
    assert [probe["node"] for probe in probes][:3] == list(cluster.MASTERS)
    (balancer,) = [step["message"] for step in ended.answer["checklist"] if step["name"] == "LoadBalancer"]
    of_all = "at 3 of 3 addresses of nodes"
    assert balancer.endswith(f"Seen from here: /readyz answers on 6443 {of_all}; 22623 answers {of_all}")
    of_api = [one for one in asked if one["port"] == desk.API]
    assert {(one["line"], one["headers"]["Host"]) for one in of_api} == {("GET /readyz HTTP/1.1", f"{API_HOST}:6443")}
    assert len(of_api) == 5, "api and api-int lead to the same addresses, which are asked once"
