"""Plays a scenario on a running cluster: the steps through the API or a word to an actor, then the expectation.

Wherever an administrator would act, this patches the API as they would; only what cannot be had from a real cluster
goes to an actor. With `levers` a person plays: requests and conditions are waited for without limit, what is broken
stays broken until it is repaired by hand, and a command is shown instead of run.
"""

import asyncio
import functools
import json
from collections.abc import Awaitable, Callable
from typing import Any

from topology_simulator import SimulatorError

from . import backups, client, conditions, kinds, levers, machine_api, operator_process, pace, probes, scenario
from .actors import hub, kubelets
from .actors import version as versions

Answered = Callable[[], Awaitable[list[probes.Answer]]]

_LEFT_TO_A_PERSON = levers.REPAIRS | {"unpause_pool", "cancel", "stays"}
"""Repairs, and what would have to stay as it is while a person may repair it."""
_END_SECONDS = 10.0
_LEAST_POLL, _POLL = 0.02, 0.15


class ScenarioFailedError(SimulatorError):
    """The story went another way; the message says what was wanted and what was found."""


class Player:
    """Plays one scenario. `tell` gets a sentence about each step that is worth one."""

    def __init__(  # noqa: PLR0913 - the parts of a box, which a test may have without one
        self,
        api: client.Client,
        actors: hub.Actors,
        speeds: pace.Pace,
        tell: Callable[[str], None],
        *,
        operator: operator_process.Operator | None = None,
        store: backups.Store | None = None,
        by_hand: levers.Levers | None = None,
    ) -> None:
        self._api = api
        self._actors = actors
        self._pace = speeds
        self._tell = tell
        self._levers = by_hand
        self._operator = operator
        self._store = store
        self._backup: Any = None
        self._acts: dict[str, Callable[[Any], Awaitable[None] | None]] = {
            "join": lambda names: self._join(names, kubelets.CONTROL_PLANE),
            "join_workers": lambda names: self._join(names, kubelets.WORKER),
            "request": self._request,
            "cancel": lambda _: self._merge(kinds.INFRASTRUCTURES, "cluster", {"desiredTopology": None}),
            "link_machine": lambda node: self._add_machine(node, linked=True),
            "provision_machine": lambda node: self._add_machine(node, linked=False),
            "delete_machine": lambda node: self._delete(kinds.MACHINES, machine_api.machine_name(node)),
            "delete_host": lambda node: self._delete(kinds.BARE_METAL_HOSTS, node),
            "pause_pool": lambda name: self._merge(kinds.MACHINE_CONFIG_POOLS, name, {"paused": True}),
            "unpause_pool": lambda name: self._merge(kinds.MACHINE_CONFIG_POOLS, name, {"paused": False}),
            "start_upgrade": self._start_upgrade,
            "feature_gate": self._switch,
            "run_printed": self._run_printed,
            "wait_for": self._wait_for,
            "stays": self._stays,
            "pause": lambda seconds: asyncio.sleep(seconds * speeds.scale),
            "tell": tell,
            "evict_operator": lambda _: self._evict(),
            "kill_operator": lambda _: self._running().evict(speeds.evicted, killed=True),
            "freeze_operator": lambda _: self._running().freeze(),
            "age_minutes": self._age,
            "backup": lambda _: self._take_backup(),
            "restore": self._restore,
            **{word: functools.partial(self._order, word) for word in hub.ORDERS},
        }
        self._poll = min(1.0, max(_LEAST_POLL, _POLL * speeds.scale))

    async def play(
        self,
        story: scenario.Scenario,
        before: Callable[[scenario.Step], Awaitable[None]] | None = None,
        *,
        to_the_end: bool = True,
    ) -> None:
        """Play every step and check the end, where it is one. Raises ScenarioFailedError, ClientError.

        `before` is awaited before each step: a caller can hold the story up there.
        """
        for number, step in enumerate(story.steps, start=1):
            if before is not None:
                await before(step)
            try:
                await self._perform(step)
            except ScenarioFailedError as error:
                raise ScenarioFailedError(f"step {number} of {story.name}: {error}") from error
        if self._levers is None and to_the_end:
            await self._until(lambda: probes.ended(self._api, story.expect), _END_SECONDS * self._pace.patience)

    async def _perform(self, step: scenario.Step) -> None:
        word, value = step.action
        if self._levers is not None:
            if word in _LEFT_TO_A_PERSON:
                return
            self._levers.pulled(word, value)
        done = self._acts[word](value)
        if done is not None:
            await done

    # -- what an administrator does, through the API

    async def _merge(self, kind: kinds.Kind, name: str, spec: dict[str, Any]) -> None:
        await self._api.patch(kind, name, {"spec": spec})

    async def _start_upgrade(self, version: str) -> None:
        self._actors.order("hold_upgrade", version)
        await self._merge(kinds.CLUSTER_VERSIONS, "version", {"desiredUpdate": versions.release(version)})
        self._tell(f"an upgrade to {version} starts")

    async def _join(self, names: list[str], roles: tuple[str, ...]) -> None:
        for name in names:
            await kubelets.join(self._api, name, roles)
            await asyncio.sleep(self._pace.between_joins)

    async def _add_machine(self, node: str, *, linked: bool) -> None:
        host = machine_api.host(node, external=linked, consumer=linked)
        await self._api.create(kinds.BARE_METAL_HOSTS, host)
        await self._api.create(kinds.MACHINES, machine_api.machine(node, linked=linked))
        self._tell(f"the administrator makes BareMetalHost {node} and Machine {machine_api.machine_name(node)}")

    async def _delete(self, kind: kinds.Kind, name: str) -> None:
        await self._api.delete(kind, name, machine_api.NAMESPACE)
        self._tell(f"the administrator deletes {kind.kind} {name}")

    async def _run_printed(self, printed: scenario.Printed) -> None:
        if printed.advisory:
            record = (await self._api.get(kinds.INFRASTRUCTURES, "cluster"))["status"].get("topologyTransition") or {}
            advised = {
                advisory["name"]: str(advisory.get("command", "")) for advisory in record.get("advisories") or []
            }
            command = advised.get(printed.advisory, "")
        else:
            operator = await self._api.find(kinds.CLUSTER_OPERATORS, "topology")
            message = str(conditions.find(operator, str(printed.condition)).get("message", ""))
            command = probes.command_in(message)
        if self._levers is not None:
            self._tell(f"now it is up to you: {command or 'done already'}")
            return
        if not command:
            raise ScenarioFailedError(f"no command is printed by {printed.advisory or printed.condition}")
        self._tell(f"the administrator runs what was printed: {command}")
        try:
            await probes.run_command(self._api, command)
        except probes.CommandError as error:
            raise ScenarioFailedError(str(error)) from error

    async def _switch(self, gate: scenario.Gate) -> None:
        feature_gate = await self._api.get(kinds.FEATURE_GATES, "cluster")
        version = await self._api.get(kinds.CLUSTER_VERSIONS, "version")
        running = version["status"]["desired"]["version"]
        entries = []
        for details in feature_gate["status"]["featureGates"]:
            entry = dict(details)
            if details["version"] == running:
                for part, member in (("enabled", gate.enabled), ("disabled", not gate.enabled)):
                    others = [each for each in details.get(part) or [] if each["name"] != gate.name]
                    named = [*others, {"name": gate.name}] if member else others
                    entry[part] = sorted(named, key=lambda each: str(each["name"]))
            entries.append(entry)
        on, off = ([gate.name], []) if gate.enabled else ([], [gate.name])
        custom = {"featureSet": "CustomNoUpgrade", "customNoUpgrade": {"enabled": on, "disabled": off}}
        await self._merge(kinds.FEATURE_GATES, "cluster", custom)  # a real cluster-config-operator writes the same
        await self._api.patch_status(kinds.FEATURE_GATES, "cluster", {"featureGates": entries})
        self._tell(f"feature gate {gate.name} is {'on' if gate.enabled else 'off'}")

    async def _request(self, desired: scenario.Request) -> None:
        if self._levers is not None and not desired.refused:
            infrastructure: dict[str, Any] = {"spec": {}}
            while infrastructure["spec"].get("desiredTopology") != desired.topology:
                await asyncio.sleep(max(self._poll, 0.5))
                infrastructure = await self._api.get(kinds.INFRASTRUCTURES, "cluster")
            return
        try:
            change = {"spec": {"desiredTopology": desired.topology}}
            await self._api.patch(kinds.INFRASTRUCTURES, "cluster", change)
        except client.ApiError as error:
            if error.code != 422 or not desired.refused:
                raise ScenarioFailedError(
                    f"the request {desired.topology} was not accepted: {error.message}"
                ) from error
            self._tell(f"the API refuses the request: {error.message}")
            return
        if desired.refused:
            raise ScenarioFailedError(f"the request {desired.topology} was accepted; the API should have refused it")

    # -- what is waited for

    async def _wait_for(self, question: scenario.Wait) -> None:
        patience = question.within * max(1.0, self._pace.scale) * self._pace.patience
        await self._until(lambda: self._ask(question), patience if self._levers is None else None)

    async def _ask(self, question: scenario.Condition) -> list[probes.Answer]:
        served = (self._operator.url, self._operator.tls) if self._operator is not None else ()
        return [await probes.ask(self._api, question, *served)]

    async def _until(self, answered: Answered, seconds: float | None) -> None:
        """Ask until everything holds. It is asked once at least, however long an answer takes."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while missing := [answer for answer in await answered() if not answer.holds]:
            if seconds is not None and loop.time() - began >= seconds:
                words = "; ".join(f"wanted {answer.wanted}, found {answer.actual}" for answer in missing)
                raise ScenarioFailedError(f"after {seconds:g} s: {words}")
            await asyncio.sleep(self._poll)

    async def _stays(self, stays: scenario.Stays) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + stays.seconds * self._pace.scale
        while True:
            answer, *_ = await self._ask(stays)
            if not answer.holds:
                raise ScenarioFailedError(f"should have stayed: wanted {answer.wanted}, found {answer.actual}")
            if loop.time() >= end:
                return
            await asyncio.sleep(self._poll)

    # -- what cannot be asked of a real cluster, said to an actor

    def _order(self, word: str, name: object) -> None:
        self._actors.order(word, str(name))
        if sentence := hub.ORDERS[word][2]:
            self._tell(sentence.format(name))

    def _running(self) -> operator_process.Operator:
        if self._operator is None:
            raise ScenarioFailedError("there is no operator")
        return self._operator

    async def _evict(self) -> None:
        operator = self._running()
        self._tell("the node of the operator is drained: the operator is evicted and starts on another one")
        await operator.evict(self._pace.evicted)

    async def _age(self, minutes: int) -> None:
        """Stop the operator, make its record older, and start it again: it goes by the times of the record."""
        operator = self._running()
        await operator.stop()
        record = (await self._api.get(kinds.INFRASTRUCTURES, "cluster"))["status"]["topologyTransition"]
        older = json.loads(conditions.moved(json.dumps(record), -60 * minutes))
        await self._api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": older})
        await operator.start()

    async def _take_backup(self) -> None:
        if self._store is None:
            raise ScenarioFailedError("this API server cannot be backed up")
        self._backup = await self._store.snapshot()
        self._tell("a backup of etcd is taken")

    async def _restore(self, way: backups.Way) -> None:
        if self._store is None or self._backup is None:
            raise ScenarioFailedError("there is no backup to restore etcd from")
        self._tell("etcd is restored from the backup: what came after it has never happened")
        await self._store.put_back(self._backup, bump=backups.BUMPS[way], down=self._pace.restored)
