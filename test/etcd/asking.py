"""One question about real members, put the way the operator puts it: folder, survey, fact, check.

What the etcd operator publishes is good by default: the ids of the voters that etcd really has. So a result that is
not Met owes it to the members, or to what a test lets be published instead.
"""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from test import polling
from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller import bindata
from topology_controller.checks import catalog, result
from topology_controller.definitions import load
from topology_controller.observe import facts, members

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Mapping

    from topology_simulator.etcd import cluster

MET, UNMET, UNKNOWN = CheckStatus.MET, CheckStatus.UNMET, CheckStatus.UNKNOWN
BUDGET = 1.0
LATEST = 0.5 * polling.PATIENCE
"""Seconds that an answer may come after the budget, on a busy machine."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the check said, the fact that it was made from, and how long that took."""

    status: CheckStatus
    message: str
    fact: facts.Fact[facts.EtcdMembers]
    seconds: float

    @property
    def voices(self) -> tuple[facts.EtcdVoice, ...]:
        """What the members said that answered."""
        assert isinstance(self.fact, facts.EtcdMembers), self.fact
        return self.fact.voices

    def voice(self, member: str) -> facts.EtcdVoice:
        """What the member with this id said."""
        return next(one for one in self.voices if one.member == member)


async def ids(etcd: cluster.Cluster) -> dict[str, str]:
    """Hexadecimal ids by name, of all members."""
    return {etcd.name_of(one): one.hexadecimal for one in await etcd.listed(linearizable=False)}


async def published(etcd: cluster.Cluster) -> dict[str, str]:
    """What the etcd operator would publish: ids of voters with an address each."""
    found = await etcd.listed(linearizable=False)
    return {one.hexadecimal: f"192.168.126.{10 + number}" for number, one in enumerate(found) if not one.learner}


class Asker:
    """An operator's way to the members: its certificates and where it was told to ask, kept from question to question.

    `endpoints`: where to ask; all members' client URLs when not given. `data`: what is published; the truth of that
    moment when not given.
    """

    def __init__(
        self,
        etcd: cluster.Cluster,
        *,
        folder: pathlib.Path | None = None,
        endpoints: tuple[str, ...] | None = None,
        data: Mapping[str, str] | None = None,
    ) -> None:
        self.etcd = etcd
        self.folder = folder or etcd.client_folder()
        self._members = members.Members(self.folder, etcd.urls if endpoints is None else endpoints, budget=BUDGET)
        self._data = data

    async def ask(self) -> Answer:
        """Ask once; an answer that comes late is an error."""
        data = await published(self.etcd) if self._data is None else self._data
        endpoints = facts.EtcdEndpoints(tuple(sorted(data.items())))
        started = time.monotonic()
        found = await self._members.read(endpoints)
        seconds = time.monotonic() - started
        assert seconds < BUDGET + LATEST, f"asked for {seconds:.2f} s: {found}"
        known = facts.Facts(etcd_members=found, etcd_endpoints=endpoints, control_plane_nodes=(), other_nodes=())
        told = catalog.answer(_question(known))
        return Answer(told.status, told.message, found, seconds)

    async def until(self, *statuses: CheckStatus, words: str = "", seconds: float = 5.0) -> Answer:
        """Ask until the answer is one of these and has these words; never Met on the way, unless Met is wanted."""
        last: list[Answer] = []

        async def look() -> Answer | None:
            last[:] = [await self.ask()]
            if last[0].status is MET and MET not in statuses:
                raise AssertionError("Met on the way")
            return last[0] if last[0].status in statuses and words in last[0].message else None

        try:
            return await polling.until(f"{' or '.join(statuses)} with {words!r}", look, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; {last[0].status}: {last[0].message}") from None


async def ask(etcd: cluster.Cluster, **how: object) -> Answer:
    """Ask once (see `Asker`)."""
    return await Asker(etcd, **how).ask()  # type: ignore[arg-type]  # handed on


def _question(known: facts.Facts) -> result.CheckContext:
    loaded = load.load(bindata.root() / "transitions", members_directly=True)
    definition = next(one for one in loaded.definitions if one.name == "sno-to-ha-compact")
    spec = next(one for one in definition.preflight if one.check is CheckName.ETCD_MEMBERS_DIRECT)
    return result.CheckContext(known, spec, definition, dt.datetime.now(dt.UTC))
