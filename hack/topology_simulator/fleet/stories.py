"""The stories of a fleet: what happens to it, and what must hold. The engines decide; nothing here rolls out.

Each is a function of an open fleet and a verdict: it does what people, power and networks do, waits for what the
engines make of it, and claims. What is waited for and does not come ends the story as failed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import chronicle, claims, engines, hands, pack, spoke, verdict, wire

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from . import running

    Play = Callable[[running.Fleet, verdict.Verdict], Awaitable[None]]

_READY_SECONDS, _CONVERSION_SECONDS, _STUCK_SECONDS = 90.0, 240.0, 240.0
_QUIET_SECONDS = 15.0
"""How long nothing may happen where nothing is to happen: the work manager looks again within seconds."""
_SOAK_SECONDS = 5
_PENDING_SECONDS = 60
"""The progress deadline of a roll-out that is to run out of time; a transition takes a tenth of it."""
_SHORT_SECONDS = 40
"""Less than the operator's own deadline, so that a cluster is out of time before it has failed. With a mandatory group
either stops the roll-out, whatever maxFailures is (OCM 1.2: sdk-go, progressivePerGroup looks at every cluster)."""
_HELD = "console"


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A story. `deadline_minutes` is when its transitions are overdue, None for what the definitions say.

    `masters` are the control-plane nodes of clusters that have not three of them.
    """

    summary: str
    play: Play
    deadline_minutes: int | None = None
    least_spokes: int = 2
    masters: Mapping[str, int] | None = None


async def _canary_then_wave(fleet: running.Fleet, judged: verdict.Verdict) -> None:
    before = await _prepared(fleet)
    await fleet.hub.apply(pack.rollout(_plan()))
    await _all_done(fleet)
    claims.canary_alone(fleet, judged, _SOAK_SECONDS)
    claims.one_at_a_time(fleet, judged)
    await claims.converted(judged, fleet.spokes)
    await claims.least_writes(fleet, judged, before)


async def _canary_stuck(fleet: running.Fleet, judged: verdict.Verdict) -> None:
    await _stuck(fleet, judged, [fleet.canary])


async def _wave_stuck(fleet: running.Fleet, judged: verdict.Verdict) -> None:
    await _stuck(fleet, judged, [fleet.canary, fleet.others[0]])


async def _stuck(fleet: running.Fleet, judged: verdict.Verdict, clusters: Sequence[spoke.Spoke]) -> None:
    """Let the last of these clusters never end; it and those before it are asked, and no other."""
    *_, stuck = clusters
    before = await _prepared(fleet)
    stuck.box.actors.hold(_HELD)
    await fleet.hub.apply(pack.rollout(_plan(deadline_seconds=_SHORT_SECONDS)))
    fleet.chronicle.tell("story", f"operator {_HELD} of {stuck.name} does not react; the deadline is a minute")
    await _came(fleet, chronicle.FAILED, [stuck], _STUCK_SECONDS)
    problem = spoke.record_of(await stuck.infrastructure()).get("problem") or {}
    judged.claim(f"the problem of {stuck.name} is Stuck", holds=problem.get("reason") == "Stuck", actual=problem)
    await asyncio.sleep(_QUIET_SECONDS)
    claims.nobody_but(fleet, judged, f"{_QUIET_SECONDS:g} s after {stuck.name} has failed", clusters)
    stuck.box.actors.release(_HELD)
    fleet.chronicle.tell("story", f"operator {_HELD} of {stuck.name} reacts again")
    await _all_done(fleet)
    claims.canary_alone(fleet, judged, _SOAK_SECONDS)
    await claims.converted(judged, fleet.spokes)
    await claims.least_writes(fleet, judged, before)


