"""Everything that can happen, as plain calls: a cluster, its users, and up to two operators on it.

`machine` lets Hypothesis choose the calls; `test_found` repeats a sequence that was found once. Each call ends when
nothing more can happen at that moment; only `pass_time` moves the time. A broken promise is raised by `check`.
"""

from __future__ import annotations

import itertools
import json
import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from unittest import mock

from topology_api import types, vocabulary
from topology_controller import reconcile
from topology_controller.decide import phases

from . import judge as judges
from . import operators, virtual
from . import server as servers
from . import world as worlds
from .client import Fault, Harm, Sort
from .judge import BrokenError, Promise

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Self

    from topology_api.types import TopologyPair

    from .operators import Process
    from .server import Key, Raw

_PATIENCE = 900.0
_MOMENT = 0.1
_TRYING = 310.0
_BEGINNING = "the beginning"


class Stage:
    """One example. Use with `with`: it ends every operator and closes the loop."""

    def __init__(self, definition: str = "sno-to-ha-compact", infrastructure: str | None = None) -> None:
        shipped = worlds.TRANSITIONS.named(definition)
        assert shipped is not None, definition
        self.world = worlds.World(shipped, infrastructure)
        self.loop = virtual.Loop()
        self.server = servers.Server(self.world.objects())
        self.election = operators.Election(self.loop)
        named = {one.name: one for one in worlds.TRANSITIONS.definitions}
        self.judge = judges.Judge(self.server, self.election, named)
        self.echoing = True
        self.following = False
        self.round = 1
        self.made = 0
        self.processes: list[Process] = []
        self._renewed = 0.0
        self._phase: str | None = None
        self._patches: list[Any] = []
        self._led: set[str] = set()
        self._poked: tuple[object, ...] = ()
        self.backups = {_BEGINNING: self.server.backup()}
        """The store when the record last came to a phase, by that; and when somebody took a backup, by its name."""
        self.server.told.append(self._react)

    def __enter__(self) -> Self:
        attempts = (f"attempt-{number}" for number in itertools.count(1))
        real = phases.decide

        def decide(*args: Any) -> Any:
            self.judge.looked(judges.whose())
            decision = real(*args)
            self.judge.decided(judges.whose(), decision)
            return decision

        self._patches = [
            mock.patch.object(phases, "decide", decide),
            mock.patch.object(reconcile, "_new_attempt", attempts.__next__),
        ]
        for patch in self._patches:
            patch.start()
        logging.getLogger("topology_controller").setLevel(logging.CRITICAL)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for process in self.processes:
                process.stop()
        finally:
            for patch in self._patches:
                patch.stop()
            logging.getLogger("topology_controller").setLevel(logging.NOTSET)
            self.loop.close()

    # Time and operators.
    def pass_time(self, seconds: float) -> None:
        """Let time pass; the etcd operator renews its lease meanwhile, and whoever waits for ours may get it.

        While an operator cannot reach the server that is cut short: all that happens is that it tries again.
        """
        if any(process.client.lost or process.client.partitioned for process in self.processes):
            seconds = min(seconds, _TRYING)
        while True:
            part = min(seconds, worlds.RENEWAL)
            self._advance(part)
            seconds -= part
            self._renew()
            self._clear_away()
            self._elect()
            if seconds <= 0:
                break
        self.settle()

    def settle(self) -> None:
        """Let everything happen that can happen now."""
        self._advance(0.0)
        self._clear_away()

    def start(self) -> Process:
        """Start another operator process; it leads as soon as the lease is free."""
        self.judge.stirred()
        self.made += 1
        process = operators.Process(f"operator-{self.made}", self.loop, self.server, self.election, self.judge)
        process.start()
        self.judge.processes[process.name] = process
        self.processes.append(process)
        self.settle()
        self._elect()
        self.settle()
        return process

    def kill(self, process: Process, *, release: bool = False) -> None:
        """End a process at once; `release` is a polite end, which gives the lease back."""
        self.judge.stirred()
        process.stop(release=release)
        self.processes.remove(process)
        self.settle()

    def jump(self, process: Process, seconds: float) -> None:
        """Move the wall clock of an operator, and let it look at it."""
        self.judge.stirred()
        process.skew += timedelta(seconds=seconds)
        if process.queue is not None:
            process.queue.add()
        self.settle()

    def thaw(self, process: Process) -> None:
        """Let a frozen process go on; one that finds that its lease is gone ends."""
        self.judge.stirred()
        process.client.thaw()
        process.renew()
        self.settle()
        if process in self.processes and self.election.holder is not process and process.name in self._led:
            self.kill(process)

    @property
    def copy(self) -> Raw:
        """What ClusterOperator `topology` shows: the record with the newest answers."""
        shown: Raw = self.server.objects[servers.OPERATOR]["status"]["extension"]
        return shown

    @property
    def leader(self) -> Process | None:
        """Who holds the lease and runs."""
        return next((process for process in self.processes if process.leads), None)

    def late_news(self, what: str, kind: str = "") -> None:
        """Let something happen before the next live read of whoever leads, of which its watches bring nothing.

        With a kind only those of it bring nothing.
        """
        leader = self.leader
        if leader is not None:
            way = leader.client

            def happen() -> None:
                if kind:
                    way.delay_one(kind)
                else:
                    way.delay()
                self.interject(what)

            way.faults.append(Fault(Sort.READ, Harm.INTERJECTED, 0, happen))

    def fault(self, sort: Sort, harm: Harm, skip: int = 0, what: str = "") -> None:
        """Let something happen to a coming request of whoever leads."""
        leader = self.leader
        if leader is not None:
            skip = skip if sort is Sort.READ else 0
            leader.client.faults.append(Fault(sort, harm, skip, lambda: self.interject(what)))

    def deliver_late(self) -> None:
        """Let the requests arrive now that were given up long ago."""
        for process in list(self.judge.processes.values()):
            late, process.client.late = process.client.late, []
            for write in late:
                try:
                    self.judge.carry_out(write)
                except servers.Refused:
                    continue
        self.settle()

    # The cluster and its users.
    def wall(self) -> datetime:
        """The wall clock of the cluster."""
        return worlds.BEGINNING + timedelta(seconds=self.loop.time())

    def ask_for(self, topology: str | None) -> None:
        """Make, change or cancel the request."""
        self.server.ask_for(topology)
        self.settle()

    def harm(self, key: Key, what: str) -> None:
        """Let something go wrong with one object."""
        raw = self.server.objects.get(key)
        change = worlds.harms(key).get(what)
        if raw is None or change is None:
            return
        try:
            patch = change(raw)
        except (KeyError, TypeError, ValueError):
            return
        if key == worlds.CONTROLLER_CONFIG and "conditions" in patch.get("status", {}):
            patch["status"]["conditions"] = worlds.stamped(raw, patch["status"]["conditions"], self.wall())
        self.server.change(key, patch)

    def mend(self, key: Key) -> None:
        """Let an object be as it should be, for the topology that the cluster has now."""
        raw = self.world.well(key, self._pair(), self.wall(), self.wall(), self.round)
        if raw is None:
            self.server.delete(key)
        else:
            self.server.put(key, raw)

    def mend_evidence(self) -> None:
        """Let everything be well that preflight looks at, without touching what has followed or not."""
        for key in self.world.evidence:
            if key[0] == worlds.NODES:
                self._mend_node(key)
            elif key == worlds.ETCD:
                self.server.change(key, {"status": {"conditions": self._well(key)["status"]["conditions"]}})
            elif key[0] == worlds.OPERATORS:
                self._calm(key)
            elif key[0] == worlds.POOLS:
                self._mend_pool(key)
            else:
                self.server.put(key, self._well(key))
        for key in self.world.operators:
            self._calm(key)
        self._mend_workers()
        self._echo()

    def follow(self) -> None:
        """Let every operand follow the topology that the cluster has now."""
        revisions = (raw.get("status", {}).get("latestAvailableRevision", 0) for raw in self.server.objects.values())
        self.round = 1 + max(self.round, *revisions)
        for key in self.world.followers:
            self.mend(key)

    def interject(self, what: str) -> None:
        """Somebody else does something, by the names that `HAPPENINGS` has."""
        HAPPENINGS[what](self)

    def touch(self) -> None:
        """Another writer of Infrastructure status."""
        self.server.change(servers.INFRASTRUCTURE, {"status": {"etcdDiscoveryDomain": str(self.server.version)}})

    def drop_record(self) -> None:
        """A typed writer, which does not know our field."""
        self.server.change(servers.INFRASTRUCTURE, {"status": {"topologyTransition": None}})

    def set_topology(self, control_plane: str, infrastructure: str) -> None:
        """Somebody writes the topology."""
        topology = {"controlPlaneTopology": control_plane, "infrastructureTopology": infrastructure}
        self.server.change(servers.INFRASTRUCTURE, {"status": topology})

    def set_native(self, *, active: bool) -> None:
        """The native controller appears or goes."""
        if active and self.judge.open is not None and self.judge.open[0].startswith(types.NATIVE_ATTEMPT):
            # It follows its own transition again.
            self.judge.open = None
        enabled = [{"name": "MutableTopology"}] if active else []
        entries = [{"version": "4.20.1", "enabled": enabled}]
        self.server.change(worlds.GATES, {"status": {"featureGates": entries}})
        said = worlds.conditions(self.wall(), TopologyTransitionControllerUpgradeable="True") if active else []
        self.server.change(worlds.NATIVE, {"status": {"conditions": said}})

    def change_by_native(self) -> None:
        """The native controller changes the topology, and its gate goes off before it says that this is complete."""
        if self.server.pair != ("SingleReplica", "SingleReplica"):
            return
        self.set_native(active=False)
        said = worlds.conditions(
            self.wall(), TopologyTransitionControllerUpgradeable="False", TopologyTransitionControllerProgressing="True"
        )
        moving = [{**item, "reason": worlds.MOVING} for item in said]
        self.server.change(worlds.NATIVE, {"status": {"conditions": moving}})
        topology = {"controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable"}
        # One PUT of status, by a type that does not know our field.
        self.server.change(servers.INFRASTRUCTURE, {"status": {**topology, "topologyTransition": None}})

    def set_gates(self, *, running: bool, other: bool) -> None:
        """An upgrade is prepared, or was taken back: there are two versions, and the native controller has been."""
        self.set_native(active=True)
        entries = [
            {"version": version, "enabled": [{"name": "MutableTopology"}] if on else []}
            for version, on in (("4.20.1", running), ("4.21.0", other))
        ]
        self.server.change(worlds.GATES, {"status": {"featureGates": entries}})

    def join(self, *names: str) -> None:
        """Nodes join: dedicated workers, or one more of the control plane."""
        for name in names:
            self.server.put((worlds.NODES, None, name), self.world.node(name, self._pair()))

    def leave(self, *names: str) -> None:
        """Nodes leave, as far as they are there."""
        for name in names:
            self.server.delete((worlds.NODES, None, name))

    def write_newer(self) -> None:
        """A newer version, which has taken over, writes a phase that this one does not know."""
        record = {"phase": judges.NEWER_PHASE, "phaseTransitionTime": worlds.stamp(self.wall())}
        self.server.change(servers.INFRASTRUCTURE, {"status": {"topologyTransition": record}})
        self.judge.open = None

    def set_paused(self, *, paused: bool) -> None:
        """An administrator pauses the operator."""
        value = "true" if paused else None
        self.server.change(servers.OPERATOR, {"metadata": {"annotations": {vocabulary.PAUSED_ANNOTATION: value}}})

    def set_installed(self, *, installed: bool) -> None:
        """A payload takes our fields out of the definition of Infrastructure, or they are put back."""
        self.server.put(worlds.CRD, self._well(worlds.CRD) if installed else worlds.without_our_fields())
        if self.server.pruning and installed:
            self.judge.unaware_until = self.loop.time() + judges.UNAWARE
        self.server.pruning = not installed
        found = self.server.objects[servers.INFRASTRUCTURE]
        self.server.put(servers.INFRASTRUCTURE, {**found, "metadata": dict(found["metadata"])})

    def accept(self) -> None:
        """Somebody accepts that the routers stay as they are, for the attempt of now."""
        asked = json.dumps({"attempt": self.server.record.get("attempt"), "reason": "on purpose"})
        self.server.change(worlds.ACCEPTED, {"data": {"RouterReplicas": asked}})

    def churn(self) -> None:
        """What any write of Infrastructure sets off: it says nothing about the transition."""
        self.harm(worlds.CONTROLLER_CONFIG, "not observed")
        self.harm(worlds.CONTROLLER_CONFIG, "templates not completed")
        self.harm(worlds.CONSOLE, "restarting")
        for key, (_, operand) in self.world.operands.items():
            if operand.restarts:
                self.harm(key, "one ready")
                self.harm(key, "not observed")

    def set_labelled(self, *, labelled: bool) -> None:
        """The cluster is marked as installed from an image."""
        value = "true" if labelled else None
        self.server.change(
            servers.INFRASTRUCTURE, {"metadata": {"labels": {vocabulary.IMAGE_BASED_INSTALL_LABEL: value}}}
        )

    def back_up(self, name: str = "by hand") -> None:
        """Somebody takes a backup."""
        self.backups[name] = self.server.backup()

    def put_back(self, name: str, *, raised: bool, away: float = 3.0) -> None:
        """The store is put back to an earlier moment, or forth to a later one; nobody answers while that lasts."""
        pruning, answers_from = self.server.pruning, self.loop.time() + away
        self.server.put_back(self.backups.get(name, self.backups[_BEGINNING]), answers_from, raised=raised)
        self.judge.put_back(self.loop.time(), unaware=pruning and not self.server.pruning)
        for process in self.processes:
            process.client.cut_off()
        if self.election.holder is not None:
            self.election.holder.lose_renewals(answers_from)
        self._echo()

    def put_back_alone(self, name: str, *, raised: bool, away: float, asked: bool) -> None:
        """The same while nothing disturbs anybody: soon all is known, and a request that comes then is taken up."""
        self.calm()
        leader = self.leader
        self.put_back(name, raised=raised, away=away)
        self.pass_time(away)
        if asked:
            self.ask_for(self.world.target.control_plane)
        self.pass_time(judges.SOON)
        if leader is not None and leader is self.leader:
            self.judge.restored(leader)
        self.check()

    def set_echoing(self, *, echoing: bool) -> None:
        """The version operator lives, or does not look."""
        self.echoing = echoing
        self._echo()

    def calm(self) -> None:
        """Every disturbance of the way to the server ends."""
        for process in list(self.processes):
            process.client.partitioned = False
            process.client.faults.clear()
            process.client.come_back()
            self.thaw(process)

    def go_back(self) -> None:
        """To the beginning: nothing disturbs, nothing is under way, nothing is requested, everything is as at first."""
        self.calm()
        self.set_native(active=False)
        self.set_paused(paused=False)
        self.set_labelled(labelled=False)
        self.set_echoing(echoing=True)
        self.set_installed(installed=True)
        if self.server.phase == judges.NEWER_PHASE:
            self.drop_record()
        self.settle()
        if self.server.phase == "Converging":
            self.go_on()
            self.pass_time(65.0)
        self.ask_for(None)
        if self.server.phase != "Converging":
            self.set_topology(self.world.source.control_plane, self.world.source.infrastructure)
            self.follow()
            self.settle()

    def go_on(self) -> None:
        """Whatever brings the transition one step further, as far as it lies with the cluster and its users."""
        phase = self.server.phase
        if phase == "Converging":
            self.follow()
            self.mend_evidence()
        elif phase == "Completed":
            self.ask_for(None)
            self.set_topology(self.world.source.control_plane, self.world.source.infrastructure)
            self.follow()
        else:
            self.mend_evidence()
            self.ask_for(self.world.target.control_plane)
        self.settle()

    # What must hold.
    def check(self) -> None:
        """Raise the first promise that was broken. Where an operator has had every chance, ask for more."""
        self._raise()
        leader = self.leader
        if leader is not None and leader.quiet:
            self.judge.at_rest(leader)
            self._raise()
            seen = (leader.name, self.server.version, self.loop.time(), leader.client.requests)
            waits = self._about_to_look(leader) or self._unaware() or self._discovers_again(leader)
            if seen != self._poked and not waits:
                self._poke(leader)
                self._poked = (leader.name, self.server.version, self.loop.time(), leader.client.requests)
            self._raise()

    def arrive(self) -> None:
        """Make everything good, disturb nothing, and see that a standing request reaches Completed."""
        for process in list(self.processes):
            self.kill(process, release=True)
        self.set_native(active=False)
        self.set_paused(paused=False)
        self.set_labelled(labelled=False)
        self.set_echoing(echoing=True)
        self.set_installed(installed=True)
        here, target = self.server.pair, self.world.target
        started = (
            self.server.phase == "Converging"
            and here == (target.control_plane, target.infrastructure)
            # While the record was lost another one could be made: that is judged as soon as this has completed.
            and self.server.desired == target.control_plane
        )
        if not started:
            self.drop_record()
            self.ask_for(None)
            self.set_topology(self.world.source.control_plane, self.world.source.infrastructure)
            self.follow()
        self.mend_evidence()
        self.start()
        self.pass_time(operators.LEASE_DURATION + 1)
        if not started:
            self.ask_for(target.control_plane)
            self._wait_for("Converging")
        self.follow()
        self.churn()
        self._wait_for("Completed")
        self.pass_time(5)
        self.check()

    def _wait_for(self, phase: str) -> None:
        until = self.loop.time() + _PATIENCE
        while self.server.phase != phase and self.loop.time() < until:
            self.pass_time(20)
            self.check()
        if self.server.phase != phase:
            self._raise()
            failing = [
                f"{check['name']} is {check['status']}: {check['message']}"
                for check in self.server.record.get("checks", [])
                if check["status"] != "Met"
            ]
            raise BrokenError(Promise.ARRIVES, f"the phase is {self.server.phase} and not {phase}: {failing}")

    def _about_to_look(self, leader: Process) -> bool:
        """Does it look again in a moment by itself? What time alone changes is looked at right after its time."""
        at = None if leader.queue is None else leader.queue._look_at
        return at is not None and at - self.loop.time() <= _MOMENT

    def _unaware(self) -> bool:
        """Have our fields come back to the definition, and is it not yet time to look? Another look has news then."""
        return self.server.phase is None and self.loop.time() < self.judge.unaware_until

    def _discovers_again(self, leader: Process) -> bool:
        """Has its hourly look failed, so that it is made again within half a minute? Another look has news then."""
        due = 0.0 if leader.reconciler is None else leader.reconciler._discoverer._due
        return 0.0 < due <= self.loop.time() and self.server.phase not in {"Pending", "Admitting", "Converging"}

    def _poke(self, leader: Process) -> None:
        work, before = leader.queue, len(leader.client.written)
        assert work is not None
        work.add()
        self.settle()
        if more := leader.client.written[before:]:
            told = "; ".join(f"{write.sort}: {write.body.get('status')}" for write in more)
            raise BrokenError(Promise.CALM, f"{leader.name} looked again at the same facts and wrote {told}")

    def _raise(self) -> None:
        for process in self.processes:
            if process.failure is not None:
                raise BrokenError(Promise.UNBROKEN, f"{process.name}: {process.failure!r}") from process.failure
        if self.judge.broken:
            raise self.judge.broken[0]

    # Inside.
    def _advance(self, seconds: float) -> None:
        try:
            self.loop.advance(seconds)
        except virtual.HotLoopError as error:
            # Two who both believe to lead take turns for ever: what led to that is the better answer.
            self._raise()
            self.judge.broken.append(BrokenError(Promise.CALM, str(error)))
            raise self.judge.broken[0] from error

    def _elect(self) -> None:
        if not self.election.free:
            return
        waiting = next(
            (
                one
                for one in self.processes
                if one.runs and one is not self.election.holder and one.name not in self._led
            ),
            None,
        )
        if waiting is not None:
            self._led.add(waiting.name)
            waiting.lead()

    def _clear_away(self) -> None:
        for process in list(self.processes):
            if process.client.killed:
                self.kill(process)

    def _renew(self) -> None:
        now = self.loop.time()
        lease = self.server.objects.get(worlds.LEASE)
        if lease is None or now - self._renewed < worlds.RENEWAL:
            return
        spec = lease.get("spec") or {}
        held = spec.get("holderIdentity") and spec.get("leaseDurationSeconds") == worlds.LEASE_SECONDS
        if held and not str(spec.get("renewTime", "")).startswith("2026-03-01T09"):
            self._renewed = now
            self.server.change(worlds.LEASE, {"spec": {"renewTime": worlds.micro(self.wall())}})

    def _react(self, change: servers.Change) -> None:
        if not self.judge.carrying and not _is_echo(change):
            self.judge.stirred()
        if change.key == servers.INFRASTRUCTURE and self.server.phase not in {None, self._phase}:
            self.back_up(str(self.server.phase))
        self._phase = self.server.phase
        if change.key != servers.OPERATOR:
            return
        if change.after is None:
            # With it goes the copy: what was under way may be forgotten until it has been reported again.
            self.judge.open = None
        self._echo()

    def _echo(self) -> None:
        version = self.server.objects.get(servers.VERSION)
        if version is None or not self.echoing:
            return
        own = self.server.objects.get(servers.OPERATOR, {}).get("status", {}).get("conditions") or []
        said = [
            {**item, "message": f"Cluster operator topology should not be upgraded: {item['message']}"}
            for item in own
            if item["type"] == "Upgradeable" and item["status"] == "False"
        ]
        others = [item for item in version["status"]["conditions"] if item["type"] != "Upgradeable"]
        self.server.change(servers.VERSION, {"status": {"conditions": [*others, *said]}})

    def _pair(self) -> TopologyPair:
        control_plane, infrastructure = self.server.pair
        known = {self.world.source.control_plane, self.world.target.control_plane}
        if control_plane not in known or infrastructure is None:
            return self.world.source
        return type(self.world.source)(control_plane=str(control_plane), infrastructure=infrastructure)

    def _well(self, key: Key) -> Raw:
        raw = self.world.well(key, self._pair(), self.wall(), self.wall(), self.round)
        assert raw is not None
        return raw

    def _mend_node(self, key: Key) -> None:
        raw = self._well(key)
        known = self.server.objects.get(key, {}).get("metadata", {}).get("annotations")
        if known is not None:
            raw = {**raw, "metadata": {**raw["metadata"], "annotations": known}}
        self.server.put(key, raw)

    def _mend_workers(self) -> None:
        """Who has joined leaves again, unless what is under way needs them."""
        definition = worlds.TRANSITIONS.named(str(self.server.record.get("name")))
        under_way = self.server.phase == "Converging" and definition is not None and definition.workers.max != 0
        for name in worlds.NEWCOMERS:
            if under_way and not self.world.workers and name in worlds.NEW_WORKERS:
                self.join(name)
            else:
                self.server.delete((worlds.NODES, None, name))

    def _mend_pool(self, key: Key) -> None:
        """It stays at the configuration that it has."""
        raw, known = self._well(key), self.server.objects.get(key)
        has = raw if known is None else known
        made = worlds.pool(has["status"]["configuration"]["name"], raw["status"]["machineCount"])
        self.server.put(key, {**made, "metadata": has.get("metadata", {})})

    def _calm(self, key: Key) -> None:
        """An operator is well again, and stays so; only one that was not came to rest just now."""
        found = self.server.objects.get(key, {}).get("status", {}).get("conditions") or []
        statuses = {item["type"]: item["status"] for item in found}
        if statuses != {"Available": "True", "Progressing": "False", "Degraded": "False"}:
            self.server.put(key, self._well(key))


