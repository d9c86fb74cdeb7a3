"""The numbers of a real process: through a whole transition."""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING, TypeAlias

import pytest
from prometheus_client import parser

from test import polling
from test.component import phases
from topology_controller.report import metrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from test.component import process
    from test.component.world import World

MOST = 300
ROUTE = ("SingleReplica/SingleReplica", "HighlyAvailable/HighlyAvailable")
Series: TypeAlias = dict[tuple[str, ...], float]


class Scrape:
    """One scrape, read as Prometheus would. Series go by the values of their labels, in the order of the names."""

    def __init__(self, text: str) -> None:
        families = list(parser.text_string_to_metric_families(text))
        self.samples = [sample for family in families for sample in family.samples]
        self.names = {f"{family.name}_total" if family.type == "counter" else family.name for family in families}

    def __getitem__(self, name: str) -> Series:
        return {tuple(one.labels.values()): one.value for one in self.samples if one.name == name}

    def ones(self, name: str) -> list[tuple[str, ...]]:
        """The labels of the series that are 1."""
        return [labels for labels, number in self[name].items() if number == 1]


async def scrape(operator: process.Operator) -> Scrape:
    status, text = await operator.ask("/metrics")
    assert status == 200, text
    return Scrape(text)


@pytest.mark.on_real
async def test_a_transition_from_the_first_scrape_to_the_last(world: World, figure: Callable[[str], None]) -> None:
    operator = await world.idle_operator()
    world.operands.on = False
    first = await scrape(operator)
    declared = {family.name for family in metrics.FAMILIES}
    assert {name for name in first.names if not name.startswith("process_")} == declared
    assert first["process_resident_memory_bytes"], "the process itself is measured"
    assert first.ones("topology_transition_phase") == [("Idle",)]
    assert first["topology_info"] == {("SingleReplica", "", "SingleReplica", "single-node"): 1}
    assert set(first["topology_transition_started_total"].values()) == {0}
    port = world.server.kubeconfig()["clusters"][0]["cluster"]["server"].rpartition(":")[2]
    assert {host.rpartition(":")[2] for _, host, _ in first["rest_client_requests_total"]} == {port}

    await world.ask_for()
    await world.until_phase("Converging")
    await phases.until_watching(world, phases.CONVERGING)
    moved = await scrape(operator)
    figure(f"series: {len(first.samples)} idle, {len(moved.samples)} converging")
    assert len(moved.samples) <= MOST
    assert moved.ones("topology_transition_phase") == [("Converging",)]
    checks = [one for one in (await world.record())["checks"] if one["stage"] == "Convergence"]
    assert len(moved["topology_transition_check_status"]) == 3 * len(checks)
    assert moved["topology_etcd_members"] == {("voter",): 3}
    assert set(moved["topology_control_plane_nodes"].values()) == {3}
    assert moved["topology_transition_started_total"][ROUTE] == 1
    open_now = moved["topology_watch_last_activity_timestamp_seconds"]
    assert len(open_now) == phases.OPEN + phases.NOT_SERVED
    assert min(open_now.values()) > 1e9, open_now

    await phases.go_on(world, "Converging")
    await world.until_phase("Completed")

    async def over() -> Scrape | None:
        found = await scrape(operator)
        return found if found.ones("topology_transition_phase") == [("Completed",)] else None

    last = await polling.until("the last phase is scraped", over)
    assert last["topology_transition_completed_total"][ROUTE] == 1
    for absent in ("control_plane_nodes", "etcd_members", "transition_check_status", "transition_progress_ratio"):
        assert (first[f"topology_{absent}"], last[f"topology_{absent}"]) == ({}, {}), "nobody looks then"
    written = [one.record["phase"] for one in world.server.writes if "phase" in one.record]
    left = collections.Counter(before for before, after in itertools.pairwise(written) if before != after)
    lasted = last["topology_transition_phase_duration_seconds_count"]
    assert (left["Admitting"], left["Converging"]) == (1, 1), written
    assert {phase: int(count) for (phase,), count in lasted.items()} == {
        phase: left[phase] for phase in ("Pending", "Admitting", "Converging")
    }
    assert last["controller_runtime_reconcile_total"]["topology", "success"] > 0