async def _canary_lost(fleet: running.Fleet, judged: verdict.Verdict) -> None:
    before = await _prepared(fleet)
    await fleet.hub.apply(pack.rollout(_plan()))
    await _came(fleet, chronicle.CHANGED, [fleet.canary], _CONVERSION_SECONDS)
    await _lost(fleet, fleet.canary)
    await asyncio.sleep(_QUIET_SECONDS)
    when = f"{_QUIET_SECONDS:g} s after the canary is lost"
    claims.nobody_but(fleet, judged, when, [fleet.canary])
    claims.asked_once(fleet, judged)
    decisions = await fleet.hub.api.list(wire.DECISIONS)
    chosen = {each["clusterName"] for part in decisions for each in part["status"].get("decisions") or []}
    names = {each.name for each in fleet.spokes}
    judged.claim(f"{when}, placement still chooses it beside all others", holds=chosen == names, actual=sorted(chosen))
    await claims.converted(judged, fleet.others, to="SingleReplica")
    await _regained(fleet, fleet.canary)
    await _all_done(fleet)
    claims.canary_alone(fleet, judged, _SOAK_SECONDS)
    await claims.converted(judged, fleet.spokes)
    await claims.least_writes(fleet, judged, before)


async def _spoke_unreachable(fleet: running.Fleet, judged: verdict.Verdict) -> None:
    before = await _prepared(fleet)
    silent, *reachable = fleet.others
    await _lost(fleet, silent)
    await fleet.hub.apply(pack.rollout(_plan(max_concurrency=2)))
    await _came(fleet, chronicle.DONE, [fleet.canary, *reachable], _CONVERSION_SECONDS)
    work = fleet.chronicle.works.get(silent.name, {})
    states = (work.get("status") or {}).get("conditions")
    judged.claim(
        "the silent cluster is asked, and nothing is known of it", holds=bool(work) and not states, actual=states
    )
    rolled = await _rolled_out(fleet)
    judged.claim("the others are done, and the roll-out is not complete", holds=rolled != "Complete", actual=rolled)
    await _regained(fleet, silent)
    await _all_done(fleet)
    claims.asked_once(fleet, judged)
    claims.canary_alone(fleet, judged, _SOAK_SECONDS)
    await claims.converted(judged, fleet.spokes)
    await claims.least_writes(fleet, judged, before)


async def _bad_manifest(fleet: running.Fleet, judged: verdict.Verdict) -> None:
    before = await _prepared(fleet)
    await fleet.hub.apply(pack.rollout(_plan(target="Sideways")))
    fleet.chronicle.tell("story", "the pack is for a topology that does not exist")

    async def refused() -> bool:
        return bool(hands.refusal(fleet.chronicle.works.get(fleet.canary.name, {})))

    await verdict.until("the canary refuses it", refused, _READY_SECONDS)
    await asyncio.sleep(_QUIET_SECONDS)
    claims.nobody_but(fleet, judged, "while the canary refuses the manifest", [fleet.canary])
    sentence = hands.refusal(fleet.chronicle.works[fleet.canary.name])
    judged.claim("the sentence says what is wrong", holds="desiredTopology" in sentence, actual=sentence)
    await hands.wrong(fleet.hub, fleet.others[-1], judged, fleet.chronicle.tell)
    await fleet.hub.apply(pack.rollout(_plan()))
    fleet.chronicle.tell("story", "the pack is corrected")
    await _all_done(fleet)
    claims.canary_alone(fleet, judged, _SOAK_SECONDS)
    await claims.converted(judged, fleet.spokes)
    await claims.least_writes(fleet, judged, before)


