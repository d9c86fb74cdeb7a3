"""The cluster version operator, in the two things that matter here: its echo of Upgradeable, and an upgrade.

What ClusterOperators object to is in ClusterVersion too, a while later, in the words of the release that runs. Up to
4.22 one objection is passed on with its reason, several are joined and stand beside it; later ones are risks, whose
messages alone are passed on. Without objections there is no condition, never a True. How much later is a matter of
pace, unless a release is wanted: up to 4.22 it looks when ClusterVersion has changed or its informer resyncs, and only
when a throttling period has passed since it last looked (2 to almost 6 minutes); later ones look at regular intervals
(15 s). An update to another minor version is refused while ClusterVersion says Upgradeable=False, and begins by itself
once that is gone: story `upgrade` of the lab. Sources: cluster-version-operator pkg/cvo/upgradeable.go, pkg/cvo/cvo.go,
pkg/start/start.go (release-4.20, 4.21, 4.22, main); pkg/cvo/status.go and pkg/risk/upgradeable/upgradeable.go (main);
pkg/payload/precondition/clusterversion/upgradeable.go (release-4.22).
"""

import random
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from topology_simulator import conditions, configured, kinds

from . import actor


class Version(actor.Actor):
    """Speaks for ClusterVersion `version`. `release` gives it the words and the delays of one; set it before `run`."""

    agent = "cluster-version-operator"
    watched = (kinds.CLUSTER_OPERATORS, kinds.CLUSTER_VERSIONS)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.release: Release | None = None
        self._was_held = False
        self._opinion: list[conditions.Condition] = []
        self._looked = False
        self._seen = ""
        self._resync = random.uniform(1.0, 2.0)

    async def step(self) -> None:
        """Echo objections, and move an upgrade on."""
        version = self.mirror.get(kinds.CLUSTER_VERSIONS, "version")
        if version is None:
            return
        held = bool(self.troubles.upgrades)
        self._was_held = self._was_held or held
        await self._echo(version)
        await self._upgrade(self.mirror.get(kinds.CLUSTER_VERSIONS, "version") or version, held=held)

    async def _echo(self, version: dict[str, Any]) -> None:
        release = self.release or of_version(version["status"]["desired"]["version"])
        opinion = echo(release, version, self.mirror.all(kinds.CLUSTER_OPERATORS))
        merged = conditions.merged(version, opinion, without=set(TYPES) - {condition.type for condition in opinion})
        if not self._looks(version, opinion, news=merged is not None) or merged is None:
            return
        # Its own write is an event of ClusterVersion too.
        await self.patch(kinds.CLUSTER_VERSIONS, version, {"status": {"conditions": merged}}, "status")

    def _looks(self, version: dict[str, Any], opinion: list[conditions.Condition], *, news: bool) -> bool:
        if self.release is None:
            if not news or opinion != self._opinion:
                self._opinion = opinion
                self.waits.clear("echo")
            return news and self.waits.due("echo", self.pace.version_echo)
        if self.release == "main":
            return self.waits.every("sync", self.pace.version_sync)
        resource_version = version["metadata"]["resourceVersion"]
        event = resource_version != self._seen
        self._seen = resource_version
        resync = self.waits.every("resync", self.pace.version_throttle * self._resync)
        rested = self.waits.due("look", self.pace.version_throttle) or not self._looked
        if not (rested and (event or resync)):
            return False
        self._looked = True
        self.waits.start("look", self.pace.version_throttle)
        return True

    async def _upgrade(self, version: dict[str, Any], *, held: bool) -> None:
        status = version["status"]
        wanted = ((version.get("spec") or {}).get("desiredUpdate") or {}).get("version") or ""
        running = next((update["version"] for update in status["history"] if update["state"] == "Completed"), "")
        if wanted in ("", running):
            return
        if status["desired"]["version"] != wanted:
            objection = conditions.find(version, _ALL)
            patch = wanted.split(".")[:2] == status["desired"]["version"].split(".")[:2]
            if objection.get("status") == "False" and not patch:
                refused = conditions.stated("version not accepted", **release(wanted), **objection)
                await self.say(kinds.CLUSTER_VERSIONS, version, refused)
                return
            self.waits.start("upgrade", self.pace.upgrade)
            await self._begin(version, wanted)
        elif not held and (self._was_held or self.waits.due("upgrade", self.pace.upgrade)):
            await self._finish(version, wanted)

    async def _begin(self, version: dict[str, Any], wanted: str) -> None:
        times = {"startedTime": conditions.now(), "completionTime": None}
        entry = {"state": "Partial", **release(wanted), **times, "verified": False}
        started = conditions.merged(version, conditions.stated("version accepted", version=wanted))
        status = {
            **version["status"],
            "conditions": started or version["status"]["conditions"],
            "desired": release(wanted),
            "history": [entry, *version["status"]["history"]],
            "observedGeneration": version["metadata"]["generation"],
        }
        # The completion time is null and must be there, which a merge patch cannot say.
        done = await self.api.put(kinds.CLUSTER_VERSIONS, {**version, "status": status}, "status")
        self.mirror.keep(kinds.CLUSTER_VERSIONS, done)

    async def _finish(self, version: dict[str, Any], wanted: str) -> None:
        self._was_held = False
        self.waits.clear("upgrade")
        newest, *older = version["status"]["history"]
        entry = {**newest, "state": "Completed", "completionTime": conditions.now()}
        for operator in self.mirror.all(kinds.CLUSTER_OPERATORS):
            if operator["metadata"]["name"] == "topology":
                continue  # not of the payload: it tells its own version
            versions = [{"name": "operator", "version": wanted}]
            await self.say(kinds.CLUSTER_OPERATORS, operator, [], versions=versions)
        done = conditions.stated("version applied", version=wanted)
        await self.say(kinds.CLUSTER_VERSIONS, version, done, history=[entry, *older])


