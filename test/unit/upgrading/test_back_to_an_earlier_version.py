"""An operator that finds what a newer version has left: it does not crash, moves nothing, and says what it found."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest
from test.unit.core import clusters, worlds
from test.unit.upgrading import stored

from topology_api.types import TopologyTransition
from topology_api.vocabulary import Phase, Reason
from topology_controller.decide.state import Step
from topology_controller.observe import catalog, facts
from topology_controller.report import clusteroperator

Raw = dict[str, Any]
LATER = 120
UNKNOWN = "Rehearsing"
TAKE_OUT = (
    """oc patch infrastructure cluster --subresource=status --type merge -p '{"status":{"topologyTransition":null}}'"""
)


def newer(was: str, /, **changes: Any) -> clusters.Cluster:
    """The cluster with a record of a later version, in both places, that differs so from one of ours."""
    made = stored.cluster("operands", was)
    made.change(clusters.INFRASTRUCTURE, {"status": {"topologyTransition": copy.deepcopy(changes)}})
    head = {key: value for key, value in changes.items() if key not in {"checks", "progress", "advisories"}}
    made.change(clusters.OPERATOR, {"status": {"extension": head}})
    return made


def check(**changes: str) -> Raw:
    return {
        "stage": "Preflight", "name": "EtcdHealthy", "status": "Met", "message": "m",
        "lastTransitionTime": "2026-03-01T12:00:01Z", **changes,
    }  # fmt: skip


# -- what does not matter


@pytest.mark.looptime
@pytest.mark.parametrize("phase", stored.PHASES)
async def test_fields_and_names_that_are_not_known_do_not_matter(phase):
    foreign = [check(stage="Rehearsal"), check(status="Waived")]
    known = [*stored.record("operands", phase).get("checks", ()), check(name="MoonPhase", inventedLater="x")]
    advisories = [{"name": "N", "message": "m", "command": "c"}]
    made = newer(phase, inventedLater={"a": [1]}, checks=[*foreign, *known], advisories=advisories)
    seen = catalog.Sources.infrastructure.reduce(made.objects[clusters.INFRASTRUCTURE]).record
    assert isinstance(seen, TopologyTransition)
    assert len(seen.checks) == len(known), "answers of another kind are left out"
    await asyncio.sleep(LATER)
    if phase == "Pending":
        made.change(("schedulers", None, "cluster"), {"spec": {"mastersSchedulable": False}})
    made.echo = phase != "Admitting"
    async with clusters.running(made):
        await asyncio.sleep(5)
        assert (made.phase, made.changes) == (phase, 0)
        assert made.condition("Degraded") == ("False", "AsExpected")


@pytest.mark.looptime
async def test_a_transition_of_a_definition_that_is_not_known_is_left_and_named():
    made = newer("Converging", name="sno-to-moon")
    await asyncio.sleep(LATER)
    async with clusters.running(made):
        made.follow()
        await asyncio.sleep(400)
        assert (made.phase, made.changes, made.record["name"]) == ("Converging", 0, "sno-to-moon")
        assert made.condition("Degraded") == ("True", "TransitionStuck")
        assert "Install the version that started it" in made.says("Degraded")
        assert made.condition("Upgradeable") == ("False", "TransitionInProgress")


# -- a phase that is not known


@pytest.mark.looptime
@pytest.mark.parametrize("phase", stored.PHASES)
async def test_in_a_phase_that_is_not_known_nothing_is_written_and_nothing_moves(phase):
    made = newer(phase, phase=UNKNOWN)
    before = made.record
    made.objects[clusters.OPERATOR]["status"]["versions"] = [{"name": "operator", "version": "9.9.9"}]
    await asyncio.sleep(LATER)
    async with clusters.running(made):
        made.ask_for("HighlyAvailable")
        await asyncio.sleep(7200)
        assert made.record == before
        assert made.changes == 0
        assert made.condition("Degraded") == ("True", "EvidenceUnreadable")
        assert f"phase {UNKNOWN}, which this version does not know" in made.says("Degraded")
        assert TAKE_OUT in made.says("Degraded")
        assert made.condition("Upgradeable")[0] == "False", "something may be under way"
        status = made.objects[clusters.OPERATOR]["status"]
        assert status["versions"] == [{"name": "operator", "version": "9.9.9"}], "not level: its number is not claimed"
        assert status["extension"]["phase"] == UNKNOWN
        assert len([where for where, _ in made.writes if where.startswith("clusteroperators")]) == 1, "said once"


@pytest.mark.looptime
async def test_the_way_out_that_is_said_leads_out():
    made = newer("Pending", phase=UNKNOWN)
    await asyncio.sleep(LATER)
    async with clusters.running(made):
        await asyncio.sleep(2)
        assert TAKE_OUT in made.says("Degraded")
        assert made.changes == 0
        made.change(clusters.INFRASTRUCTURE, {"status": {"topologyTransition": None}})
        await asyncio.sleep(5)
        assert (made.phase, made.changes) == ("Converging", 1), "decided from the start, and proven"
        assert made.condition("Degraded") == ("False", "AsExpected")


@pytest.mark.looptime
async def test_a_copy_in_a_phase_that_is_not_known_halts_nobody():
    """Its record is gone: after the change everything is proven again, before it is decided from the start."""
    made = newer("Converging", phase=UNKNOWN)
    made.change(clusters.INFRASTRUCTURE, {"status": {"topologyTransition": None}})
    await asyncio.sleep(LATER)
    async with clusters.running(made):
        await asyncio.sleep(5)
        assert (made.phase, made.changes) == ("Converging", 0)
        assert made.condition("Upgradeable") == ("False", "TransitionInProgress")
        made.follow()
        await asyncio.sleep(70)
        assert (made.phase, made.changes) == ("Completed", 0)
        assert made.condition("Degraded") == ("False", "AsExpected")


@pytest.mark.parametrize("desired", [None, "HighlyAvailable"])
@pytest.mark.parametrize("live", [False, True])
def test_a_record_in_a_phase_that_is_not_known_is_only_reported(live, desired):
    record = facts.Newer("i", "w", phase=UNKNOWN, name=worlds.COMPACT.name, target="HighlyAvailable")
    known = worlds.with_infrastructure(worlds.healthy(live=live), record=record, desired=desired)
    decided = worlds.decide(known)
    assert (decided.steps, decided.phase, decided.record) == ((Step.REPORT,), Phase.UNSUPPORTED, None)
    assert decided.degraded is not None
    assert decided.degraded.reason is Reason.EVIDENCE_UNREADABLE
    assert decided.upgrade_block == worlds.BLOCK


def test_a_phase_without_a_time_is_nonsense_and_not_news_from_the_future():
    record = stored.record("operands", "Pending") | {"phase": UNKNOWN}
    raw = clusters.Cluster().objects[clusters.INFRASTRUCTURE]
    for broken in ({**record, "phaseTransitionTime": None}, {"phase": UNKNOWN}, record | {"phase": "no word"}):
        found = catalog.Sources.infrastructure.reduce(raw | {"status": raw["status"] | {"topologyTransition": broken}})
        assert isinstance(found.record, facts.Unobserved)
        assert not isinstance(found.record, facts.Newer)


# -- the number of the version


@pytest.mark.parametrize(
    ("known", "level"),
    [
        (worlds.healthy(), True),
        (worlds.recorded(worlds.healthy(), worlds.converging()), True),
        (worlds.healthy(installed=facts.Installed("x has no y")), False),
        (worlds.with_infrastructure(worlds.healthy(), record=facts.Newer("i", "w", phase=UNKNOWN)), False),
        (worlds.with_infrastructure(worlds.healthy(), control_plane="External"), True),
    ],
    ids=["pending", "overwritten", "old definition", "newer record", "hosted"],
)
@pytest.mark.parametrize("before", [None, "0.0.9"])
def test_a_version_is_claimed_once_it_can_do_its_work_here(known, level, before):
    said = [{"name": "operator", "version": before}] if before else None
    own = worlds.own(status={"versions": said} if said else {})
    decided = worlds.decide(known)
    assert Step.REPORT in decided.steps
    found = clusteroperator.status(decided, own, now=worlds.NOW, version="0.1.0", namespace="ns")
    assert found["versions"] == ([{"name": "operator", "version": "0.1.0"}] if level else said or [])