async def _withdraw(fleet: running.Fleet, judged: verdict.Verdict) -> None:
    lacking, slow, *later = fleet.others
    before = await _prepared(fleet, without=[lacking])
    slow.box.actors.hold(_HELD)
    await fleet.hub.apply(pack.rollout(_plan(deadline_seconds=_PENDING_SECONDS, max_concurrency=2)))
    await _came(fleet, chronicle.REQUESTED, [fleet.canary, lacking], _CONVERSION_SECONDS)
    await _came(fleet, chronicle.CHANGED, [slow], _CONVERSION_SECONDS)
    words = (
        f"{lacking.name} lacks a machine, {slow.name} converges and does not end; the window is {_PENDING_SECONDS} s"
    )
    fleet.chronicle.tell("story", words)
    await asyncio.sleep(_PENDING_SECONDS + _QUIET_SECONDS)
    phase = spoke.record_of(await lacking.infrastructure()).get("phase")
    judged.claim(f"{lacking.name} is still Pending when the window closes", holds=phase == "Pending", actual=phase)
    claims.nobody_but(fleet, judged, "when the window closes", [fleet.canary, lacking, slow])
    await fleet.hub.apply([pack.withdrawal()])
    fleet.chronicle.tell("story", "the request is cancelled everywhere")
    await _came(fleet, chronicle.CANCELLED, [fleet.canary, lacking], _READY_SECONDS)
    await asyncio.sleep(_QUIET_SECONDS)
    sentence = hands.refusal(fleet.chronicle.works[slow.name])
    judged.claim(
        f"{slow.name}, whose topology has changed, refuses, and the ManifestWork says why",
        holds="there is no way back" in sentence and await _open_requests(fleet) == [slow.name],
        actual=sentence,
    )
    slow.box.actors.release(_HELD)
    await lacking.grow()
    fleet.chronicle.tell("story", f"{lacking.name} has its third machine now, and {slow.name} goes on")
    await _came(fleet, chronicle.CANCELLED, [slow], _CONVERSION_SECONDS)
    await asyncio.sleep(_QUIET_SECONDS)
    open_requests = await _open_requests(fleet)
    judged.claim(
        "no request is open, and no machine that joins starts anything", holds=not open_requests, actual=open_requests
    )
    await claims.converted(judged, [fleet.canary, slow])
    await claims.converted(judged, [lacking, *later], to="SingleReplica")
    await claims.least_writes(fleet, judged, before)


async def _operator_missing(fleet: running.Fleet, judged: verdict.Verdict) -> None:
    before = await _prepared(fleet)
    await fleet.canary.forget()
    await fleet.hub.apply(pack.rollout(_plan()))
    fleet.chronicle.tell("story", f"{fleet.canary.name} has no operator, and no record of one")
    await _came(fleet, chronicle.REQUESTED, [fleet.canary], _READY_SECONDS)
    await asyncio.sleep(_QUIET_SECONDS)
    claims.nobody_but(fleet, judged, f"{_QUIET_SECONDS:g} s after the request that has no answer", [fleet.canary])
    done = fleet.chronicle.first(fleet.canary.name, chronicle.DONE)
    judged.claim("a cluster without a record is under way, not done", holds=done is None, actual=done)
    await fleet.canary.start_operator()
    await _all_done(fleet)
    claims.canary_alone(fleet, judged, _SOAK_SECONDS)
    await claims.converted(judged, fleet.spokes)
    await claims.least_writes(fleet, judged, before)


async def _policy(fleet: running.Fleet, judged: verdict.Verdict) -> None:
    before = await _prepared(fleet)
    informed, enforced = fleet.canary, fleet.others[0]
    for each, action in ((informed, "inform"), (enforced, "enforce")):
        await each.start_policies()
        await each.apply_policy(pack.policy("HighlyAvailable", action))
    fleet.chronicle.tell("story", f"a policy informs on {informed.name}, and one enforces on {enforced.name}")
    await _came(fleet, chronicle.COMPLETED, [enforced], _CONVERSION_SECONDS)
    await _complies(enforced, "Compliant")
    await _complies(informed, "NonCompliant")
    spec = (await informed.infrastructure())["spec"]
    judged.claim("a policy that informs requests nothing", holds="desiredTopology" not in spec, actual=spec)
    await fleet.hub.apply(pack.rollout(_plan()))
    await _came(fleet, chronicle.CHANGED, [informed], _CONVERSION_SECONDS)
    compliance = await informed.compliance()
    judged.claim(
        "it is not compliant while the cluster converges", holds=compliance == "NonCompliant", actual=compliance
    )
    await _all_done(fleet)
    await _complies(informed, "Compliant")
    await claims.converted(judged, fleet.spokes)
    await claims.least_writes(fleet, judged, before)


