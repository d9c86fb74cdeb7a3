"""The etcd operator with a real etcd behind it: what it publishes is what the members say, and nothing else.

The ConfigMap has the ids that etcd gave to its voters and the addresses of their nodes; the processes listen on
loopback. A node that is not Ready is a machine that is off, and its member with it. When members cannot be listed (no
quorum), the ConfigMap falls to node names, as the real operator's does, and the conditions stay as they were: what
looks like three voters then proves nothing, which is the point of having it here.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any
from urllib import parse

from topology_simulator import cluster, conditions, kinds
from topology_simulator.etcd import EtcdError, gateway
from topology_simulator.etcd import cluster as etcds

from . import etcd_operator

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 0.2
"""Members change without an event at the API."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """One look at the members, by name of their nodes."""

    members: dict[str, gateway.Member]
    unhealthy: tuple[str, ...]

    @property
    def voters(self) -> dict[str, gateway.Member]:
        return {name: member for name, member in self.members.items() if not member.learner}

    @property
    def learners(self) -> tuple[str, ...]:
        return tuple(name for name, member in self.members.items() if member.learner and member.name)

    @property
    def unstarted(self) -> tuple[str, ...]:
        return tuple(name for name, member in self.members.items() if not member.name)


class RealEtcdOperator(etcd_operator.EtcdOperator):
    """Keeps the membership of a real etcd whose first member runs already."""

    etcd: etcds.Cluster
    """Set before `run`."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._off: set[str] = set()
        self._addresses: dict[str, str] = {}

    async def _look(self, endpoints: dict[str, Any], etcd: dict[str, Any]) -> None:
        """Look at the members, say what was seen, and do one thing about it."""
        self._addresses |= {name: self.address(name) for name in self._masters()}
        self.waits.start("look", _LOOK_SECONDS)
        try:
            await self._switch_machines()
            try:
                seen = await self._read_members()
            except EtcdError as error:
                await self._cannot_look(endpoints, etcd, error)
                return
            homes = {
                # The last known address where the node is gone.
                member.hexadecimal: self._addresses.get(name) or str(parse.urlsplit(member.peer_urls[0]).hostname)
                for name, member in seen.voters.items()
            }
            await self._publish(endpoints, homes)
            await self._hook({self.address(name) for name in seen.members})
            await self._tell_seen(etcd, seen)
            if await self._change(seen):
                self.mirror.wake()
        except EtcdError as error:
            _LOG.info("%s: %s", self.agent, error)

    # -- what is seen, and said

    async def _read_members(self) -> _Seen:
        members = {self.etcd.name_of(member) or member.hexadecimal: member for member in await self.etcd.listed()}
        started = [name for name, member in members.items() if member.client_urls]
        healthy = await asyncio.gather(*(self.etcd.client.healthy(members[name].client_urls[0]) for name in started))
        return _Seen(members, tuple(name for name, well in zip(started, healthy, strict=True) if not well))

    async def _cannot_look(self, endpoints: dict[str, Any], etcd: dict[str, Any], error: EtcdError) -> None:
        """Do what the real one does without a member list: every control-plane node, keyed by its name."""
        homes = {name: self.address(name) for name in self._masters()}
        await self._publish(endpoints, {name: where for name, where in homes.items() if where})
        text = f"getting the etcd members failed: {error}".partition("\n")[0]
        await self.say(kinds.ETCDS, etcd, conditions.stated("etcd members not listed", text=text))
        await self._degrade("EtcdMembersController_ErrorListing", f"EtcdMembersControllerDegraded: {text}")

    async def _publish(self, endpoints: dict[str, Any], wanted: dict[str, str]) -> None:
        present = endpoints.get("data") or {}
        change: dict[str, str | None] = {key: value for key, value in wanted.items() if present.get(key) != value}
        change |= dict.fromkeys(set(present) - set(wanted))
        if change:
            await self.patch(kinds.CONFIG_MAPS, endpoints, {"data": change})

    async def _tell_seen(self, etcd: dict[str, Any], seen: _Seen) -> None:
        listed = conditions.stated("etcd members listed")
        states = cluster.etcd_states(len(seen.members), unhealthy=seen.unhealthy, starting=seen.unstarted)
        rolling = [*seen.unstarted, *(name for name in seen.learners if name not in self.troubles.learners)]
        await self.say(kinds.ETCDS, etcd, [*states, *listed])
        await self._tell_operator(rolling[0] if rolling else "", seen.unhealthy)

    # -- what is done

    async def _switch_machines(self) -> None:
        """Let a member go down with its machine, and come back with it."""
        masters = self._masters()
        for name, member in tuple(self.etcd.members.items()):
            if name not in masters:
                continue
            up = conditions.is_true(masters[name], "Ready")
            if not up and member.running:
                await member.kill()
                self._off.add(name)
            elif up and name in self._off:
                self._off.discard(name)
                await member.start_again()

    async def _change(self, seen: _Seen) -> bool:
        """Remove, start, promote or add one member; whether anything was changed.

        While a member is unhealthy, only one whose node is gone is dealt with.
        """
        masters = self._masters()
        for name in seen.members:
            gone = name not in masters or (name in seen.learners and self._is_leaving(name))
            if gone and self.waits.over(("gone", name), self.pace.etcd_sync):
                await self.etcd.remove(name)
                self._off.discard(name)
                return True
        left = self._left(set(seen.voters), seen.unhealthy)
        if left and self.waits.over(("left", left), self.pace.etcd_sync):
            await self.etcd.remove(left)
            return True
        if seen.unhealthy:
            return False
        for name in seen.unstarted:
            if name in masters and self.waits.over(("start", name), self.pace.etcd_start):
                await self.etcd.start(name)
                return True
        if seen.learners or seen.unstarted:
            return await self._promote_one(seen)
        ready = [name for name, node in masters.items() if conditions.is_true(node, "Ready")]
        for name in ready:
            if name not in seen.members and self._may_join(name):
                await self.etcd.announce(name)
                return True
        return False

    async def _promote_one(self, seen: _Seen) -> bool:
        for name in seen.learners:
            if name in self.troubles.learners or not self._may_join(name):
                continue
            if not self.waits.due(("sync", name), self.pace.etcd_sync):
                continue
            if await self.etcd.try_to_promote(name) is None:
                self.waits.clear(("sync", name), "settled")
                return True
        return False
