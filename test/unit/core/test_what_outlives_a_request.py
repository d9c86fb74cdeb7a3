"""The last transition, and what it left to do: both survive the removal of its request, and nothing else does."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from topology_api.types import LastTransition
from topology_api.vocabulary import AdvisoryName, CheckName, CheckStatus, Phase
from topology_controller.checks import advisories
from topology_controller.observe import facts

from . import raw_operands, worlds
from .clusters import OPERATOR, Cluster, running, virtual_now

if TYPE_CHECKING:
    from topology_api.types import TopologyTransition
    from topology_controller.decide.decision import Decision

AFTER = worlds.NOW + timedelta(minutes=2)
DNSMASQ = ("machineconfigs", None, "50-master-dnsmasq-configuration")
LEFT = ["DnsmasqConfigurationLeft", "TopologyReadAtStart", "EtcdBackupOutdated"]


def last(decision: Decision) -> LastTransition | None:
    assert decision.record is not None
    return decision.record.last_transition


def done(record: TopologyTransition | None = None) -> facts.Facts:
    """A cluster whose transition has completed a while ago."""
    return worlds.moved(worlds.converged(worlds.healthy(AFTER)), record or worlds.completed())


# The last transition


def test_it_stays_in_every_phase_until_the_next_one_completes() -> None:
    before = LastTransition(name="other", source=worlds.HA, target=worlds.SNO, completed_time=worlds.NOW)
    idle = worlds.decide(worlds.with_infrastructure(worlds.healthy(), desired=None), worlds.term(available=())).record
    assert idle is not None
    known = worlds.recorded(worlds.healthy(), idle.model_copy(update={"last_transition": before}))
    pending = worlds.decide(dataclasses.replace(known, scheduler=facts.Scheduler(masters_schedulable=False)))
    unsupported = worlds.decide(worlds.with_infrastructure(known, desired="DualReplica"))
    admitting = worlds.decide(known, worlds.term(next_attempt="mine"))
    live = dataclasses.replace(worlds.recorded(known, admitting.record), live=True)
    converging = worlds.decide(live, worlds.term(attempt="mine"))
    back = worlds.decide(
        worlds.with_infrastructure(worlds.recorded(known, pending.record), desired=None), worlds.term(available=())
    )
    steps = (pending, unsupported, admitting, converging, back)
    phases = [Phase.PENDING, Phase.UNSUPPORTED, Phase.ADMITTING, Phase.CONVERGING, Phase.IDLE]
    assert [found.phase for found in steps] == phases
    assert [last(found) for found in steps] == [before] * 5
    first = worlds.decide(done(converging.record), now=AFTER)
    ended = last(worlds.decide(done(first.record), now=AFTER + timedelta(seconds=62)))
    assert ended is not None
    assert ended.name == "sno-to-ha-compact"


# What is left to do


def test_what_was_advised_for_a_request_goes_with_it() -> None:
    known = worlds.healthy(dnsmasq=facts.Present(), scheduler=facts.Scheduler(masters_schedulable=False))
    pending = worlds.decide(known).record
    assert pending is not None
    assert [item.name for item in pending.advisories] == ["DnsmasqConfigurationLeft"]
    before = LastTransition(name="other", source=worlds.HA, target=worlds.SNO)
    for record in (pending, pending.model_copy(update={"last_transition": before})):
        cancelled = worlds.with_infrastructure(worlds.recorded(known, record), desired=None, generation=3)
        found = worlds.decide(cancelled, worlds.term(available=()))
        assert found.record is not None
        assert (found.phase, found.record.advisories) == (Phase.IDLE, ())
        assert last(found) == record.last_transition


# Nothing that the machines do by themselves


@pytest.mark.parametrize(
    ("status", "late", "shown"),
    [
        (CheckStatus.UNMET, False, False),
        (CheckStatus.UNKNOWN, False, False),
        (CheckStatus.MET, False, True),
        (None, False, True),
        (CheckStatus.UNMET, True, True),
    ],
    ids=["rolling out", "not known", "rolled out", "nothing rolls out", "past the deadline"],
)
def test_a_restart_is_advised_once_the_machines_have_restarted(
    status: CheckStatus | None,
    late: bool,  # noqa: FBT001 - a column of the table
    shown: bool,  # noqa: FBT001 - a column of the table
) -> None:
    record = worlds.converging()
    pools = next(check for check in record.checks if check.name == CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT)
    others = tuple(check for check in record.checks if check is not pools)
    kept = others if status is None else (*others, pools.model_copy(update={"status": status}))
    record = record.model_copy(update={"checks": kept})
    assert record.deadline_time is not None
    now = record.deadline_time if late else record.deadline_time - timedelta(seconds=1)
    advised = advisories.advise(worlds.moved(worlds.healthy(), record), worlds.HA, worlds.MATRIX, record, now)
    assert (AdvisoryName.TOPOLOGY_READ_AT_START in [item.name for item in advised]) is shown


def test_the_change_itself_advises_no_restart() -> None:
    """The machines restart in the next minutes, and the operators with them."""
    assert AdvisoryName.TOPOLOGY_READ_AT_START not in [item.name for item in worlds.converging().advisories]
    rolled = worlds.decide(done(worlds.converging()), now=AFTER).record
    assert rolled is not None
    assert AdvisoryName.TOPOLOGY_READ_AT_START in [item.name for item in rolled.advisories]


# On a cluster


def advised(cluster: Cluster) -> list[str]:
    return [item["name"] for item in cluster.record.get("advisories", [])]


async def completed(cluster: Cluster) -> None:
    await asyncio.sleep(1)
    cluster.ask_for("HighlyAvailable")
    await asyncio.sleep(2)
    cluster.follow()
    await asyncio.sleep(65)
    assert (cluster.phase, advised(cluster)) == ("Completed", LEFT)


def mend(cluster: Cluster) -> None:
    """Do everything that is left to do."""
    cluster.delete(DNSMASQ)
    stamp = raw_operands.stamp(virtual_now())
    for reader in worlds.MATRIX.startup_readers:
        cluster.delete(("pods", reader.namespace, f"{reader.operator}-1"))
        label, _, value = reader.selector.partition("=")
        metadata = {"labels": {label: value}, "creationTimestamp": stamp}
        cluster.put(("pods", reader.namespace, f"{reader.operator}-2"), {"metadata": metadata})
    cluster.change(OPERATOR, {"metadata": {"annotations": {"topology.openshift.io/etcd-backup-taken": stamp}}})


@pytest.mark.looptime
async def test_what_is_left_survives_the_request_and_goes_when_it_is_done() -> None:
    cluster = Cluster()
    cluster.put(DNSMASQ, {})
    async with running(cluster):
        await completed(cluster)
        cluster.ask_for(None)
        await asyncio.sleep(2)
        record = cluster.record
        assert (record["phase"], advised(cluster)) == ("Idle", LEFT)
        assert record["lastTransition"]["name"] == "sno-to-ha-compact"
        assert "Left to do" in record["message"]
        mend(cluster)
        await asyncio.sleep(3700)
        assert (cluster.phase, advised(cluster)) == ("Idle", [])
        assert cluster.record["message"] == "No topology is requested"
        asked, writes = len(cluster.asked), len(cluster.writes)
        await asyncio.sleep(2 * 3600)
        assert len(cluster.writes) == writes
        assert ("list", "pods") not in cluster.asked[asked:], "what is done is not looked at again"
