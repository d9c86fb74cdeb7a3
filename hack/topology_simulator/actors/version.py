"""The cluster version operator, in the two things that matter here: its echo of Upgradeable, and an upgrade.

The echo: while any ClusterOperator says Upgradeable=False, ClusterVersion says so too, a while later, with their
messages inside its own and a reason that tells nothing; when nobody objects the condition is removed, it is never True.
An upgrade starts when `spec.desiredUpdate.version` differs from what runs; it takes its time, or waits to be released
while it is held.
"""

from __future__ import annotations

from typing import Any

from topology_simulator import clock, conditions, kinds, machines

from . import actor

_REASON = "RiskNameNotCompatibleWithReasonProperty"


class Version(actor.Actor):
    """Speaks for ClusterVersion `version`."""

    agent = "cluster-version-operator"
    watched = (kinds.CLUSTER_OPERATORS, kinds.CLUSTER_VERSIONS)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._held = False
        self._released = False
        self._opinion = ""

    def hold_upgrades(self) -> None:
        """Let the present or next upgrade go on until `release_upgrades`."""
        self._held, self._released = True, False

    def release_upgrades(self) -> None:
        """Let the held upgrade finish now."""
        self._held = False
        self._released = True
        self.mirror.wake()

    async def step(self) -> None:
        """Echo objections, and move an upgrade on."""
        version = self.mirror.get(kinds.CLUSTER_VERSIONS, "version")
        if version is None:
            return
        await self._echo(version)
        await self._upgrade(self.mirror.get(kinds.CLUSTER_VERSIONS, "version") or version)

    async def _echo(self, version: dict[str, Any]) -> None:
        opinion = self._objections()
        if opinion == conditions.of(version, "Upgradeable").get("message", ""):
            self.waits.clear("echo")
            return
        if opinion != self._opinion:
            self._opinion = opinion
            self.waits.clear("echo")
        if not self.waits.due("echo", self.pace.version_echo):
            return
        wanted = [conditions.Condition("Upgradeable", "False", _REASON, opinion)] if opinion else []
        found = conditions.merged(version, wanted, without=() if opinion else ("Upgradeable",))
        if found is not None:
            await self.patch(kinds.CLUSTER_VERSIONS, version, {"status": {"conditions": found}}, "status")

    def _objections(self) -> str:
        found = []
        for operator in self.mirror.all(kinds.CLUSTER_OPERATORS):
            said = conditions.of(operator, "Upgradeable")
            if said.get("status") == "False":
                name = operator["metadata"]["name"]
                found.append(
                    f"Cluster operator {name} should not be upgraded between minor versions: {said.get('message', '')}"
                )
        if len(found) < 2:
            return "".join(found)
        lines = "\n".join(f"* {one}" for one in found)
        return f"Multiple cluster operators should not be upgraded between minor versions:\n{lines}"

    async def _upgrade(self, version: dict[str, Any]) -> None:
        status = version["status"]
        wanted = ((version.get("spec") or {}).get("desiredUpdate") or {}).get("version") or ""
        running = next((one["version"] for one in status["history"] if one["state"] == "Completed"), "")
        if wanted in ("", running):
            return
        if status["desired"]["version"] != wanted:
            self.waits.clear("upgrade")
            self.waits.due("upgrade", self.pace.upgrade)
            await self._begin(version, wanted)
        elif not self._held and (self._released or self.waits.due("upgrade", self.pace.upgrade)):
            await self._finish(version, wanted)

    async def _begin(self, version: dict[str, Any], wanted: str) -> None:
        digest = machines.digest("release", wanted)
        release = {"version": wanted, "image": f"quay.io/openshift-release-dev/ocp-release@sha256:{digest}"}
        entry = {
            "state": "Partial",
            **release,
            "startedTime": clock.second(),
            "completionTime": None,
            "verified": False,
        }
        message = f"Working towards {wanted}: 12 of 910 done (1% complete)"
        started = conditions.merged(version, [conditions.Condition("Progressing", "True", "", message)])
        status = {
            **version["status"],
            "conditions": started or version["status"]["conditions"],
            "desired": release,
            "history": [entry, *version["status"]["history"]],
            "observedGeneration": version["metadata"]["generation"],
        }
        # The completion time is null and must be there, which a merge patch cannot say.
        done = await self.api.put_status(kinds.CLUSTER_VERSIONS, {**version, "status": status})
        self.mirror.keep(kinds.CLUSTER_VERSIONS, done)

    async def _finish(self, version: dict[str, Any], wanted: str) -> None:
        self._released = False
        self.waits.clear("upgrade")
        newest, *older = version["status"]["history"]
        entry = {**newest, "state": "Completed", "completionTime": clock.second()}
        for operator in self.mirror.all(kinds.CLUSTER_OPERATORS):
            if operator["metadata"]["name"] == "topology":
                continue  # not of the payload: it tells its own version
            versions = [{"name": "operator", "version": wanted}]
            await self.say(kinds.CLUSTER_OPERATORS, operator, [], versions=versions)
        done = [
            conditions.Condition("Available", "True", "", f"Done applying {wanted}"),
            conditions.Condition("Progressing", "False", "", f"Cluster version is {wanted}"),
        ]
        await self.say(kinds.CLUSTER_VERSIONS, version, done, history=[entry, *older])
