"""The happy path, by writes only: a request becomes a topology, or is taken back, and what that costs.

The figures are asserted and printed (`pytest -s`), so that documentation can quote them.
"""

from __future__ import annotations

import collections
import itertools
import json
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from prometheus_client import parser

from test.component import cluster, phases
from test.unit.core import worlds
from topology_controller.report import metrics
from topology_simulator import client as clients
from topology_simulator import cluster as simulated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from test.component import process
    from test.component.world import World
    from topology_simulator.apiserver import requests

REQUESTS_TO_THE_CHANGE = 16
BASELINE_BYTES = 4 << 10


def to_the_change(asked: Iterable[requests.Record]) -> list[requests.Record]:
    """What lies on the way to the change, it included: everything up to the second write of Infrastructure.

    Our own lease and events are counted apart: the one is renewed without a request too, the others go beside the way.
    """
    found: list[requests.Record] = []
    for record in sorted(asked, key=lambda record: record.time):
        own_lease = record.resource == "leases" and record.name == cluster.OWN_LEASE
        if record.resource == "events" or own_lease:
            continue
        found.append(record)
        written = [(one.verb, one.resource, one.subresource) for one in found]
        if written.count(("patch", "infrastructures", "status")) == 2:
            return found
    raise AssertionError(f"no change among {[(one.verb, one.resource) for one in found]}")


def shown(title: str, records: Iterable[requests.Record]) -> str:
    counted = collections.Counter(
        " ".join(part for part in (one.verb, one.resource, one.subresource) if part) for one in records
    )
    return f"{title}: {counted.total()} ({', '.join(f'{number} {what}' for what, number in sorted(counted.items()))})"


@pytest.mark.on_real
async def test_a_request_becomes_a_topology(world: World) -> None:
    await world.idle_operator()
    assert (await world.record())["phase"] == "Idle"
    assert await world.reasons() == []

    await world.ask_for()
    record = await world.completed_once()

    assert world.operands.phases[-4:] == ["Idle", "Admitting", "Converging", "Completed"]
    assert (record["name"], record["target"]["controlPlane"]) == ("sno-to-ha-compact", "HighlyAvailable")
    assert record["progress"]["met"] == record["progress"]["total"] == len(worlds.COMPACT.convergence.checks)
    assert {check["status"] for check in record["checks"]} == {"Met"}
    assert record["requestedTime"] <= record["admittedTime"] <= record["completedTime"]
    assert await world.reasons() == [
        "TopologyChanged", "TransitionAdmitted", "TransitionCompleted", "TransitionRequested",
    ]  # fmt: skip
    wanted = {"Available": "True", "Progressing": "False", "Degraded": "False", "Upgradeable": "True"}
    assert {type_: (await world.condition(type_))["status"] for type_ in wanted} == wanted


async def test_from_the_request_to_the_change_are_sixteen_requests(world: World, figure: Callable[[str], None]) -> None:
    operator = await world.idle_operator()
    before = world.server.mark()

    await world.ask_for()
    await world.until_phase("Converging", "Completed")

    asked = sorted(world.server.asked(before), key=lambda record: record.time)
    way = to_the_change(asked)
    watches = sum(one.watch for one in way)
    # Two lists of nodes, one of ClusterOperators and one of pools are the live evidence; every other opens a watch.
    lists = sum(one.verb == "list" for one in way) - 4
    left = len(way) - watches - lists
    figure(shown("requests from the request to the change, with opening the watches", way))
    figure(f"of these {watches} watches and {lists} lists open the watches: {left} are left")
    assert (watches, lists) == (phases.OPEN - phases.SINGLE, phases.OPEN - phases.SINGLE + len(phases.UNSERVED))
    assert left <= REQUESTS_TO_THE_CHANGE, "\n".join(f"{one.time:.3f} {one.verb} {one.path} {one.code}" for one in way)
    await world.completed_once()
    assert operator.alive


