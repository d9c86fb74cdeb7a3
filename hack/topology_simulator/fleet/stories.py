"""The stories of a fleet: what happens to it, and what must hold. The engines decide; nothing here rolls out.

Each is a function of an open fleet: it does what people, power and networks do, waits for what the
engines make of it, and claims. What is waited for and does not come ends the story as failed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import kinds
from . import chronicle, engines, hands, pack, spoke, steps, verdict

Play = Callable[[chronicle.Fleet], Awaitable[None]]

_STUCK_SECONDS = 240.0
_QUIET_SECONDS = 15.0
"""How long nothing may happen where nothing is to happen: the work manager looks again within seconds."""
_PENDING_SECONDS = 60
"""The progress deadline of a roll-out that is to run out of time; a transition takes a tenth of it."""
_SHORT_SECONDS = 40
"""Less than the operator's own deadline, so that a cluster is out of time before it has failed. With a mandatory group
either stops the roll-out, whatever maxFailures is (OCM 1.2: sdk-go, progressivePerGroup looks at every cluster)."""
_HELD = "console"
_WITHDRAW = f"{pack.NAME}-withdraw"


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


STORIES: dict[str, Story] = {}


def _story(summary: str, **wanted: Any) -> Callable[[Play], Play]:
    def named(play: Play) -> Play:
        STORIES[play.__name__.strip("_").replace("_", "-")] = Story(summary=summary, play=play, **wanted)
        return play

    return named


async def _all_converted(fleet: chronicle.Fleet) -> None:
    """Wait for the end of a roll-out, and claim what must hold at each."""
    await steps.all_done(fleet)
    steps.canary_alone(fleet, steps.SOAK_SECONDS)
    await steps.converted(fleet, fleet.spokes)
    await steps.least_writes(fleet)


@_story("The canary is converted alone and soaks; then the others, one at a time")
async def _canary_then_wave(fleet: chronicle.Fleet) -> None:
    await steps.prepared(fleet)
    await fleet.hub.apply(steps.rollout(fleet))
    await _all_converted(fleet)
    steps.one_at_a_time(fleet)
    number = len(fleet.spokes)
    await steps.surveyed(fleet, "at the end", f"{number} surveyed: {number} done", 0)


@_story("An operand of the canary never follows: no other cluster starts until that is repaired", deadline_minutes=1)
async def _canary_stuck(fleet: chronicle.Fleet) -> None:
    await _stuck(fleet, [fleet.canary])
    _repaired(fleet, fleet.canary)
    await _all_converted(fleet)


@_story(
    "A cluster of the wave never ends: no other cluster starts until it is taken out of the roll-out",
    deadline_minutes=1,
    least_spokes=3,
)
async def _wave_stuck(fleet: chronicle.Fleet) -> None:
    stuck, *waiting = fleet.others
    await _stuck(fleet, [fleet.canary, stuck])
    await fleet.hub.label(stuck.name, None)
    fleet.chronicle.tell("story", f"{stuck.name} is taken out of the roll-out")
    await steps.came(fleet, chronicle.DONE, waiting, steps.CONVERSION_SECONDS)
    lost = fleet.chronicle.came_to(chronicle.UNASKED)
    open_requests = await steps.open_requests(fleet)
    standing = stuck.name in open_requests
    fleet.equal(
        f"without {stuck.name} the roll-out goes on, and its request stands", (lost, standing), ([stuck.name], True)
    )
    _repaired(fleet, stuck)
    await steps.came(fleet, chronicle.COMPLETED, [stuck], steps.CONVERSION_SECONDS)
    steps.canary_alone(fleet, steps.SOAK_SECONDS)
    await steps.converted(fleet, fleet.spokes)
    number = len(fleet.spokes)
    await steps.surveyed(fleet, "at the end", f"{number} surveyed: {number} done", 0)
    await steps.least_writes(fleet)


def _repaired(fleet: chronicle.Fleet, stuck: spoke.Spoke) -> None:
    stuck.box.actors.order("release", _HELD)
    fleet.chronicle.tell("story", f"operator {_HELD} of {stuck.name} reacts again")


async def _stuck(fleet: chronicle.Fleet, clusters: Sequence[spoke.Spoke]) -> None:
    """Let the last of these never end: it and those before it are asked, and no other."""
    *_, stuck = clusters
    await steps.prepared(fleet)
    stuck.box.actors.order("hold", _HELD)
    await fleet.hub.apply(steps.rollout(fleet, deadline_seconds=_SHORT_SECONDS))
    fleet.chronicle.tell("story", f"operator {_HELD} of {stuck.name} does not react; the deadline is a minute")
    await steps.came(fleet, chronicle.FAILED, [stuck], _STUCK_SECONDS)
    problem = spoke.record_of(await stuck.infrastructure()).get("problem") or {}
    fleet.equal(f"the problem of {stuck.name} is Stuck", problem.get("reason"), "Stuck")
    await asyncio.sleep(_QUIET_SECONDS)
    steps.nobody_but(fleet, f"{_QUIET_SECONDS:g} s after {stuck.name} has failed", clusters)
    done, ready = len(clusters) - 1, len(fleet.spokes) - len(clusters)
    counts = [
        f"{number} {word}" for number, word in ((done, "done"), (1, "needs a person"), (ready, "ready")) if number
    ]
    line = f"{len(fleet.spokes)} surveyed: {', '.join(counts)}"
    await steps.surveyed(fleet, f"while {stuck.name} is stuck", line, 3, stuck.name, "Stuck: ", "ConsoleReplicas")


@_story("The canary loses its power after its topology has changed: no other cluster starts until it is back")
async def _canary_lost(fleet: chronicle.Fleet) -> None:
    await steps.prepared(fleet)
    await fleet.hub.apply(steps.rollout(fleet))
    await steps.came(fleet, chronicle.CHANGED, [fleet.canary], steps.CONVERSION_SECONDS)
    await steps.lost(fleet, fleet.canary)
    await asyncio.sleep(_QUIET_SECONDS)
    when = f"{_QUIET_SECONDS:g} s after the canary is lost"
    steps.nobody_but(fleet, when, [fleet.canary])
    steps.asked_once(fleet)
    decisions = await fleet.hub.api.list(pack.DECISIONS)
    chosen = {each["clusterName"] for part in decisions for each in part["status"].get("decisions") or []}
    names = {each.name for each in fleet.spokes}
    fleet.equal(f"{when}, placement still chooses it beside all others", chosen, names)
    await steps.converted(fleet, fleet.others, to="SingleReplica")
    await steps.regained(fleet, fleet.canary)
    await _all_converted(fleet)


@_story("A cluster of the wave is silent: the others are converted, and it is when it is back", least_spokes=3)
async def _spoke_unreachable(fleet: chronicle.Fleet) -> None:
    await steps.prepared(fleet)
    silent, *reachable = fleet.others
    await steps.lost(fleet, silent)
    await fleet.hub.apply(steps.rollout(fleet, max_concurrency=2))
    await steps.came(fleet, chronicle.DONE, [fleet.canary, *reachable], steps.CONVERSION_SECONDS)
    work = fleet.chronicle.works.get(silent.name, {})
    states = (work.get("status") or {}).get("conditions")
    fleet.claim(
        "the silent cluster is asked, and nothing is known of it", holds=bool(work) and not states, actual=states
    )
    rolled = await steps.rolled_out(fleet)
    fleet.claim("the others are done, and the roll-out is not complete", holds=rolled != "Complete", actual=rolled)
    await steps.regained(fleet, silent)
    await _all_converted(fleet)
    steps.asked_once(fleet)


@_story("Manifests that are wrong are refused or harmless, and the reason is in the ManifestWork")
async def _bad_manifest(fleet: chronicle.Fleet) -> None:
    await steps.prepared(fleet)
    await fleet.hub.apply(steps.rollout(fleet, target="Sideways"))
    fleet.chronicle.tell("story", "the pack is for a topology that does not exist")

    async def refused() -> bool:
        return bool(hands.refusal(fleet.chronicle.works.get(fleet.canary.name, {})))

    await verdict.until("the canary refuses it", refused, steps.READY_SECONDS)
    await asyncio.sleep(_QUIET_SECONDS)
    steps.nobody_but(fleet, "while the canary refuses the manifest", [fleet.canary])
    sentence = hands.refusal(fleet.chronicle.works[fleet.canary.name])
    fleet.claim("the sentence says what is wrong", holds="desiredTopology" in sentence, actual=sentence)
    await hands.wrong(fleet, fleet.others[-1])
    await fleet.hub.apply(steps.rollout(fleet))
    fleet.chronicle.tell("story", "the pack is corrected")
    await _all_converted(fleet)


@_story(
    "The window closes: requests are cancelled where that is still possible, and none stays open",
    least_spokes=3,
    masters={"spoke-1": 2},
)
async def _withdraw(fleet: chronicle.Fleet) -> None:
    lacking, slow, *later = fleet.others
    await steps.prepared(fleet, without=[lacking])
    slow.box.actors.order("hold", _HELD)
    await fleet.hub.apply(steps.rollout(fleet, deadline_seconds=_PENDING_SECONDS, max_concurrency=2))
    await steps.came(fleet, chronicle.REQUESTED, [fleet.canary, lacking], steps.CONVERSION_SECONDS)
    await steps.came(fleet, chronicle.CHANGED, [slow], steps.CONVERSION_SECONDS)
    words = (
        f"{lacking.name} lacks a machine, {slow.name} converges and does not end; the window is {_PENDING_SECONDS} s"
    )
    fleet.chronicle.tell("story", words)
    await asyncio.sleep(_PENDING_SECONDS + _QUIET_SECONDS)
    phase = spoke.record_of(await lacking.infrastructure()).get("phase")
    fleet.equal(f"{lacking.name} is still Pending when the window closes", phase, "Pending")
    steps.nobody_but(fleet, "when the window closes", [fleet.canary, lacking, slow])
    await fleet.hub.run(fleet.pack.withdrawal())
    fleet.chronicle.tell("story", "the request is cancelled everywhere")
    await steps.came(fleet, chronicle.CANCELLED, [fleet.canary, lacking], steps.READY_SECONDS)
    await asyncio.sleep(_QUIET_SECONDS)
    sentence = hands.refusal(fleet.chronicle.works[slow.name])
    fleet.claim(
        f"{slow.name}, whose topology has changed, refuses, and the ManifestWork says why",
        holds="there is no way back" in sentence and await steps.open_requests(fleet) == [slow.name],
        actual=sentence,
    )
    slow.box.actors.order("release", _HELD)
    await lacking.grow()
    fleet.chronicle.tell("story", f"{lacking.name} has its third machine now, and {slow.name} goes on")
    await steps.came(fleet, chronicle.CANCELLED, [slow], steps.CONVERSION_SECONDS)
    await asyncio.sleep(_QUIET_SECONDS)
    open_requests = await steps.open_requests(fleet)
    fleet.equal("no request is open, and no machine that joins starts anything", open_requests, [])
    await steps.converted(fleet, [fleet.canary, slow])
    await steps.converted(fleet, [lacking, *later], to="SingleReplica")
    await steps.least_writes(fleet)


@_story("The canary has no operator: it is never done, and no other cluster starts until it has one")
async def _operator_missing(fleet: chronicle.Fleet) -> None:
    await steps.prepared(fleet)
    await fleet.canary.forget()
    await fleet.hub.apply(steps.rollout(fleet))
    fleet.chronicle.tell("story", f"{fleet.canary.name} has no operator, and no record of one")
    await steps.came(fleet, chronicle.REQUESTED, [fleet.canary], steps.READY_SECONDS)
    await asyncio.sleep(_QUIET_SECONDS)
    steps.nobody_but(fleet, f"{_QUIET_SECONDS:g} s after the request that has no answer", [fleet.canary])
    done = fleet.chronicle.first(fleet.canary.name, chronicle.DONE)
    fleet.equal("a cluster without a record is under way, not done", done, None)
    await fleet.canary.start_operator()
    await _all_converted(fleet)


@_story(
    "A policy asks no cluster that is not ready, says when one is done, and cancels what waits",
    least_spokes=3,
    masters={"spoke-1": 2, "spoke-2": 2},
)
async def _policy(fleet: chronicle.Fleet) -> None:
    """The policy of the pack, enforced where TALM would: on a cluster that is not ready, and on one that is asked late.

    A policy of a hub reaches its clusters by governance-policy-framework-addon, in whose place the story stands.
    """
    informed, enforced, asked = fleet.canary, *fleet.others[:2]
    await steps.prepared(fleet, without=[enforced, asked])
    for each in (informed, enforced, asked):
        site = each.engines.kubeconfig("policy", each.server.kubeconfig("policy"))
        await each.engines.run(engines.POLICIES, cluster=each.name, site=site)
    for each in (informed, enforced):
        await each.apply_policy(fleet.pack.policy())
        await steps.complies(each, "NonCompliant")
    await enforced.enforce_policy()
    fleet.chronicle.tell("story", f"the policy informs on {informed.name}; on {enforced.name}, not ready, it enforces")
    await asyncio.sleep(_QUIET_SECONDS)
    compliance, why = await enforced.compliance()
    open_requests = await steps.open_requests(fleet)
    sentence = "a policy that informs requests nothing, and one that enforces asks no cluster that is not ready"
    fleet.equal(sentence, (open_requests, compliance), ([], "NonCompliant"))
    fleet.claim("the policy says in which phase the cluster is", holds="Idle: " in why, actual=why)
    await enforced.grow()
    fleet.chronicle.tell("story", f"{enforced.name} has its third machine now")
    await steps.looked(enforced)
    await steps.came(fleet, chronicle.CHANGED, [enforced], steps.CONVERSION_SECONDS)
    await enforced.apply_policy(fleet.pack.policy(_WITHDRAW, enforced=True), _WITHDRAW)
    compliance, _ = await enforced.compliance()
    fleet.equal("it does not comply while the cluster converges", compliance, "NonCompliant")
    await steps.came(fleet, chronicle.COMPLETED, [enforced], steps.CONVERSION_SECONDS)
    await steps.complies(enforced, "Compliant")
    await asked.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"desiredTopology": pack.TARGET}})
    await steps.came(fleet, chronicle.REQUESTED, [asked], steps.READY_SECONDS)
    await asked.apply_policy(fleet.pack.policy(_WITHDRAW, enforced=True), _WITHDRAW)
    fleet.chronicle.tell("story", f"{asked.name} was asked and is not ready; what is left is cancelled")
    await steps.complies(asked, "Compliant", _WITHDRAW)
    await steps.complies(enforced, "Compliant", _WITHDRAW)
    requests = {each.name: (await each.infrastructure())["spec"].get("desiredTopology") for each in fleet.spokes}
    wanted = {informed.name: None, enforced.name: pack.TARGET, asked.name: "SingleReplica"}
    sentence = "the last step cancels a request that waits, and none of a cluster whose topology has changed"
    fleet.equal(sentence, requests, wanted)
    await steps.converted(fleet, [enforced])
    await steps.converted(fleet, [informed, asked], to="SingleReplica")
    await steps.least_writes(fleet)


@_story(
    "The hub is gone during a transition: that ends, nothing starts, and the hub goes on where it was", least_spokes=3
)
async def _hub_restarted(fleet: chronicle.Fleet) -> None:
    await steps.prepared(fleet)
    await fleet.hub.apply(steps.rollout(fleet))
    second = fleet.others[0]
    await steps.came(fleet, chronicle.CHANGED, [second], steps.CONVERSION_SECONDS)
    await fleet.hub.stop()
    fleet.chronicle.tell("story", "the hub is gone: API server, placement and work manager", "yellow")
    await steps.came(fleet, chronicle.COMPLETED, [second], steps.CONVERSION_SECONDS)
    requested = fleet.chronicle.came_to(chronicle.REQUESTED)
    sentence = "without the hub a transition ends that was under way, and nothing starts"
    fleet.equal(sentence, requested, [fleet.canary.name, second.name])
    await fleet.hub.start()
    fleet.chronicle.tell("story", "the hub is back")
    await _all_converted(fleet)
    steps.asked_once(fleet)
    steps.one_at_a_time(fleet)
    generations = {name: work["metadata"]["generation"] for name, work in (await fleet.hub.works()).items()}
    fleet.equal("no ManifestWork was written a second time", generations, dict.fromkeys(generations, 1))
