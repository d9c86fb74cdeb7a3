"""Looks on while a scenario is played, and compares what `plan` says with what the operator publishes.

Both run the same `observe`, `checks` and `decide`, and a test of the decisions holds them together
(`test_plan_agrees_with_the_operator`). Here the facts come from a server: the operator has them from its watches, the
command from requests of its own, in the middle of the same story. They are compared where the request is open and the
story stands still. The operator needs a moment to write what it sees, so what counts is that both say the same and go
on saying it; a difference that stays is an AssertionError that shows both.

`Witness.before` is given to `play.Player.play`. A story that would not stand still by itself is held up for as long as
it takes: the learner of the node that joins last stays one until both have been compared.
"""

from __future__ import annotations

import asyncio
import itertools
import pprint
from typing import TYPE_CHECKING, Any

from topology_api import vocabulary
from topology_api.vocabulary import Phase, Stage
from topology_controller import bindata
from topology_controller.definitions import load
from topology_controller.plugin import arguments, cluster, errors
from topology_controller.plugin.commands import plan
from topology_simulator import conditions, kinds

if TYPE_CHECKING:
    from topology_simulator import box, scenario

PATIENCE = 20.0
_POLL = 0.05
_TIMES = 3
"""So often in a row both have to say the same, and the same as before: what passes does not count."""
_VOTERS = 3
_MOVING = frozenset({Phase.ADMITTING, Phase.CONVERGING, Phase.COMPLETED})
"""The request is open no more: `plan` says that it is under way, and has no checks for it."""

_TRANSITION = ("name", "source", "target")


class Witness:
    """Compares both during one story. `agreed` says about what they agreed, in order: a phase, or why disabled."""

    def __init__(self, opened: box.Box, story: scenario.Scenario) -> None:
        self._box = opened
        self._target = next(step.request.topology for step in story.steps if step.request)
        own = opened.kubeconfig.parent / "transitions"
        self._transitions = load.load(own if own.is_dir() else bindata.root() / "transitions")
        self._requested = False
        self._stood = False
        self._held = _to_be_held(story)
        self.agreed: list[str] = []
        for name in self._held:
            opened.actors.etcd.stick(name)

    async def before(self, step: scenario.Step) -> None:
        """Compare, if the story stands still before this step. Raises AssertionError."""
        word, _ = step.said
        stands = word == "stays" and not self._stood
        if self._requested or stands:
            await self._compare()
            self._stood = self._stood or stands
        if self._requested:
            for name in self._held:
                self._box.actors.etcd.heal(name)
        self._requested = word == "request"

    async def _compare(self) -> None:
        times = 0
        planned: dict[str, Any] = {}
        published: dict[str, Any] = {}
        try:
            options = arguments.parse(["plan", "--kubeconfig", str(self._box.kubeconfig)])
            async with (
                asyncio.timeout(PATIENCE),
                cluster.opened(options, errors.Interruption()) as made,
            ):
                while times < _TIMES:
                    before, published = published, await self._published()
                    if published.get("phase") in _MOVING:
                        return
                    planned = await self._planned(made)
                    same = planned == published
                    times = 0 if not same else times + 1 if published == before else 1
                    await asyncio.sleep(_POLL)
        except TimeoutError:
            raise AssertionError(
                f"plan and the operator disagree, for {PATIENCE:g} s. The operator publishes\n"
                f"{pprint.pformat(published, width=160)}\nand plan says\n{pprint.pformat(planned, width=160)}"
            ) from None
        self.agreed.append(published.get("disabled", "").rpartition(" (")[2].strip(")") or published["phase"])

    async def _planned(self, made: cluster.Connection) -> dict[str, Any]:
        seen = await cluster.everything(made, self._transitions, vocabulary.DEFAULT_NAMESPACE)
        found, _ = plan.target(seen, self._transitions, self._target)
        if not found["checks"]:
            return {"disabled": found["message"], "verdict": found["verdict"]}
        transition: dict[str, Any] = {**(found["transition"] or {})}
        return {
            "phase": found["phase"],
            "verdict": found["verdict"],
            "transition": {name: transition.get(name) for name in _TRANSITION},
            "checks": found["checks"],
            "progress": found["progress"],
            "advisories": found["advisories"],
        }

    async def _published(self) -> dict[str, Any]:
        infrastructure = await self._box.api.get(kinds.INFRASTRUCTURES, "cluster")
        operator = await self._box.api.find(kinds.CLUSTER_OPERATORS, "topology")
        disabled = conditions.of(operator, "Disabled")
        if disabled.get("status") == "True":
            return {"disabled": f"{disabled['message']} ({disabled['reason']})", "verdict": "Unsupported"}
        record: dict[str, Any] = infrastructure["status"].get("topologyTransition") or {}
        return {
            "phase": record.get("phase", ""),
            "verdict": "Blocked",
            "transition": {name: record.get(name) for name in _TRANSITION},
            "checks": [
                {name: one[name] for name in ("name", "status", "message")}
                for one in record.get("checks") or []
                if one["stage"] == Stage.PREFLIGHT
            ],
            "progress": {name: (record.get("progress") or {}).get(name) for name in ("met", "total")},
            "advisories": [
                {name: one.get(name, "") for name in ("name", "message", "command")}
                for one in record.get("advisories") or []
            ],
        }


def _to_be_held(story: scenario.Scenario) -> tuple[str, ...]:
    """Return the nodes that may not vote before both were compared: the last one that joins before the request."""
    before = list(itertools.takewhile(lambda step: not step.request, story.steps))
    joining = [name for step in before for name in step.join or ()]
    votes = any(step.wait_for and step.wait_for.voters == _VOTERS for step in before)
    stuck = any(step.stick_learner for step in before)
    return () if votes or stuck else tuple(joining[-1:])
