"""What a story in the lab has shown: figures and faults, from the audit log and what was seen of the cluster. Pure.

`Seen` takes objects and metrics up as they come, each with its UNIX time. `figures` counts the writes between request
and end; a loop is one client that writes one object often in the last minute before that, and not when it rests.
"""

from __future__ import annotations

import collections
import itertools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from topology_simulator import conditions, kinds, own_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from topology_simulator.envtest import audit

_OFTEN = 6
"""Writes of one object by one client in a minute: of ClusterOperator `topology` our own may be as many."""
_MINUTE = 60.0
_WRITES = frozenset({"create", "update", "patch", "delete"})
_BEATS = frozenset({"leases", "events"})
_PLAYED, _PERSON, _OURS = "admin", "(lab)", own_objects.NAME
_MET = "Met"
_CHECK = re.compile(r"^topology_transition_check_status\{(.*)\} 1(?:\.0)?$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_LONG_LEASE = 138
Write = tuple[str, str, str]
"""Client, verb with resource, and namespace/name."""


@dataclass(slots=True)
class Seen:
    """What was seen of a cluster; times are UNIX seconds."""

    moments: dict[str, float] = field(default_factory=dict)
    """When something was seen first: the request, what follows it, each phase."""
    checks: dict[str, list[str]] = field(default_factory=dict)
    """What each convergence check was, one after the other."""
    generations: dict[str, int] = field(default_factory=dict)
    """Of ControllerConfig, at the request and now."""
    restarts: collections.Counter[str] = field(default_factory=collections.Counter)
    long_leases: dict[str, list[str]] = field(default_factory=dict)
    """Which Leases are longer than usual, as on a single node, before the request and at the end."""
    conditions: dict[str, list[str]] = field(default_factory=dict)
    """What each condition of ClusterOperator `topology` was since Completed, one after the other."""
    changes: list[str] = field(default_factory=list)
    """Each change of the topology, and during which update it was."""
    memory: dict[str, int] = field(default_factory=dict)
    """The most that each process has had, in MiB."""
    rest: list[tuple[float, int, int]] = field(default_factory=list)
    """Since Completed: when, MiB of memory and open descriptors of this operator."""
    _pair: tuple[object, ...] = ()
    _updating: tuple[str, ...] = ()
    _objection: str = "\0"

    def object(self, kind: kinds.Kind, obj: dict[str, Any], now: float) -> None:
        """Take up an object; those of other kinds and names say nothing here."""
        take = {
            (kinds.INFRASTRUCTURES, "cluster"): self._infrastructure,
            (kinds.CLUSTER_OPERATORS, "topology"): self._operator,
            (kinds.CLUSTER_VERSIONS, "version"): self._version,
            (kinds.CONTROLLER_CONFIGS, "machine-config-controller"): self._rendered,
            (kinds.MACHINE_CONFIG_POOLS, "master"): self._pool,
            (kinds.CONFIGS, "cluster"): self._configured,
        }.get((kind, obj["metadata"]["name"]))
        if take is not None:
            take(obj, now)

    def _infrastructure(self, obj: dict[str, Any], now: float) -> None:
        status, desired = obj.get("status") or {}, (obj.get("spec") or {}).get("desiredTopology")
        pair = status.get("controlPlaneTopology"), status.get("infrastructureTopology")
        if self._pair and pair != self._pair:
            self._first("change", now)
            self.changes.append(" ".join([*map(str, pair), *self._updating]))
        self._pair = pair
        if (obj.get("spec") or {}).get("controlPlaneTopology"):
            self._first("handed over", now)
        if desired:
            self._first("request", now)
            self._first((status.get("topologyTransition") or {}).get("phase") or "Idle", now)

    def _operator(self, obj: dict[str, Any], now: float) -> None:
        upgradeable = conditions.find(obj, "Upgradeable")
        if "Completed" in self.moments:
            for condition in obj["status"]["conditions"]:
                _note(self.conditions.setdefault(condition["type"], []), condition["status"])
        if upgradeable.get("status") == "False":
            self._first("upgrades blocked", now)
            self._objection = upgradeable["message"]

    def _version(self, obj: dict[str, Any], now: float) -> None:
        if self._objection in str(conditions.find(obj, "Upgradeable").get("message")):
            self._first("echo", now)
        newest, accepted = obj["status"]["history"][0], conditions.find(obj, "ReleaseAccepted")
        self._first(f"update to {newest['version']} {newest['state']}", now)
        self._updating = (f"during the update to {newest['version']}",) if newest["state"] == "Partial" else ()
        if accepted.get("status") == "False":
            self._first(f"update refused: {accepted.get('reason')}", now)

    def _rendered(self, obj: dict[str, Any], _: float) -> None:
        self.generations["now"] = obj["metadata"]["generation"]
        if "request" not in self.moments:
            self.generations["request"] = obj["metadata"]["generation"]

    def _pool(self, obj: dict[str, Any], now: float) -> None:
        if "change" not in self.moments:
            return
        wanted, present = (obj[part]["configuration"].get("name") for part in ("spec", "status"))
        if wanted != present:
            self._first("pool master has a new configuration", now)
        elif "pool master has a new configuration" in self.moments and conditions.is_true(obj, "Updated"):
            self._first("pool master is rolled out", now)

    def _configured(self, obj: dict[str, Any], now: float) -> None:
        if reason := conditions.find(obj, "TopologyTransitionControllerUpgradeable").get("reason"):
            self._first("Completed" if reason == "TopologyTransitionComplete" else f"native: {reason}", now)

    def metrics(self, text: str) -> None:
        """Take up what the operator serves."""
        for labels in _CHECK.findall(text):
            check = dict(_LABEL.findall(labels))
            if check["stage"] == "Convergence":
                _note(self.checks.setdefault(check["check"], []), check["status"])

    def rests(self, now: float, memory: int, descriptors: int) -> None:
        """Take up what this operator has."""
        if "Completed" in self.moments:
            self.rest.append((now, memory, descriptors))

    def leases(self, when: str, leases: Iterable[Mapping[str, Any]]) -> None:
        """Take up all Leases, `when` they were read."""
        self.long_leases[when] = sorted(
            f"{meta['namespace']}/{meta['name']}"
            for lease in leases
            if (lease["spec"].get("leaseDurationSeconds") or 0) >= _LONG_LEASE
            if (meta := lease["metadata"])["namespace"].startswith("openshift-")
        )

    def _first(self, moment: str, now: float) -> None:
        self.moments.setdefault(moment, now)


def _note(history: list[str], status: str) -> None:
    if history[-1:] != [status]:
        history.append(status)


def client_of(event: audit.Event) -> str:
    """Return who asked: a real operator, ours, or the agent of an actor."""
    if event.user == _PLAYED:
        return f"({event.agent.partition('/')[0]})"
    return event.user.rpartition(":")[2]


def is_write(event: audit.Event) -> bool:
    """Whether an event is a write that was done."""
    return event.verb in _WRITES and 200 <= event.code < 300


def writes(events: Iterable[audit.Event], since: float, until: float) -> list[tuple[float, Write]]:
    """Return what was written in between, and when."""
    written = []
    for event in events:
        if is_write(event) and since <= event.time <= until:
            resource = "/".join(part for part in (event.resource, event.subresource) if part)
            name = "/".join(part for part in (event.namespace, event.name) if part)
            written.append((event.time, (client_of(event), f"{event.verb} {resource}", name)))
    return written


def loops(events: Iterable[audit.Event], request: float, completed: float, end: float) -> list[str]:
    """Return who writes an object often in the last minute, and at most half as often before and afterwards.

    Of this operator it is a loop whatever was before. Afterwards is nothing where a minute has not passed since.
    """
    events = list(events)
    before, last, after = (
        collections.Counter(write for _, write in writes(events, until - _MINUTE, until))
        for until in (request, completed, completed + _MINUTE if end - completed >= _MINUTE else 0.0)
    )
    usual = {write: 0 if write[0] == _OURS else 2 * max(before[write], after[write]) for write in last}
    return [
        f"{who} {what} {name}: {count} in the last minute, {usual[who, what, name] // 2} in one at rest"
        for (who, what, name), count in last.most_common()
        if count > max(_OFTEN, usual[who, what, name])
        if not who.startswith("(") and what.partition(" ")[2] not in _BEATS
    ]


def figures(seen: Seen, events: Iterable[audit.Event], end: float) -> dict[str, Any]:
    """Return what can be said in numbers; nothing of what was never seen."""
    events, request = list(events), seen.moments.get("request", end)
    completed = seen.moments.get("Completed", end)
    after = {moment: round(at - request, 1) for moment, at in seen.moments.items() if at >= request}
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    ours = [f"{what} {name}" for _, (who, what, name) in writes(events, completed, end) if who == _OURS]
    for _, (who, what, name) in writes(events, request, completed):
        resource = what.partition(" ")[2].partition("/")[0]
        if who == _PERSON:
            continue
        if resource in {"infrastructures", "controllerconfigs", "clusterversions"} or name == "topology":
            counts[resource][who] += 1
        counts["all"][who] += 1
    return {
        "seconds": after | ({"change to Completed": round(after["Completed"] - after["change"], 1)}
                            if {"change", "Completed"} <= after.keys() else {}),
        "writes": {resource: dict(count.most_common()) for resource, count in counts.items()},
        "since Completed": dict(collections.Counter(ours).most_common()),
        "hours since Completed": _hours(seen.rest),
        "changes": seen.changes,
        "came back": {name: history for name, history in seen.conditions.items() if len(history) > len(set(history))},
        "renders": seen.generations.get("now", 0) - seen.generations.get("request", 0),
        "fell back": {name: fell for name, history in seen.checks.items() if (fell := _fell(history))},
        "not met": [name for name, history in seen.checks.items() if history[-1] != _MET],
        "restarts": dict(seen.restarts),
        "memory": seen.memory,
        "long leases": seen.long_leases,
        "loops": loops(events, request, completed, end),
    }  # fmt: skip


def _hours(rest: list[tuple[float, int, int]]) -> list[str]:
    """Return for each hour how much memory and how many descriptors there were."""
    hours = []
    for _, samples in itertools.groupby(rest, lambda sample: (sample[0] - rest[0][0]) // 3600):
        times, memory, descriptors = zip(*samples, strict=True)
        minutes = f"{(times[-1] - times[0]) / 60:.0f} minutes"
        counts = f"{min(descriptors)} to {max(descriptors)} descriptors"
        hours.append(f"{minutes}: {min(memory)} to {max(memory)} MiB, {counts}")
    return hours


def _fell(history: list[str]) -> int:
    """Return how often a check was taken back."""
    return sum(before == _MET != after for before, after in itertools.pairwise(history))


def faults(shown: Mapping[str, Any], most_writes: int) -> list[str]:
    """Return what makes a story fail, besides another end than it expects."""
    faulty = [] if "Completed" in shown["seconds"] else ["the transition was not Completed"]
    if len(shown["changes"]) != 1 or "update" in shown["changes"][0]:
        faulty.append(f"one change of the topology was wanted, and none during an update; found {shown['changes']}")
    faulty += [f"condition {name} came back: {history}" for name, history in shown["came back"].items()]
    wrote = sum(shown["writes"].get("infrastructures", {}).values())
    if not 0 < wrote <= most_writes:  # none: the audit log lacks what was seen, and loops are not in it either
        faulty.append(f"Infrastructure was written {wrote} times besides the request, 1 to {most_writes} are allowed")
    return faulty + [f"writes in a loop: {loop}" for loop in shown["loops"]]


def page(title: str, about: Mapping[str, str], shown: Mapping[str, Any], faulty: list[str], story: str) -> str:
    """Return a story as a page: what ran, figures, faults, and its own lines."""
    lines = [f"# {title}", "", *(f"* {name}: {text}" for name, text in about.items()), ""]
    lines += ["| seconds after the request | |", "|---|---|"]
    lines += [f"| {name} | {at} |" for name, at in shown["seconds"].items()]
    lines += ["", "| writes | by |", "|---|---|"]
    for resource, count in shown["writes"].items():
        lines.append(f"| {resource} | {', '.join(f'{who} {number}' for who, number in count.items())} |")
    lines.append("")
    for what, figure in shown.items():
        if what not in {"seconds", "writes"}:
            lines.append(f"{what.capitalize()}: {figure or 'none'}.")
    lines += ["", "Verdict: " + ("; ".join(faulty) if faulty else "good") + ".", "", "```", story.strip(), "```"]
    return "\n".join(lines) + "\n"