async def _complies(cluster: spoke.Spoke, compliance: str) -> None:
    async def complies() -> bool:
        return await cluster.compliance() == compliance

    await verdict.until(f"the policy of {cluster.name} is {compliance}", complies, _READY_SECONDS)


async def _killed(fleet: running.Fleet, judged: verdict.Verdict) -> None:
    before = await _prepared(fleet)
    await fleet.hub.apply(pack.rollout(_plan()))
    await _came(fleet, chronicle.REQUESTED, [fleet.canary], _CONVERSION_SECONDS)
    await fleet.canary.engines.restart(engines.AGENT)
    await _came(fleet, chronicle.CHANGED, [fleet.canary], _CONVERSION_SECONDS)
    await fleet.canary.stop_operator()
    await fleet.canary.start_operator()
    await _came(fleet, chronicle.DONE, [fleet.canary], _CONVERSION_SECONDS)
    for name in (engines.MANAGER, engines.PLACEMENT):
        await fleet.hub.engines.restart(name)
    fleet.chronicle.tell("story", "agent, operator, work manager and placement were killed and started again, in turn")
    second = fleet.others[0]
    await _came(fleet, chronicle.ASKED, [second], _CONVERSION_SECONDS)
    await asyncio.gather(second.engines.restart(engines.AGENT), fleet.hub.engines.restart(engines.MANAGER))
    await _all_done(fleet)
    claims.asked_once(fleet, judged)
    claims.canary_alone(fleet, judged, _SOAK_SECONDS)
    claims.one_at_a_time(fleet, judged)
    await claims.converted(judged, fleet.spokes)
    await claims.least_writes(fleet, judged, before)


async def _hub_restarted(fleet: running.Fleet, judged: verdict.Verdict) -> None:
    before = await _prepared(fleet)
    await fleet.hub.apply(pack.rollout(_plan()))
    second = fleet.others[0]
    await _came(fleet, chronicle.CHANGED, [second], _CONVERSION_SECONDS)
    await fleet.hub.stop()
    fleet.chronicle.tell("story", "the hub is gone: API server, placement and work manager", "yellow")
    await _came(fleet, chronicle.COMPLETED, [second], _CONVERSION_SECONDS)
    requested = fleet.chronicle.came_to(chronicle.REQUESTED)
    judged.claim(
        "without the hub a transition ends that was under way, and nothing starts",
        holds=requested == [fleet.canary.name, second.name],
        actual=requested,
    )
    await fleet.hub.start()
    fleet.chronicle.tell("story", "the hub is back")
    await _all_done(fleet)
    claims.asked_once(fleet, judged)
    generations = {name: work["metadata"]["generation"] for name, work in (await fleet.hub.works()).items()}
    judged.claim(
        "no ManifestWork was written a second time", holds=set(generations.values()) == {1}, actual=generations
    )
    claims.canary_alone(fleet, judged, _SOAK_SECONDS)
    claims.one_at_a_time(fleet, judged)
    await claims.converted(judged, fleet.spokes)
    await claims.least_writes(fleet, judged, before)


