"""What a kubelet and Prometheus are told: alive, ready, and the numbers; without a certificate on loopback only."""

from __future__ import annotations

import asyncio
import pathlib
from typing import Any

import aiohttp
import pytest

from topology_controller.definitions import load
from topology_controller.report import metrics
from topology_controller.serve import routes
from topology_controller.serve import server as servers

TRANSITIONS = load.load(pathlib.Path(__file__).resolve().parents[3] / "bindata" / "transitions")


class Watches:
    def __init__(self, *troubles: str) -> None:
        self.troubles = troubles

    def last_activity(self) -> dict[str, float]:
        return {"infrastructure": 1700000000.0}


class Queue:
    working_since: float | None = None


@pytest.fixture
def queue():
    return Queue()


def server(queue: Queue, *troubles: str) -> servers.Server:
    measured = metrics.Metrics(TRANSITIONS, lease="test")
    watches = Watches(*troubles)
    served = (
        *routes.probes(lambda: watches.troubles, lambda: queue.working_since),
        *routes.scrape(measured, watches.last_activity),
    )
    return servers.Server(servers.Address.parse("127.0.0.1:0"), served)


async def get(url: str, **options: Any) -> tuple[int, str]:
    timeout = aiohttp.ClientTimeout(total=5)
    async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url, **options) as answer:
        return answer.status, await answer.text()


async def test_all_is_well(queue):
    async with server(queue) as served:
        for path in ("healthz", "livez", "readyz"):
            assert await get(f"http://127.0.0.1:{served.bound}/{path}") == (200, "ok\n")


async def test_a_blind_operator_is_not_ready_and_says_which_watch(queue):
    async with server(queue, "nodes: Forbidden") as served:
        assert await get(f"http://127.0.0.1:{served.bound}/readyz") == (500, "nodes: Forbidden\n")
        status, _ = await get(f"http://127.0.0.1:{served.bound}/healthz")
        assert status == 200, "a restart would not give it the right to read nodes"


async def test_a_loop_that_hangs_is_not_alive(queue):
    async with server(queue) as served:
        queue.working_since = asyncio.get_running_loop().time() - routes.STUCK_BOUND - 1
        status, text = await get(f"http://127.0.0.1:{served.bound}/healthz")
        assert (status, "one pass" in text) == (500, True), text


async def test_metrics_are_there_from_the_start(queue):
    async with server(queue) as served:
        status, text = await get(f"http://127.0.0.1:{served.bound}/metrics")
    assert status == 200
    for line in (
        'topology_transition_phase{phase="Idle"} 0.0',
        "topology_transition_stuck 0.0",
        'topology_watch_last_activity_timestamp_seconds{resource="infrastructure"} 1.7e+09',
        'leader_election_master_status{name="test"} 0.0',
    ):
        assert line in text, f"{line} is not among\n{text}"
    started = [line for line in text.splitlines() if line.startswith("topology_transition_started_total{")]
    ways = {
        (one.source_control_plane, infrastructure, str(one.target))
        for one in TRANSITIONS.edges()
        for infrastructure in one.source_infrastructures
    }
    assert len(started) == len(ways), f"one series for each way that a definition knows, from the start: {started}"


@pytest.mark.parametrize("text", ["0.0.0.0:8443", ":8443", "[::]:8443", "10.0.0.1:80", "example:80"])
def test_metrics_are_not_served_openly(text):
    listening = servers.Address.parse(text)
    with pytest.raises(ValueError, match="--serving-cert-dir"):
        servers.refuse_open_http(listening, None)
    servers.refuse_open_http(listening, pathlib.Path("certificates"))


@pytest.mark.parametrize("text", ["", "8443", "host:", "host:port", "host:65536", "host:-1"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ValueError, match="HOST:PORT"):
        servers.Address.parse(text)
