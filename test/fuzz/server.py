"""The API server as the machine needs it: objects with one global version, a log, streams, guarded status patches.

It may be put back to an earlier moment (`put_back`), as an etcd that is restored from a backup: in either of the two
ways in which that is done, and out of reach for a while.

Objects are never changed in place, so everybody may hold on to what he was given. A write either happens here, in one
step, or not at all; what the network makes of the answer is the business of `client`, and whether a write was right is
the business of `judge`, which hears of each one of ours before and after.
"""

from __future__ import annotations

import functools
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from topology_controller.observe import catalog
from topology_simulator.apiserver import reads
from topology_simulator.apiserver.patch import merge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from topology_controller.kube import resource

Raw: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, str | None, str]
"""Plural with group, namespace, name."""
Objects: TypeAlias = dict[Key, Raw]

INFRASTRUCTURE: Key = (catalog.INFRASTRUCTURES.label, None, "cluster")
OPERATOR: Key = (catalog.CLUSTER_OPERATORS.label, None, "topology")
VERSION: Key = (catalog.CLUSTER_VERSIONS.label, None, "version")
_by_labels = functools.cache(reads.parse_labels)
_STRIDE = 1000
"""From one version to the next."""
_RAISED = 1000
"""By how many of them a restore raises the versions, where it does."""


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the log: the object before and after it, None where there was or is none."""

    version: int
    key: Key
    before: Raw | None
    after: Raw | None

    def seen_by(self, selection: resource.Selection) -> tuple[str, Raw] | None:
        """What a watch of this selection hears: an object that is selected no longer is deleted for it."""
        was = self.before is not None and selects(selection, self.key, self.before)
        if self.after is not None and selects(selection, self.key, self.after):
            return ("MODIFIED" if was else "ADDED"), self.after
        if not was or self.before is None:
            return None
        metadata = {**self.before["metadata"], "resourceVersion": str(self.version)}
        return "DELETED", {**self.before, "metadata": metadata}


@dataclass(frozen=True, slots=True)
class Backup:
    """The store at one moment."""

    version: int
    objects: Objects
    pruning: bool


class Refused(Exception):  # noqa: N818 - what the server answers
    """A write that did not happen: `status` as HTTP has it."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def _pruned(raw: Raw) -> Raw:
    spec = {name: value for name, value in raw.get("spec", {}).items() if name != "desiredTopology"}
    status = {name: value for name, value in raw.get("status", {}).items() if name != "topologyTransition"}
    return {**raw, "spec": spec, "status": status}


def selects(selection: resource.Selection, key: Key, raw: Raw) -> bool:
    """Is this object part of the selection?"""
    label, namespace, name = key
    if label != selection.resource.label or selection.namespace not in {None, namespace}:
        return False
    if selection.name not in {None, name}:
        return False
    return _by_labels(selection.label_selector or "")(raw["metadata"].get("labels", {}))


