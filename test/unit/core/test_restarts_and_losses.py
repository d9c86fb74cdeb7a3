"""The loop through what happens to it: restarted, its objects deleted, its record dropped, its work overwritten.

In every phase of a transition, on a cluster in memory, in virtual time.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from topology_api import crd
from topology_controller.kube import errors

from . import worlds
from .clusters import INFRASTRUCTURE, OPERATOR, Cluster, accept, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from .clusters import Raw, Running

PHASES = ["Idle", "Unsupported", "Pending", "Admitting", "Converging", "Completed"]
DEFINITION = ("customresourcedefinitions", None, crd.NAME)
SCHEDULER = ("schedulers", None, "cluster")
FREE: Raw = {"spec": {"mastersSchedulable": True}}
pytestmark = pytest.mark.looptime


async def arrive(cluster: Cluster, phase: str) -> None:
    """Let the cluster come to that phase; the operator runs."""
    if phase == "Unsupported":
        cluster.ask_for("DualReplica")
    elif phase != "Idle":
        if phase == "Pending":
            cluster.change(SCHEDULER, {"spec": {"mastersSchedulable": False}})
        cluster.echo = phase != "Admitting"
        cluster.ask_for("HighlyAvailable")
    await asyncio.sleep(2)
    if phase == "Completed":
        cluster.follow()
        await asyncio.sleep(63)
    assert cluster.phase == phase


async def finish(cluster: Cluster, phase: str) -> None:
    """Take away what keeps it and see it through."""
    if phase in {"Idle", "Unsupported"}:
        cluster.ask_for("HighlyAvailable")
    cluster.change(SCHEDULER, FREE)
    if phase == "Admitting":
        cluster.echo = True
        cluster._echo()
    await asyncio.sleep(2)
    if phase != "Completed":
        assert cluster.phase == "Converging"
        cluster.follow()
        await asyncio.sleep(63)
    assert (cluster.phase, cluster.changes) == ("Completed", 1)
    assert cluster.condition("Upgradeable") == ("True", "AsExpected")


@contextlib.asynccontextmanager
async def at(phase: str) -> AsyncIterator[tuple[Cluster, Running]]:
    cluster = Cluster()
    async with running(cluster) as operator:
        await asyncio.sleep(1)
        await arrive(cluster, phase)
        yield cluster, operator


@pytest.mark.parametrize("phase", PHASES)
async def test_evicted_and_started_again_it_goes_on_from_there(phase: str) -> None:
    async with at(phase) as (cluster, _):
        before = cluster.record
    await asyncio.sleep(137)
    writes = len(cluster.writes)
    async with running(cluster):
        await asyncio.sleep(2)
        after = cluster.record
        assert after["phase"] == phase
        for kept in ("requestedTime", "phaseTransitionTime", "admittedTime", "baseline", "source", "target"):
            assert after.get(kept) == before.get(kept), kept
        if phase == "Admitting":
            assert after["attempt"] != before["attempt"], "a new leader, a new attempt"
        else:
            assert after.get("attempt") == before.get("attempt")
            assert len(cluster.writes) == writes, "a restart alone is no news"
        await finish(cluster, phase)


@pytest.mark.parametrize("phase", PHASES)
async def test_a_cluster_operator_deleted_by_hand_is_made_again_and_nothing_else_changes(phase: str) -> None:
    async with at(phase) as (cluster, _):
        before = cluster.record
        said = [(item["type"], item["status"], item["reason"]) for item in conditions(cluster)]
        extension = cluster.objects[OPERATOR]["status"].get("extension")
        cluster.delete(OPERATOR)
        await asyncio.sleep(2)
        assert [(item["type"], item["status"], item["reason"]) for item in conditions(cluster)] == said
        assert cluster.objects[OPERATOR]["status"].get("extension") == extension
        assert cluster.record == before
        await finish(cluster, phase)


async def test_a_report_and_a_record_that_are_taken_while_it_runs_are_both_made_again() -> None:
    async with at("Converging") as (cluster, _):
        before = cluster.record
        cluster.delete(OPERATOR)
        cluster.change(INFRASTRUCTURE, {"status": {"topologyTransition": None}})
        await asyncio.sleep(2)
        for kept in ("phase", "attempt", "baseline"):
            assert cluster.record[kept] == before[kept] == cluster.objects[OPERATOR]["status"]["extension"][kept], kept
        await finish(cluster, "Converging")


@pytest.mark.parametrize("readable", [True, False])
async def test_while_the_server_drops_every_record_nothing_moves_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture, *, readable: bool
) -> None:
    cluster = Cluster()
    cluster.put(DEFINITION, crd.infrastructure(worlds.ONLY_COMPACT.edges()))
    cluster.ask_for("HighlyAvailable")

    def drop(where: str, body: Raw) -> None:
        if where == "infrastructures/cluster":
            del body["status"]["topologyTransition"]

    def refuse(where: str) -> None:
        if where == f"{DEFINITION[0]}/{DEFINITION[2]}":
            raise cluster.error(errors.Forbidden, 403, "get")

    cluster.fault = drop
    if not readable:
        cluster.before_get = refuse
    async with running(cluster) as operator:
        await asyncio.sleep(60)
        assert (cluster.topology, cluster.record) == ("SingleReplica", {})
        assert 2 < operator.queue.retries < 20, "it goes on trying, later each time"
        (said,) = {text.partition("; trying")[0] for text in caplog.messages if "dropped" in text}
        assert said.startswith("the server dropped the record; ")
        assert ("although the CRD has its fields" in said) is readable
        assert ("is unknown: customresourcedefinitions" in said) is not readable
        cluster.fault = accept
        await asyncio.sleep(120)
        assert (cluster.changes, cluster.phase) == (1, "Converging")


@pytest.mark.parametrize("write", range(1, 7))
@pytest.mark.parametrize("desired", [None, "SingleReplica", "DualReplica"])
async def test_a_request_that_changes_at_any_instant_either_comes_too_late_or_never_moves_anything(
    write: int, desired: str | None
) -> None:
    """Changed right before the nth write is sent. After the change the API would refuse it; the record leads."""
    cluster = Cluster()
    done = 0

    def change(_where: str, _body: Raw) -> None:
        nonlocal done
        done += 1
        if done == write:
            cluster.ask_for(desired)

    cluster.fault = change
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(30)
        if cluster.changes:
            assert (cluster.phase, cluster.topology) == ("Converging", "HighlyAvailable")
        else:
            assert cluster.topology == "SingleReplica"
            assert cluster.phase == ("Unsupported" if desired == "DualReplica" else "Idle")
        assert cluster.changes <= 1
        if done < write:
            assert cluster.changes == 1


def conditions(cluster: Cluster) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cluster.objects[OPERATOR]["status"]["conditions"]
    return found
