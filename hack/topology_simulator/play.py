"""Plays a scenario on a running cluster: the steps through the API or a word to an actor, then the expectation.

Wherever an administrator would act, this patches the API as they would (wish, cordon, upgrade). Only what nobody can
ask of a real cluster (a node that dies, a learner that never catches up) is said to an actor. With `wish_by_person`
a wish is not made but waited for, without limit: that is how `cluster` leaves the last word to whoever sits there.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from . import client, kinds, probes
from .actors import kubelets

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from . import pace, scenario
    from .actors import hub

    Answered = Callable[[], Awaitable[list[probes.Answer]]]

_END_SECONDS = 10.0
_LEAST_POLL, _POLL = 0.02, 0.15


class ScenarioFailedError(Exception):
    """The story went another way; the message says what was wanted and what was found."""


class Player:
    """Plays one scenario. `tell` gets a sentence about each step that is worth one."""

    def __init__(
        self,
        api: client.Client,
        actors: hub.Actors,
        speeds: pace.Pace,
        tell: Callable[[str], None],
        *,
        wish_by_person: bool = False,
    ) -> None:
        self._api = api
        self._actors = actors
        self._pace = speeds
        self._tell = tell
        self._by_person = wish_by_person
        self._poll = min(1.0, max(_LEAST_POLL, _POLL * speeds.scale))

    async def play(self, story: scenario.Scenario) -> None:
        """Play every step and check the end. Raises ScenarioFailedError, ClientError."""
        for number, step in enumerate(story.steps, start=1):
            try:
                await self._perform(step)
            except ScenarioFailedError as error:
                raise ScenarioFailedError(f"step {number} of {story.name}: {error}") from error
        if not self._by_person:
            await self._until(lambda: probes.ended(self._api, story.expect), _END_SECONDS)

    async def _perform(self, step: scenario.Step) -> None:
        if step.join:
            await self._join(step.join)
        elif step.wish:
            await self._wish(step.wish)
        elif step.withdraw:
            await self._api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"desiredTopology": None}})
        elif step.wait_for:
            question = step.wait_for
            patience = question.within * max(1.0, self._pace.scale)
            await self._until(lambda: self._ask(question), None if self._by_person else patience)
        elif step.stays:
            await self._stays(step.stays)
        elif step.flap:
            await self._flap(step.flap)
        elif step.cordon or step.uncordon:
            cordon = {"spec": {"unschedulable": True if step.cordon else None}}
            await self._api.patch(kinds.NODES, str(step.cordon or step.uncordon), cordon)
        elif step.start_upgrade:
            self._actors.version.hold_upgrades()
            change = {"spec": {"desiredUpdate": {"version": step.start_upgrade}}}
            await self._api.patch(kinds.CLUSTER_VERSIONS, "version", change)
            self._tell(f"an upgrade to {step.start_upgrade} starts")
        elif step.pause:
            await asyncio.sleep(step.pause * self._pace.scale)
        else:
            self._order(step)

    def _order(self, step: scenario.Step) -> None:
        """Say to an actor what no API could ask for."""
        if step.stick_learner:
            self._actors.etcd.stick(step.stick_learner)
            self._tell(f"the etcd member of {step.stick_learner} will stay a learner")
        elif step.heal_learner:
            self._actors.etcd.heal(step.heal_learner)
            self._tell(f"the etcd member of {step.heal_learner} can catch up again")
        elif step.down:
            self._actors.kubelets.take_down(step.down)
        elif step.up:
            self._actors.kubelets.bring_up(step.up)
        elif step.end_upgrade:
            self._actors.version.release_upgrades()
            self._tell("the upgrade may finish")

    async def _join(self, names: list[str]) -> None:
        for name in names:
            await kubelets.join(self._api, name)
            await asyncio.sleep(self._pace.between_joins)

    async def _wish(self, wish: scenario.Wish) -> None:
        if self._by_person and not wish.refused:
            await self._until_wished(wish.topology)
            return
        try:
            change = {"spec": {"desiredTopology": wish.topology}}
            await self._api.patch(kinds.INFRASTRUCTURES, "cluster", change)
        except client.ApiError as error:
            if error.code != 422 or not wish.refused:
                raise ScenarioFailedError(f"the wish {wish.topology} was not accepted: {error.message}") from error
            self._tell(f"the API refuses the wish: {error.message}")
            return
        if wish.refused:
            raise ScenarioFailedError(f"the wish {wish.topology} was accepted; the API should have refused it")

    async def _until_wished(self, topology: str) -> None:
        while True:
            found = await self._api.get(kinds.INFRASTRUCTURES, "cluster")
            if found["spec"].get("desiredTopology") == topology:
                return
            await asyncio.sleep(max(self._poll, 0.5))

    async def _ask(self, question: scenario.Condition) -> list[probes.Answer]:
        return [await probes.ask(self._api, question)]

    async def _until(self, answered: Answered, seconds: float | None) -> None:
        missing = [probes.Answer(holds=False, wanted="an answer", found="none in time")]
        try:
            async with asyncio.timeout(seconds):
                while missing:
                    missing = [one for one in await answered() if not one.holds]
                    if missing:
                        await asyncio.sleep(self._poll)
        except TimeoutError:
            words = "; ".join(f"wanted {one.wanted}, found {one.found}" for one in missing)
            raise ScenarioFailedError(f"after {seconds:g} s: {words}") from None

    async def _stays(self, stays: scenario.Stays) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + stays.seconds * self._pace.scale
        while True:
            answer = await probes.ask(self._api, stays)
            if not answer.holds:
                raise ScenarioFailedError(f"should have stayed: wanted {answer.wanted}, found {answer.found}")
            if loop.time() >= end:
                return
            await asyncio.sleep(self._poll)

    async def _flap(self, flap: scenario.Flap) -> None:
        for _ in range(flap.times):
            self._actors.kubelets.take_down(flap.node)
            await asyncio.sleep(flap.seconds * self._pace.scale)
            self._actors.kubelets.bring_up(flap.node)
            await asyncio.sleep(flap.seconds * self._pace.scale)