Release = Literal["4.20", "4.21", "4.22", "main"]
release = configured.release
TYPES = ("Upgradeable", "UpgradeableClusterOperators", "UpgradeableClusterVersionOverrides",
         "UpgradeableUpgradeInProgress")  # fmt: skip
"""Every type that the version operator writes, and removes where it does not apply."""
_MINOR, _MAJOR = "between minor versions", "between minor or major versions"
_UPDATING = "An update is already in progress and the details are in the Progressing condition"
_ALL, _OPERATORS, _OVERRIDES, _UPDATE = TYPES
_UPDATES = "requesting a minor or major version update"
_WORDS: Mapping[Release, tuple[str, str, str]] = {
    "4.20": (_MINOR, "upgrades", "continuing"),
    "4.21": (_MINOR, "upgrades", "continuing"),
    "4.22": (_MAJOR, f"upgrades {_MAJOR}", _UPDATES),
    "main": (_MAJOR, f"updates {_MAJOR}", _UPDATES),
}
"""How a release says it: between what, what overrides prevent, and before what they are to be removed."""


def of_version(version: str) -> Release:
    """Return the release whose words a cluster of that version has: the newest one that is known here is main."""
    for release in _WORDS:
        if version.startswith(f"{release}."):
            return release
    return "main"


def echo(
    release: Release, version: Mapping[str, Any], operators: Iterable[Mapping[str, Any]]
) -> list[conditions.Condition]:
    """Return the conditions of ClusterVersion about upgrades; those of TYPES that are missing are to be removed."""
    between, prevented, removed = _WORDS[release]
    overrides = f"Disabling ownership via cluster version overrides prevents {prevented}. "
    overrides += f"Please remove overrides before {removed}."
    states = {operator["metadata"]["name"]: conditions.find(dict(operator), _ALL) for operator in operators}
    blocking = {name: state for name, state in sorted(states.items()) if state.get("status") == "False"}
    overridden = any(override.get("unmanaged") for override in (version.get("spec") or {}).get("overrides") or [])
    updating = conditions.is_true(dict(version), "Progressing")
    if release == "main":
        risks = [("ClusterVersionUpdating", f"{_UPDATING}.")] if updating else []
        risks += [("ClusterVersionOverrides", overrides)] if overridden else []
        # A risk's name is the reason where it may be one; that of an operator has a hyphen, and may not.
        risks += [("RiskNameNotCompatibleWithReasonProperty", state.get("message", "")) for state in blocking.values()]
        if len(risks) < 2:
            return [conditions.Condition(_ALL, "False", reason, message) for reason, message in risks]
        lines = "\n* ".join(message for _, message in risks)
        message = f"Cluster should not be upgraded {between} for multiple reasons:\n* {lines}"
        return [conditions.Condition(_ALL, "False", "MultipleReasons", message)]
    objections = []
    if overridden:
        objections = [conditions.Condition(_OVERRIDES, "False", "ClusterVersionOverridesSet", overrides)]
    objections += _operators(between, blocking)
    if updating:
        objections.append(conditions.Condition(_UPDATE, "True", "UpdateInProgress", _UPDATING))
    if len(objections) < 2:
        return [objection._replace(type=_ALL, status="False") for objection in objections]
    reasons = ",".join(objection.reason for objection in objections)
    lines = "\n* ".join(objection.message for objection in objections)
    message = f"Cluster should not be upgraded {between} for multiple reasons: {reasons}\n* {lines}"
    return [conditions.Condition(_ALL, "False", "MultipleReasons", message), *objections]


def _operators(between: str, blocking: Mapping[str, Mapping[str, Any]]) -> list[conditions.Condition]:
    """Return the objection of ClusterOperators, if there is one: several are one, and then each with its reason."""
    lines = {name: f"Cluster operator {name} should not be upgraded {between}: " for name in blocking}
    if not blocking:
        return []
    if len(blocking) == 1:
        ((name, state),) = blocking.items()
        return [
            conditions.Condition(_OPERATORS, "False", state.get("reason", ""), lines[name] + state.get("message", ""))
        ]
    several = "\n* ".join(
        f"{lines[name]}{state.get('reason', '')}: {state.get('message', '')}" for name, state in blocking.items()
    )
    message = f"Multiple cluster operators should not be upgraded {between}:\n* {several}"
    return [conditions.Condition(_OPERATORS, "False", "ClusterOperatorsNotUpgradeable", message)]