STORIES = {
    "canary-then-wave": Story(
        summary="The canary is converted alone and soaks; then the others, one at a time", play=_canary_then_wave
    ),
    "canary-stuck": Story(
        summary="An operand of the canary never follows: no other cluster starts until that is repaired",
        play=_canary_stuck,
        deadline_minutes=1,
    ),
    "wave-stuck": Story(
        summary="A cluster of the wave never ends: no other cluster starts until that is repaired",
        play=_wave_stuck,
        deadline_minutes=1,
        least_spokes=3,
    ),
    "canary-lost": Story(
        summary="The canary loses its power after its topology has changed: no other cluster starts until it is back",
        play=_canary_lost,
    ),
    "spoke-unreachable": Story(
        summary="A cluster of the wave is silent: the others are converted, and it is when it is back",
        play=_spoke_unreachable,
        least_spokes=3,
    ),
    "bad-manifest": Story(
        summary="Manifests that are wrong are refused or harmless, and the reason is in the ManifestWork",
        play=_bad_manifest,
    ),
    "withdraw": Story(
        summary="The window closes: requests are cancelled where that is still possible, and none stays open",
        play=_withdraw,
        least_spokes=3,
        masters={"spoke-1": 2},
    ),
    "operator-missing": Story(
        summary="The canary has no operator: it is never done, and no other cluster starts until it has one",
        play=_operator_missing,
    ),
    "policy": Story(
        summary="Policies say when a cluster is done, and one that enforces shares the request with the work agent",
        play=_policy,
    ),
    "killed": Story(
        summary="Agent, operator, work manager and placement are killed in turn: the same end as without that",
        play=_killed,
    ),
    "hub-restarted": Story(
        summary="The hub is gone during a transition: that ends, nothing starts, and the hub goes on where it was",
        play=_hub_restarted,
        least_spokes=3,
    ),
}


def _plan(**parts: Any) -> pack.Plan:
    planned = {"soak_seconds": _SOAK_SECONDS, "deadline_seconds": 600, "max_concurrency": 1}
    return pack.Plan(**(planned | parts))


async def _prepared(fleet: running.Fleet, without: Iterable[spoke.Spoke] = ()) -> dict[str, dict[str, Any]]:
    """Wait until each cluster but those says that it is ready to be asked, and return the specifications of all."""
    for each in (each for each in fleet.spokes if each not in without):
        await verdict.until(f"{each.name} says that it is ready", each.ready, _READY_SECONDS)
    fleet.chronicle.tell("fleet", "the clusters say that they are ready to be asked")
    return {each.name: (await each.infrastructure())["spec"] for each in fleet.spokes}


async def _lost(fleet: running.Fleet, cluster: spoke.Spoke) -> None:
    await cluster.lose()
    await fleet.hub.report(cluster.name, reachable=False)
    fleet.chronicle.tell("story", f"{cluster.name} has lost its power; the hub calls it unreachable", "yellow")


async def _regained(fleet: running.Fleet, cluster: spoke.Spoke) -> None:
    await cluster.recover()
    await fleet.hub.report(cluster.name, reachable=True)
    fleet.chronicle.tell("story", f"{cluster.name} has its power back")


async def _all_done(fleet: running.Fleet) -> None:
    """Wait until the engine says so."""
    await _came(fleet, chronicle.DONE, fleet.spokes, _CONVERSION_SECONDS)

    async def complete() -> bool:
        return await _rolled_out(fleet) == "Complete"

    await verdict.until("the roll-out is complete", complete, _READY_SECONDS)


async def _rolled_out(fleet: running.Fleet) -> str:
    states = (await fleet.hub.replica_set())["status"].get("conditions") or []
    return next((state["reason"] for state in states if state["type"] == "PlacementRolledOut"), "")


async def _open_requests(fleet: running.Fleet) -> list[str]:
    specs = {each.name: (await each.infrastructure())["spec"] for each in fleet.spokes}
    return [name for name, spec in specs.items() if spec.get("desiredTopology")]


async def _came(fleet: running.Fleet, event: str, clusters: Iterable[spoke.Spoke], seconds: float) -> None:
    names = [each.name for each in clusters]

    async def came() -> bool:
        return set(names) <= set(fleet.chronicle.came_to(event))

    await verdict.until(f"{', '.join(names)}: {event}", came, seconds)
