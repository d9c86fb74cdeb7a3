"""Tells what happens in the cluster as it happens, from watches: phases, checks, conditions, nodes, voters.

It reads only what anybody may read, and says a thing once, when it changes. Every event is looked at (no mirror in
between), so that a phase that lasts a moment is told too.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from . import client, cluster, conditions, kinds, machines

if TYPE_CHECKING:
    from . import terminal

_PHASES = {"Pending": "yellow", "Admitting": "cyan", "Converging": "cyan", "Completed": "green"}
_RETRY_SECONDS = 0.5
_OBJECTION = re.compile(r"Cluster operator (\S+) should not be upgraded")


class Story:
    """Watches and tells. `run` goes on until cancelled."""

    def __init__(self, api: client.Client, screen: terminal.Terminal) -> None:
        self._api = api
        self._screen = screen
        self._told: dict[object, object] = {}
        self._tellers = {
            kinds.INFRASTRUCTURES: self._infrastructure,
            kinds.CLUSTER_OPERATORS: self._operator,
            kinds.NODES: self._node,
            kinds.CONFIG_MAPS: self._endpoints,
            kinds.CLUSTER_VERSIONS: self._version,
            kinds.MACHINE_CONFIG_POOLS: self._pool,
            kinds.INGRESS_CONTROLLERS: self._router,
        }

    async def run(self) -> None:
        """Tell until cancelled."""
        async with asyncio.TaskGroup() as group:
            for kind in self._tellers:
                group.create_task(self._follow(kind))

    async def _follow(self, kind: kinds.Kind) -> None:
        tell = self._tellers[kind]
        async for event in self._api.follow(kind, retry_seconds=_RETRY_SECONDS):
            if isinstance(event, client.Listed):
                for obj in event.objects:
                    tell(obj)
            elif event.deleted:
                self._screen.say(kind.kind.lower(), f"{event.obj['metadata']['name']} is deleted")
            else:
                tell(event.obj)

    def _new(self, key: object, value: object, *, first: bool = True) -> bool:
        """Whether this value is news; with `first` false the first value is only remembered."""
        known = key in self._told
        if known and self._told[key] == value:
            return False
        self._told[key] = value
        return known or first

    def _infrastructure(self, obj: dict[str, Any]) -> None:
        status = obj.get("status") or {}
        pair = f"{status.get('controlPlaneTopology')}/{status.get('infrastructureTopology')}"
        wish = (obj.get("spec") or {}).get("desiredTopology")
        if self._new("wish", wish, first=wish is not None):
            self._screen.say("wish", f"desiredTopology is {wish}" if wish else "desiredTopology is withdrawn", "bold")
        if self._new("topology", pair):
            self._screen.say("topology", f"status is {pair}", "bold")
        record = status.get("topologyTransition") or {}
        phase = record.get("phase")
        if phase and self._new("phase", phase):
            name = f" ({record['name']})" if record.get("name") else ""
            self._screen.say("phase", self._screen.paint(phase, _PHASES.get(phase, "bold")) + name, "bold")
        for check in record.get("checks") or []:
            self._check(check)

    def _check(self, check: dict[str, Any]) -> None:
        key = ("check", check.get("stage"), check["name"])
        message = "" if check["status"] == "Met" else f": {self._shortened(check)}"
        if self._new(key, (check["status"], check.get("message") if message else "")):
            mark = self._screen.mark(check["status"])
            self._screen.say("check", f"{mark} {check['name']} {check['status']}{message}")

    def _shortened(self, check: dict[str, Any]) -> str:
        """Return a check's message; what is wanted and where to look are said once."""
        message = str(check.get("message", ""))
        wanted, found_word, found = message.partition("Found: ")
        found, look, where = found.partition(". Look at ")
        frame = ("frame", check.get("stage"), check["name"])
        if found_word and self._told.get(frame) == (wanted, where):
            return f"found {found}"
        self._told[frame] = (wanted, where)
        return f"{wanted}{found_word}{found}{look}{where}"

    def _operator(self, obj: dict[str, Any]) -> None:
        name = obj["metadata"]["name"]
        if name == "topology":
            for one in (obj.get("status") or {}).get("conditions") or []:
                state = f"{one['type']}={one['status']} {one.get('reason', '')}"
                message = one.get("message", "")
                same = not self._new(("message", one["type"]), message)
                if self._new(("operator", one["type"]), (state, message)):
                    self._screen.say("co topology", state if same else f"{state}: {message}", "blue")
            return
        if not any(one.get("type") == "Progressing" for one in (obj.get("status") or {}).get("conditions") or []):
            return
        progressing = conditions.of(obj, "Progressing")
        if self._new(("moving", name), progressing.get("status"), first=False):
            moving = progressing.get("status") == "True"
            self._screen.say("operator", f"{name} {'is progressing' if moving else 'is stable again'}", "dim")

    def _node(self, obj: dict[str, Any]) -> None:
        name = obj["metadata"]["name"]
        if not (obj.get("status") or {}).get("conditions"):
            return
        words = ["Ready" if conditions.is_true(obj, "Ready") else "NotReady"]
        if (obj.get("spec") or {}).get("unschedulable"):
            words.append("cordoned")
        roles = (one.removeprefix(machines.LABEL) for one in obj["metadata"].get("labels") or {})
        labels = [one for one in roles if "/" not in one and one in ("control-plane", "worker")]
        if self._new(("node", name), (words, labels)):
            self._screen.say("node", f"{name} {', '.join(words)} ({', '.join(sorted(labels))})")

    def _endpoints(self, obj: dict[str, Any]) -> None:
        if (obj["metadata"].get("namespace"), obj["metadata"]["name"]) != (
            cluster.ETCD_NAMESPACE,
            cluster.ETCD_ENDPOINTS,
        ):
            return
        voters = obj.get("data") or {}
        if self._new("voters", sorted(voters)):
            self._screen.say("etcd", f"{len(voters)} voter{'s' if len(voters) != 1 else ''}")

    def _version(self, obj: dict[str, Any]) -> None:
        said = conditions.of(obj, "Upgradeable")
        if self._new("upgradeable", said.get("message"), first=bool(said)):
            who = " and ".join(_OBJECTION.findall(str(said.get("message")))) or "somebody"
            self._screen.say("version", f"upgrades are held back by {who}" if said else "upgrades are free again")
        progressing = conditions.of(obj, "Progressing")
        if self._new("upgrading", progressing.get("message"), first=False):
            self._screen.say("version", str(progressing.get("message")))

    def _pool(self, obj: dict[str, Any]) -> None:
        status = obj.get("status") or {}
        count = status.get("machineCount")
        updated = status.get("updatedMachineCount")
        if count is not None and self._new(("pool", obj["metadata"]["name"]), (updated, count), first=False):
            self._screen.say("pool", f"{obj['metadata']['name']}: {updated} of {count} machines updated", "dim")

    def _router(self, obj: dict[str, Any]) -> None:
        available = (obj.get("status") or {}).get("availableReplicas")
        if self._new(("router", obj["metadata"]["name"]), available, first=False):
            self._screen.say("router", f"{obj['metadata']['name']}: {available} available", "dim")