def _is_echo(change: servers.Change) -> bool:
    """Did ClusterVersion only follow what operators report?"""
    if change.key != servers.VERSION or change.before is None or change.after is None:
        return False
    said = (
        [item for item in raw["status"]["conditions"] if item["type"] != "Upgradeable"]
        for raw in (change.before, change.after)
    )
    return next(said) == next(said)


def _source(stage: Stage) -> None:
    stage.set_topology(stage.world.source.control_plane, stage.world.source.infrastructure)


HAPPENINGS = {
    "": lambda _: None,
    "somebody writes Infrastructure": Stage.touch,
    "the request is cancelled": lambda stage: stage.server.ask_for(None),
    "the request becomes DualReplica": lambda stage: stage.server.ask_for("DualReplica"),
    "the request is made": lambda stage: stage.server.ask_for(stage.world.target.control_plane),
    "an upgrade starts": lambda stage: stage.harm(servers.VERSION, "upgrading"),
    "a node dies": lambda stage: stage.harm(stage.world.nodes[0], "not ready"),
    "a member is lost": lambda stage: stage.harm(worlds.ENDPOINTS, "a member less"),
    "etcd degrades": lambda stage: stage.harm(worlds.ETCD, "members degraded"),
    "an operator degrades": lambda stage: stage.harm(stage.world.operators[0], "degraded"),
    "the record is dropped": Stage.drop_record,
    "our ClusterOperator is deleted": lambda stage: stage.server.delete(servers.OPERATOR),
    "the topology is set back": _source,
    "it is paused": lambda stage: stage.set_paused(paused=True),
    "it goes on": lambda stage: stage.set_paused(paused=False),
    "the native controller appears": lambda stage: stage.set_native(active=True),
    "the native controller goes": lambda stage: stage.set_native(active=False),
    "the native controller has changed it and goes": Stage.change_by_native,
    "the gate is on for the next version": lambda stage: stage.set_gates(running=False, other=True),
    "the gate is on for this version alone": lambda stage: stage.set_gates(running=True, other=False),
    "a worker joins": lambda stage: stage.join(worlds.NEW_WORKERS[0]),
    "workers join": lambda stage: stage.join(*worlds.NEW_WORKERS),
    "the workers leave": lambda stage: stage.leave(*worlds.NEW_WORKERS, *stage.world.workers),
    "a machine joins the control plane": lambda stage: stage.join(worlds.NEW_MASTER),
    "a machine of the control plane leaves": lambda stage: stage.leave(worlds.MASTERS[-1]),
    "a newer version writes the record": Stage.write_newer,
    "it is marked as installed from an image": lambda stage: stage.set_labelled(labelled=True),
    "the mark is taken away": lambda stage: stage.set_labelled(labelled=False),
    "the control plane is hosted": lambda stage: stage.set_topology("External", "HighlyAvailable"),
    "the echo stops": lambda stage: stage.set_echoing(echoing=False),
    "the echo comes back": lambda stage: stage.set_echoing(echoing=True),
    "the definition of our fields is lost": lambda stage: stage.set_installed(installed=False),
    "the definition of our fields is back": lambda stage: stage.set_installed(installed=True),
    "a check is accepted": Stage.accept,
    "machine configs are rendered again": Stage.churn,
    "the history is forgotten": lambda stage: stage.server.forget(),
    "the store is put back to the beginning": lambda stage: stage.put_back(_BEGINNING, raised=False),
    "the store is put back to Admitting": lambda stage: stage.put_back("Admitting", raised=False),
    "the store is put back to Admitting with its versions raised": lambda stage: stage.put_back(
        "Admitting", raised=True
    ),
}
"""What somebody else may do, between two requests or at any other moment."""
