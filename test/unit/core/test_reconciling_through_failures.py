"""The loop when writes and reads fail, conflict, get lost or come late: topology moves once all the same."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import TYPE_CHECKING

import pytest

from topology_controller.kube import errors
from topology_controller.observe import catalog

from .clusters import INFRASTRUCTURE, Cluster, Lease, accept, running

if TYPE_CHECKING:
    from .clusters import Raw

pytestmark = pytest.mark.looptime
MOVED = {"TransitionRequested", "TransitionAdmitted", "TopologyChanged"}


def is_change(body: Raw) -> bool:
    return "controlPlaneTopology" in body.get("status", {})


def phase_of(body: Raw) -> str | None:
    found = (body.get("status") or {}).get("topologyTransition") or {}
    return found.get("phase")


async def test_a_conflict_is_read_again_and_decided_again_at_once() -> None:
    """Somebody cancels the request right before the change is sent."""
    cluster = Cluster()
    since: list[int] = []

    def cancel(where: str, body: Raw) -> None:
        if is_change(body):
            cluster.fault = accept
            cluster.ask_for(None)
            since.append(len(cluster.asked))

    cluster.fault = cancel
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(1)
        assert cluster.changes == 0
        assert cluster.topology == "SingleReplica"
        assert cluster.phase == "Idle"
        assert operator.queue.retries == 0
        assert "TransitionCancelled" in operator.told.reasons
        assert cluster.asked[since[0]] == ("get", "infrastructures"), "a watch may be behind"


async def test_a_status_writer_that_is_in_the_way_for_a_moment_costs_no_back_off() -> None:
    cluster = Cluster()
    left = 19

    def storm(where: str, body: Raw) -> None:
        nonlocal left
        if where == "infrastructures/cluster" and left:
            left -= 1
            cluster.change(INFRASTRUCTURE, {"status": {"noise": left}})

    cluster.fault = storm
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(0.5)
        assert cluster.topology == "HighlyAvailable"
        assert cluster.changes == 1
        assert operator.queue.retries == 0


async def test_twenty_conflicts_in_a_row_back_off() -> None:
    cluster = Cluster()
    cluster.limit = 20_000
    calm = False

    def storm(where: str, body: Raw) -> None:
        if where == "infrastructures/cluster" and not calm:
            cluster.change(INFRASTRUCTURE, {"status": {"noise": cluster.version}})

    cluster.fault = storm
    async with running(cluster) as operator:
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(60)
        tries = sum(asked == ("write", "infrastructures/cluster") for asked in cluster.asked)
        assert 20 <= tries <= 61 * 20, "twenty at once, then a breath"
        assert operator.queue.retries >= 1
        assert cluster.changes == 0
        calm = True
        await asyncio.sleep(60)
        assert cluster.changes == 1


@pytest.mark.parametrize("happened", [True, False])
@pytest.mark.parametrize("kind", [errors.TimedOut, errors.ServerError, errors.Unreachable, errors.Malformed])
@pytest.mark.parametrize("which", ["Admitting", "Converging"])
async def test_a_write_with_an_unknown_outcome_is_read_live_before_anything_is_written(
    which: str,
    kind: type[errors.KubeError],
    happened: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """Whether it has happened or not, and whichever of the two writes it was: topology moves, once."""
    cluster = Cluster()
    since: list[int] = []

    def lose(where: str, body: Raw) -> None:
        if not since and phase_of(body) == which:
            since.append(len(cluster.asked))
            raise cluster.error(kind)

    if happened:
        cluster.after = lose
    else:
        cluster.fault = lose
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(30)
        assert since
        afterwards = cluster.asked[since[0] :]
        first_write = next(index for index, (verb, _) in enumerate(afterwards) if verb == "write")
        assert ("get", "infrastructures") in afterwards[:first_write]
        assert (cluster.phase, cluster.topology) == ("Converging", "HighlyAvailable")
        assert cluster.changes == 1
        assert operator.queue.retries == 1


async def test_a_new_attempt_follows_a_write_whose_outcome_is_not_known() -> None:
    """Whatever was on its way belongs to an attempt that is over."""
    cluster = Cluster()
    attempts: list[str] = []

    def lose(where: str, body: Raw) -> None:
        record = (body.get("status") or {}).get("topologyTransition") or {}
        if "attempt" in record:
            attempts.append(record["attempt"])
            if len(attempts) == 1:
                raise cluster.error(errors.TimedOut)

    cluster.after = lose
    cluster.ask_for("HighlyAvailable")
    async with running(cluster):
        await asyncio.sleep(30)
        assert len(attempts) == 2
        assert attempts[0] != attempts[1]
        assert cluster.objects[INFRASTRUCTURE]["status"]["topologyTransition"]["attempt"] == attempts[1]


@pytest.mark.parametrize("kind", [errors.Conflict, errors.TimedOut, errors.Throttled])
async def test_a_report_that_fails_after_the_change_loses_no_event(kind: type[errors.KubeError]) -> None:
    cluster = Cluster()
    failed: list[str] = []

    def refuse(where: str, body: Raw) -> None:
        if where == "clusteroperators/topology" and cluster.changes and not failed:
            failed.append(where)
            raise cluster.error(kind)

    cluster.fault = refuse
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(30)
        assert failed
        assert set(operator.told.reasons) == MOVED
        assert len(operator.told.reasons) == 3
        assert cluster.condition("Progressing") == ("True", "TransitionConverging")


async def test_a_report_that_is_refused_keeps_topology_from_moving() -> None:
    """Without our word in ClusterOperator nobody holds upgrades back."""
    cluster = Cluster()

    def refuse(where: str, body: Raw) -> None:
        if where.startswith("clusteroperators"):
            raise cluster.error(errors.Forbidden, 403)

    cluster.fault = refuse
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(600)
        assert cluster.changes == 0
        assert len(cluster.asked) < 200, "no hot loop"
        assert operator.queue.retries > 3


async def test_live_evidence_that_differs_holds_it_without_a_hot_loop() -> None:
    """A watch that is behind says that all is well; what is read live says otherwise."""
    cluster = Cluster()
    key = ("schedulers", None, "cluster")

    def behind(where: str) -> None:
        if where == "schedulers/cluster":
            cluster.objects[key]["spec"]["mastersSchedulable"] = False

    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        cluster.before_get = behind
        for _ in range(40):
            cluster.objects[key]["spec"]["mastersSchedulable"] = True
            await asyncio.sleep(5)
        assert cluster.changes == 0
        holds = operator.loop.decisions
        assert holds < 60, holds
        cluster.before_get = accept
        cluster.objects[key]["spec"]["mastersSchedulable"] = True
        await asyncio.sleep(61)
        assert cluster.changes == 1


async def test_a_last_read_that_fails_for_a_while_is_tried_again_by_itself() -> None:
    """No watch brings news meanwhile: nobody but the loop can ask again."""
    cluster = Cluster()
    refused = 0

    def away(where: str) -> None:
        nonlocal refused
        if where == "infrastructures/cluster":
            refused += 1
            raise errors.Forbidden("get", catalog.INFRASTRUCTURES, None, "cluster", 403, "Forbidden", "refused")

    async with running(cluster):
        await asyncio.sleep(1)
        cluster.before_get = away
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(120)
        assert (cluster.phase, cluster.changes) == ("Admitting", 0)
        assert 2 <= refused < 20, refused
        cluster.before_get = accept
        await asyncio.sleep(61)
        assert (cluster.phase, cluster.changes) == ("Converging", 1)


async def test_a_lease_about_to_run_out_voids_the_change_and_a_later_try_succeeds() -> None:
    cluster, lease = Cluster(), Lease()

    def running_out(where: str) -> None:
        if where == "infrastructures/cluster":
            lease.left = 3.0

    cluster.before_get = running_out
    cluster.ask_for("HighlyAvailable")
    async with running(cluster, lease) as operator:
        await asyncio.sleep(20)
        assert cluster.changes == 0
        assert "TopologyChanged" not in operator.told.reasons
        assert operator.metrics.registry.get_sample_value("topology_transition_phase", {"phase": "Converging"}) == 0
        assert operator.metrics.registry.get_sample_value("topology_transition_started_timestamp_seconds") == 0
        cluster.before_get = accept
        lease.left = 100.0
        await asyncio.sleep(61)
        assert cluster.changes == 1
        assert set(operator.told.reasons) == MOVED


@pytest.mark.parametrize("seed", range(5))
async def test_two_operators_at_once_move_it_once(seed: int) -> None:
    """Without a lease between them, as if both held it."""
    cluster = Cluster()
    drawn = random.Random(seed)  # noqa: S311 - latency is not cryptography
    cluster.latency = lambda: drawn.uniform(0.001, 0.02)
    async with running(cluster), running(cluster):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(120)
        assert cluster.changes == 1
        assert cluster.phase == "Converging"


@pytest.mark.parametrize("writes", range(1, 9))
async def test_killed_between_any_two_writes_and_started_again(writes: int) -> None:
    """The transition ends as if nothing had happened, and topology was written once."""

    class Killed(BaseException):
        """The process is gone."""

    cluster = Cluster()
    done = 0

    def kill(where: str, body: Raw) -> None:
        nonlocal done
        done += 1
        if done == writes:
            raise Killed

    cluster.after = kill
    cluster.ask_for("HighlyAvailable")
    with contextlib.suppress(Killed):
        async with running(cluster):
            await asyncio.sleep(3)
            cluster.follow()
            await asyncio.sleep(120)
    assert done == writes, "it was killed"
    cluster.after = accept
    async with running(cluster):
        await asyncio.sleep(5)
        cluster.follow("rendered-3")
        await asyncio.sleep(120)
    assert cluster.phase == "Completed"
    assert cluster.changes == 1


async def test_a_new_leader_reads_what_the_last_one_wrote_and_waits_for_it() -> None:
    """Its watch may lag behind. What it cannot read and has from before it does not believe."""
    cluster = Cluster()
    away = True

    def refuse(where: str) -> None:
        if away and where == "clusteroperators/topology":
            raise cluster.error(errors.Unreachable, 0, "get")

    async with running(cluster):
        await asyncio.sleep(1)
    cluster.before_get = refuse
    cluster.ask_for("HighlyAvailable")
    async with running(cluster) as operator:
        await asyncio.sleep(10)
        assert (operator.loop.decisions, cluster.phase) == (0, "Idle")
        away = False
        await asyncio.sleep(10)
        assert cluster.phase == "Converging"