class Server:
    """Objects by key. `told` are called with every change, in order; streams are among them."""

    def __init__(self, objects: Objects) -> None:
        self.version = 100 * _STRIDE
        self.objects: Objects = {}
        self.log: list[Change] = []
        self.forgotten = 0
        self.told: list[Callable[[Change], None]] = []
        self._telling: deque[Change] | None = None
        self.pruning = False
        """Does the definition of Infrastructure lack our fields? Then they are dropped unseen."""
        self.restarts = 0
        """How often it was put back to an earlier moment."""
        self.answers_from = 0.0
        """Since when (the loop's time) it answers."""
        for key, raw in objects.items():
            self.put(key, raw)

    def put(self, key: Key, raw: Raw) -> Raw:
        """Create or replace an object."""
        _, namespace, name = key
        known = self.objects.get(key)
        metadata = {"name": name, "uid": f"uid-{name}", "generation": 1, **raw.get("metadata", {})}
        if namespace is not None:
            metadata["namespace"] = namespace
        if self.pruning and key == INFRASTRUCTURE:
            raw = _pruned(raw)
        made = {**raw, "metadata": metadata}
        if known is not None and {**known, "metadata": {**known["metadata"], "resourceVersion": ""}} == {
            **made,
            "metadata": {**metadata, "resourceVersion": ""},
        }:
            # A write without any change leaves the version alone, as the real server does.
            return known
        self._grow()
        metadata["resourceVersion"] = str(self.version)
        self.objects[key] = made
        self._tell(Change(self.version, key, known, made))
        return made

    def change(self, key: Key, patch: Raw) -> Raw:
        """Merge into an object, as somebody else; nothing happens when there is none."""
        known = self.objects.get(key)
        return {} if known is None else self.put(key, merge(known, patch))

    def delete(self, key: Key) -> None:
        """Delete an object, if it is there."""
        known = self.objects.pop(key, None)
        if known is None:
            return
        self._grow()
        self._tell(Change(self.version, key, known, None))

    def create(self, key: Key, body: Raw) -> Raw:
        """Create an object. Raises Refused (409) when it exists."""
        if key in self.objects:
            raise Refused(409, "AlreadyExists")
        # The status sub-resource has its own door.
        return self.put(key, {name: value for name, value in body.items() if name != "status"})

    def patch_status(self, key: Key, body: Raw) -> Raw:
        """Merge into the status of an object. Raises Refused (404, or 409 when the version is stale)."""
        known = self.objects.get(key)
        if known is None:
            raise Refused(404, "NotFound")
        version = body.get("metadata", {}).get("resourceVersion")
        if version is not None and version != known["metadata"]["resourceVersion"]:
            raise Refused(409, "Conflict")
        return self.put(key, {**known, "status": merge(known.get("status", {}), body.get("status", {}))})

    def ask_for(self, topology: str | None) -> bool:
        """Make, change or cancel the request, as a user; False when the API refuses: no way back after the change."""
        known = self.objects[INFRASTRUCTURE]
        if known["spec"].get("desiredTopology") == topology:
            return False
        if self.phase == "Converging":
            return False
        generation = known["metadata"]["generation"] + 1
        self.change(INFRASTRUCTURE, {"metadata": {"generation": generation}, "spec": {"desiredTopology": topology}})
        return True

    @property
    def record(self) -> Raw:
        """Our record as it stands, empty when there is none."""
        found = self.objects[INFRASTRUCTURE].get("status", {}).get("topologyTransition")
        return found if isinstance(found, dict) else {}

    @property
    def phase(self) -> str | None:
        """Phase of the record."""
        return self.record.get("phase")

    @property
    def pair(self) -> tuple[str | None, str | None]:
        """Control plane and infrastructure topology."""
        status = self.objects[INFRASTRUCTURE].get("status", {})
        return status.get("controlPlaneTopology"), status.get("infrastructureTopology")

    @property
    def desired(self) -> str | None:
        """The request."""
        found: str | None = self.objects[INFRASTRUCTURE]["spec"].get("desiredTopology")
        return found

    def since(self, version: int) -> Iterator[Change]:
        """Changes after a version. Raises Refused (410) when they are forgotten."""
        if version < self.forgotten:
            raise Refused(410, "Expired")
        return (change for change in self.log if change.version > version)

    def forget(self) -> None:
        """Compaction: no watch can go on from an older version."""
        self.forgotten = self.version
        self.log.clear()

    def backup(self) -> Backup:
        """What a restore at a later moment needs."""
        return Backup(self.version, dict(self.objects), self.pruning)

    def put_back(self, backup: Backup, answers_from: float, *, raised: bool) -> None:
        """Become what it was then. No change is told: whoever was connected is cut off, and asks again.

        Versions go back as well, or are `raised` by more than were given out since then; whoever restores one backup
        twice raises them to the same. Either way only changes from now on are known to it.
        """
        self.objects, self.pruning = dict(backup.objects), backup.pruning
        self.version = backup.version + (_RAISED * _STRIDE if raised else 0)
        self.forget()
        self.restarts += 1
        self.answers_from = answers_from

    def _grow(self) -> None:
        """Give out the next version. No two pasts have one in common: millions of writes lie between these moments."""
        self.version += _STRIDE
        self.version += self.restarts % _STRIDE - self.version % _STRIDE

    def _tell(self, change: Change) -> None:
        self.log.append(change)
        if self._telling is not None:
            # Whoever reacts at once to a change makes the next one: everybody hears both in their order.
            self._telling.append(change)
            return
        self._telling = deque([change])
        try:
            while self._telling:
                happened = self._telling.popleft()
                for listener in list(self.told):
                    listener(happened)
        finally:
            self._telling = None