@pytest.mark.on_real
async def test_every_visible_change_is_one_write_and_nothing_else_is_written(
    world: World, figure: Callable[[str], None]
) -> None:
    await world.idle_operator()
    world.operands.on = False
    already = len(world.server.writes)

    await world.ask_for()
    await world.until_condition("Progressing", "True", "TransitionConverging")
    await world.until_told("TransitionRequested", "TransitionAdmitted", "TopologyChanged")
    to_converging = world.server.writes[already:]
    baseline = (await world.record())["baseline"]
    assert_small_and_whole(await world.record())
    before = world.server.mark()
    await world.operands.go_on()
    assert (await world.completed_once())["baseline"] == baseline

    counted = collections.Counter(f"{one.resource} {one.subresource}" for one in world.server.writes[already:])
    events = len(await world.events())
    changes = world.server.changes(world.operands.agent, before)
    figure(f"writes from the request to Converging: {', '.join(map(str, to_converging))}")
    figure(
        f"writes from request to Completed: {dict(counted)}, events {events}, while operands changed {changes} times"
    )
    assert [str(one) for one in to_converging] == [
        "patch infrastructures/status Admitting",
        "patch clusteroperators/status",
        "patch infrastructures/status change",
        "patch clusteroperators/status",
    ]
    assert set(counted) == {"infrastructures status", "clusteroperators status"}
    # Admitting, the change, Completed; and at most one for each change that somebody can see.
    assert 3 < counted["infrastructures status"] <= 3 + changes
    assert 3 < counted["clusteroperators status"] <= counted["infrastructures status"]
    said = [one.record for one in world.server.writes[already:] if one.resource == "infrastructures"]
    assert all(said), "each write says something"
    assert all(one != after for one, after in itertools.pairwise(said)), "and nothing that was just said"
    assert events == 4
    assert len(world.server.topology_changes) == 1


def assert_small_and_whole(record: dict[str, Any]) -> None:
    """The baseline lives in two objects of the API, and names what must move."""
    baseline = record["baseline"]
    assert len(json.dumps(baseline)) <= BASELINE_BYTES
    assert {one["name"] for one in baseline["machineConfigPools"]} == {"master", "worker"}
    operands = {one["name"]: one for one in baseline["operands"]}
    assert operands["kubeapiservers.operator.openshift.io/cluster"]["revision"] == 9
    console = operands["deployments.apps/openshift-console/console"]
    assert (console["replicas"], console["ready"]) == (1, 1)
    names = {one["name"] for one in baseline["clusterOperators"]}
    assert {"kube-apiserver", "console", "ingress", "monitoring"} <= names
    assert (baseline["version"], baseline["controlPlaneObserved"]) == (simulated.VERSION, "SingleReplica")


# -- and back: a request is taken back at no cost until the topology has changed; afterwards the API says why not


@pytest.mark.on_real
async def test_while_converging_the_api_refuses_to_change_the_request(world: World) -> None:
    await phases.reach(world, "Converging")
    with pytest.raises(clients.ApiError) as refused:
        await world.ask_for(None)
    assert refused.value.code == 422
    assert "there is no way back" in refused.value.message
    assert (await world.infrastructure())["spec"]["desiredTopology"] == "HighlyAvailable"
    await world.operands.go_on()
    await world.completed_once()


# -- its numbers, as Prometheus sees them

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


async def scrape(operator: process.Operator) -> Scrape:
    status, text = await operator.ask("/metrics")
    assert status == 200, text
    return Scrape(text)


@pytest.mark.on_real
async def test_its_numbers_are_those_that_are_declared_and_of_what_is_watched(
    world: World, figure: Callable[[str], None]
) -> None:
    """What each is in which phase: test/unit/core/test_what_is_shown.py."""
    operator = await world.idle_operator()
    world.operands.on = False
    first = await scrape(operator)
    declared = {family.name for family in metrics.FAMILIES}
    assert {name for name in first.names if not name.startswith("process_")} == declared
    assert first["process_resident_memory_bytes"], "the process itself is measured"
    port = world.server.kubeconfig()["clusters"][0]["cluster"]["server"].rpartition(":")[2]
    assert {host.rpartition(":")[2] for _, host, _ in first["rest_client_requests_total"]} == {port}

    await world.ask_for()
    await world.until_phase("Converging")
    await phases.until_watching(world, phases.CONVERGING)
    moved = await scrape(operator)
    figure(f"series: {len(first.samples)} idle, {len(moved.samples)} converging")
    assert len(moved.samples) <= MOST
    assert moved["topology_transition_phase"]["Converging",] == moved["topology_transition_started_total"][ROUTE] == 1
    open_now = moved["topology_watch_last_activity_timestamp_seconds"]
    assert len(open_now) == phases.OPEN + len(phases.UNSERVED)
    assert min(open_now.values()) > 1e9, open_now
    assert moved["controller_runtime_reconcile_total"]["topology", "success"] > 0
