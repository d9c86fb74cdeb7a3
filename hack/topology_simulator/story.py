"""Tells what happens in the cluster as it happens, from watches: phases, checks, conditions, nodes, voters.

A thing is printed once, when it changes; every event is looked at, so that a phase that lasts a moment is shown too.
What changes by the dozen while a cluster converges is printed in beats. The message of a convergence check is printed
only when the check has been among the last ones for a while: that is the one that may need action.
"""

import asyncio
import re
from typing import Any

from . import client, cluster, conditions, kinds, machine_api, machines, terminal

_PHASES = {"Pending": "yellow", "Admitting": "cyan", "Converging": "cyan", "Completed": "green"}
_RETRY_SECONDS = 0.5
_BEAT_SECONDS = 0.4
_CHECKS = " checks not met: "
_OBJECTION = re.compile(r"Cluster operator (\S+) should not be upgraded")
_FEW, _LONG_SECONDS = 2, 2.0


class Story:
    """Watches and tells. `run` continues until cancelled."""

    def __init__(self, api: client.Client, screen: terminal.Terminal) -> None:
        self._api = api
        self._screen = screen
        self._shown: dict[object, object] = {}
        self._checks: list[dict[str, Any]] = []
        self._waiting: list[str] = []
        self._since = 0.0
        self._operators: dict[str, bool] = {}
        self._later: dict[object, tuple[object, str, str, bool]] = {}
        self._tellers = {
            kinds.INFRASTRUCTURES: self._infrastructure,
            kinds.CLUSTER_OPERATORS: self._operator,
            kinds.NODES: self._node,
            kinds.CONFIG_MAPS: self._endpoints,
            kinds.CLUSTER_VERSIONS: self._version,
            kinds.MACHINE_CONFIG_POOLS: self._pool,
            kinds.INGRESS_CONTROLLERS: self._router,
            kinds.KUBE_API_SERVERS: self._static_pods,
            kinds.CONFIGS: self._native,
            kinds.MACHINES: self._machine,
            kinds.BARE_METAL_HOSTS: self._host,
        }

    async def run(self) -> None:
        """Tell until cancelled."""
        async with asyncio.TaskGroup() as group:
            for kind in self._tellers:
                group.create_task(self._follow(kind))
            while True:
                await asyncio.sleep(_BEAT_SECONDS)
                self._beat()

    async def _follow(self, kind: kinds.Kind) -> None:
        async for obj, deleted in self._api.states(kind, retry_seconds=_RETRY_SECONDS):
            if deleted:
                self._screen.say(kind.kind.lower(), f"{obj['metadata']['name']} is deleted")
            else:
                self._tellers[kind](obj)

    def _new(self, key: object, value: object, *, first: bool = True) -> bool:
        """Whether this value is news; with `first` false the first value is only remembered."""
        known = key in self._shown
        if known and self._shown[key] == value:
            return False
        self._shown[key] = value
        return known or first

    def _beat(self) -> None:
        for key, (value, subject, text, first) in self._later.items():
            if self._new(key, value, first=first):
                self._screen.say(subject, text, "" if subject == "node" else "dim")
        self._later.clear()
        for moving, words in ((True, "progressing"), (False, "stable again")):
            names = [name for name, now in self._operators.items() if now is moving]
            names = [name for name in names if self._new(("moving", name), moving, first=moving)]
            if names:
                self._screen.say("operator", f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} {words}", "dim")
        for check in self._checks:
            if check["stage"] == "Preflight":
                self._tell_check(check)
        self._converging([check for check in self._checks if check["stage"] == "Convergence"])

    def _converging(self, checks: list[dict[str, Any]]) -> None:
        for word in ("Met", "Unmet", "Unknown"):
            names = [check["name"] for check in checks if check["status"] == word]
            names = [name for name in names if self._new(("converging", name), word)]
            if names:
                self._screen.say("check", f"{self._screen.mark(word)} {', '.join(names)} {word}")
        waiting = [check["name"] for check in checks if check["status"] != "Met"]
        if waiting != self._waiting:
            self._waiting, self._since = waiting, self._screen.seconds
        elif len(waiting) <= _FEW and self._screen.seconds - self._since >= _LONG_SECONDS:
            for check in checks:
                if check["name"] in waiting:
                    self._tell_check(check)

    def _tell_check(self, check: dict[str, Any]) -> None:
        """Print a check that is another than before, with its message; one that is Met needs none."""
        status, name = check["status"], check["name"]
        message = "" if status == "Met" else f": {check.get('message', '')}"
        if self._new(("check", check["stage"], name), (status, message)):
            self._screen.say("check", f"{self._screen.mark(status)} {name} {status}{message}")

    def _infrastructure(self, obj: dict[str, Any]) -> None:
        status = obj.get("status") or {}
        pair = f"{status.get('controlPlaneTopology')}/{status.get('infrastructureTopology')}"
        desired = (obj.get("spec") or {}).get("desiredTopology")
        if self._new("request", desired, first=desired is not None):
            text = f"desiredTopology is {desired}" if desired else "desiredTopology is cancelled"
            self._screen.say("request", text, "bold")
        if self._new("topology", pair):
            self._screen.say("topology", f"status is {pair}", "bold")
        record = status.get("topologyTransition") or {}
        phase = record.get("phase")
        if phase and self._new("phase", phase):
            self._beat()
            name = f" ({record['name']})" if record.get("name") else ""
            self._screen.say("phase", self._screen.paint(phase, _PHASES.get(phase, "bold")) + name, "bold")
        self._checks = record.get("checks") or []
        self._advisories(record.get("advisories") or [])

    def _advisories(self, advisories: list[dict[str, Any]]) -> None:
        for advisory in advisories:
            if self._new(("advisory", advisory["name"]), advisory.get("message")):
                sign = self._screen.paint("!", "yellow")
                self._screen.say("advisory", f"{sign} {advisory['name']}: {advisory.get('message', '')}", "yellow")
                self._screen.say("", self._screen.paint(f"$ {advisory.get('command', '')}", "bold"))
        names = {advisory["name"] for advisory in advisories}
        for key in [key for key in self._shown if isinstance(key, tuple) and key[0] == "advisory"]:
            if key[1] not in names:
                del self._shown[key]
                self._screen.say("advisory", f"{self._screen.mark('Met')} {key[1]} is no longer needed", "yellow")

    def _machine(self, obj: dict[str, Any]) -> None:
        phase, name = machine_api.phase(obj), obj["metadata"]["name"]
        if phase and self._new(("machine", name), phase, first=phase != "Running"):
            self._screen.say("machine", f"{name} is {phase}", "dim")

    def _host(self, obj: dict[str, Any]) -> None:
        status, name = obj.get("status") or {}, obj["metadata"]["name"]
        state = (status.get("provisioning") or {}).get("state")
        text = f"{state}, {status.get('errorType')}: {status.get('errorMessage')}" if status.get("errorType") else state
        if text and self._new(("host", name), text, first=state != "externally provisioned"):
            self._screen.say("host", f"{name} is {text}", "dim")

    def _operator(self, obj: dict[str, Any]) -> None:
        name, states = obj["metadata"]["name"], (obj.get("status") or {}).get("conditions") or []
        if name != "topology":
            if conditions.find(obj, "Progressing"):
                self._operators[name] = conditions.is_true(obj, "Progressing")
            return
        for condition in states:
            state = f"{condition['type']}={condition['status']} {condition.get('reason', '')}"
            # The checks are printed by themselves.
            message = "" if _CHECKS in condition.get("message", "") else condition.get("message", "")
            if self._new(("operator", condition["type"]), (state, message)):
                self._screen.say("co topology", f"{state}: {message}" if message else state, "blue")

    def _node(self, obj: dict[str, Any]) -> None:
        name = obj["metadata"]["name"]
        if not (obj.get("status") or {}).get("conditions"):
            return
        words = ["Ready" if conditions.is_true(obj, "Ready") else "NotReady"]
        if (obj.get("spec") or {}).get("unschedulable"):
            words.append("cordoned")
        roles = (role.removeprefix(machines.LABEL) for role in obj["metadata"].get("labels") or {})
        labels = sorted(role for role in roles if role in ("control-plane", "worker"))
        self._later["node", name] = ((words, labels), "node", f"{name} {', '.join(words)} ({', '.join(labels)})", True)

    def _endpoints(self, obj: dict[str, Any]) -> None:
        meta = obj["metadata"]
        if (meta.get("namespace"), meta["name"]) == (cluster.ETCD_NAMESPACE, cluster.ETCD_ENDPOINTS):
            voters = obj.get("data") or {}
            if self._new("voters", sorted(voters)):
                self._screen.say("etcd", f"{len(voters)} voter{'s' if len(voters) != 1 else ''}")

    def _version(self, obj: dict[str, Any]) -> None:
        condition = conditions.find(obj, "Upgradeable")
        if self._new("upgradeable", condition.get("message"), first=bool(condition)):
            who = " and ".join(_OBJECTION.findall(str(condition.get("message")))) or "the version operator"
            self._screen.say("version", f"upgrades are blocked by {who}" if condition else "upgrades are allowed again")
        progressing = conditions.find(obj, "Progressing")
        if self._new("upgrading", progressing.get("message"), first=False):
            self._screen.say("version", str(progressing.get("message")))

    def _pool(self, obj: dict[str, Any]) -> None:
        status, name = obj.get("status") or {}, obj["metadata"]["name"]
        count, updated = status.get("machineCount"), status.get("updatedMachineCount")
        if count is not None:
            text = f"{name}: {updated} of {count} machines updated"
            self._later["pool", name] = ((updated, count), "pool", text, False)

    def _router(self, obj: dict[str, Any]) -> None:
        available, name = (obj.get("status") or {}).get("availableReplicas"), obj["metadata"]["name"]
        if self._new(("router", name), available, first=False):
            self._screen.say("router", f"{name}: {available} available", "dim")

    def _static_pods(self, obj: dict[str, Any]) -> None:
        status = obj.get("status") or {}
        latest, nodes = status.get("latestAvailableRevision"), status.get("nodeStatuses") or []
        done = sum(node.get("currentRevision") == latest for node in nodes)
        text = f"kube-apiserver: revision {latest} on {done} of {len(nodes)} nodes"
        self._later["revision"] = ((latest, done, len(nodes)), "revision", text, False)

    def _native(self, obj: dict[str, Any]) -> None:
        condition = conditions.find(obj, "TopologyTransitionControllerUpgradeable")
        if condition and self._new("native", (condition.get("reason"), condition.get("message"))):
            message = f": {condition['message']}" if condition.get("message") else ""
            self._screen.say("native", f"the native controller says {condition.get('reason')}{message}")
