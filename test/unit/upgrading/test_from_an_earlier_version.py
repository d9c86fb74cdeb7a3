"""A newer operator goes on from what an earlier one has left, in every phase; nothing moves that had not moved."""

from __future__ import annotations

import asyncio
import copy
from datetime import timedelta

import pytest
from test.unit.core import clusters, worlds
from test.unit.upgrading import stored

from topology_api import served
from topology_api.types import RecordCopy, TopologyTransition
from topology_api.vocabulary import CheckName, Phase
from topology_controller.definitions import load
from topology_controller.observe import catalog, facts

KEPT = ("attempt", "name", "source", "target", "requestedTime", "phaseTransitionTime", "admittedTime", "completedTime")
SCHEDULER = ("schedulers", None, "cluster")
LATER = 120
"""Seconds after which the next version starts: what was left has happened by then."""
API_SERVER = ("kubeapiservers", None, "cluster")


EVERY = [
    (version, phase) for version in stored.VERSIONS for phase in stored.PHASES if stored.wrote_otherwise(version, phase)
]


@pytest.mark.parametrize(("version", "phase"), EVERY)
def test_its_record_and_the_copy_of_it_are_understood(version, phase):
    made = stored.cluster(version, phase)
    seen = catalog.Sources.infrastructure.reduce(made.objects[clusters.INFRASTRUCTURE])
    own = catalog.Sources.own_operator.reduce(made.objects[clusters.OPERATOR])
    assert isinstance(seen.record, TopologyTransition)
    assert seen.record.phase is Phase(phase)
    assert isinstance(own.copy, RecordCopy)
    assert own.copy.phase is Phase(phase)
    # Nothing of it is lost on the way: what this version reads is what it would write.
    written = seen.record.to_api()
    assert {key: written.get(key) for key in stored.record(version, phase)} == stored.record(version, phase)


@pytest.mark.looptime
@pytest.mark.parametrize(("version", "phase"), EVERY)
async def test_it_goes_on_from_there(version, phase):
    made, before = stored.cluster(version, phase), stored.record(version, phase)
    made.echo = phase != "Admitting"
    if phase == "Pending":
        made.change(SCHEDULER, {"spec": {"mastersSchedulable": False}})
    changes = made.changes
    await asyncio.sleep(LATER)
    async with clusters.running(made):
        await asyncio.sleep(5)
        after = made.record
        assert (made.phase, made.changes) == (phase, changes)
        for key in KEPT:
            # A new leader, a new attempt; all else belongs to the transition.
            if (phase, key) != ("Admitting", "attempt"):
                assert after.get(key) == before.get(key), key
        assert made.condition("Degraded") == ("False", "AsExpected")
        assert made.objects[clusters.OPERATOR]["status"]["versions"] == [{"name": "operator", "version": "1.2.3"}]


@pytest.mark.looptime
@pytest.mark.parametrize("version", stored.VERSIONS)
@pytest.mark.parametrize("phase", ["Pending", "Admitting"])
async def test_what_had_not_moved_moves_once_everything_is_proven_again(version, phase):
    made = stored.cluster(version, phase)
    await asyncio.sleep(LATER)
    async with clusters.running(made):
        await asyncio.sleep(5)
        assert (made.phase, made.topology, made.changes) == ("Converging", "HighlyAvailable", 1)
        made.follow()
        await asyncio.sleep(65)
        assert (made.phase, made.changes) == ("Completed", 1)


@pytest.mark.looptime
async def test_what_an_old_baseline_does_not_say_is_asked_for_its_present_state():
    made = stored.cluster("pools-only", "Converging")
    await asyncio.sleep(LATER)
    async with clusters.running(made):
        made.follow()
        revisions = made.objects[API_SERVER]["status"]
        behind = copy.deepcopy(revisions["nodeStatuses"])
        behind[0]["currentRevision"] -= 1
        made.change(API_SERVER, {"status": {"nodeStatuses": behind}})
        await asyncio.sleep(400)
        unmet = {check["name"] for check in made.record["checks"] if check["status"] != "Met"}
        assert (made.phase, made.changes, unmet) == ("Converging", 0, {"KubeAPIServerRevision"})
        assert made.condition("Degraded") == ("False", "AsExpected"), "it is late, not unreadable"
        made.change(API_SERVER, {"status": revisions})
        await asyncio.sleep(65)
        assert (made.phase, made.changes) == ("Completed", 0)


@pytest.mark.parametrize(
    ("version", "lacking"),
    [
        ("pools-only", ["status.topologyTransition.accepted", "status.topologyTransition.baseline.operands"]),
        ("operands", ["status.topologyTransition.accepted"]),
    ],
)
def test_the_definition_of_an_earlier_version_is_told_by_the_fields_that_it_lacks(version, lacking):
    found = served.lacking(stored.definition(version))
    for field in lacking:
        assert field in found
    known = worlds.healthy(installed=facts.Installed(found))
    decided = worlds.decide(known, now=worlds.NOW + timedelta(seconds=1))
    assert decided.degraded is not None
    assert decided.degraded.reason == "APINotInstalled"
    assert lacking[0] in decided.degraded.message
    assert "manifests --crd-patch" in decided.degraded.message
    assert not decided.level, "the number of this version is not claimed before its fields are there"


@pytest.mark.looptime
async def test_a_pending_request_is_judged_once_by_the_definitions_of_the_next_version():
    """The one before had another name for it, and asked more of nodes: the record does not go to and fro."""
    specs = tuple(
        spec.model_copy(update={"min_cpus": 512}) if spec.check is CheckName.CONTROL_PLANE_NODES else spec
        for spec in worlds.COMPACT.preflight
    )
    older = worlds.COMPACT.model_copy(update={"name": "sno-to-ha-compact-of-before", "preflight": specs})
    made = clusters.Cluster()
    made.change(SCHEDULER, {"spec": {"mastersSchedulable": False}})
    made.ask_for("HighlyAvailable")
    async with clusters.running(made, transitions=load.Transitions((older,), worlds.MATRIX)):
        await asyncio.sleep(5)
        before = made.record
        assert (before["phase"], before["name"]) == ("Pending", older.name)
        assert "of 512 CPUs" in str(before["checks"])
    async with clusters.running(made):
        await asyncio.sleep(5)
        after = made.record
        assert (after["phase"], after["name"], after["requestedTime"]) == (
            "Pending", "sno-to-ha-compact", before["requestedTime"],
        )  # fmt: skip
        assert "512" not in str(after["checks"])
        made.change(SCHEDULER, {"spec": {"mastersSchedulable": True}})
        await asyncio.sleep(5)
        assert (made.phase, made.changes) == ("Converging", 1)
