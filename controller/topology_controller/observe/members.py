"""What the members of etcd say themselves, as a fact: asked once (`Members`), or again and again (`Poll`).

While a request is open etcd is asked every few seconds, and at once when the etcd operator publishes other members: at
the endpoints that the administrator has named, else at every address that the etcd operator publishes. The package
`etcd` adds every voter that a member list reveals, at the hosts of both and nowhere else. It is imported, with this
module, only where there is a certificate folder.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from .. import mounted
from ..etcd import client, survey
from . import facts, fields

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

WHAT = "the members of etcd"
PERIOD = 4.5  # seconds from the end of a survey to the next
_GAP = 1.0  # seconds of rest after a survey, whatever happens
_STRANGE = "not asked: its address is not in ConfigMap openshift-etcd/etcd-endpoints"
_NOT_ASKED = facts.Unobserved(WHAT, "they are not asked while nothing is wanted")
_AWAITED = facts.Unobserved(WHAT, "not asked yet", kind=facts.Kind.AWAITED)


class Members:
    """One way to the members of etcd: at `endpoints`, else the published addresses; `budget` seconds for a reading."""

    def __init__(
        self,
        folder: pathlib.Path,
        endpoints: tuple[str, ...] = (),
        *,
        budget: float = survey.BUDGET,
        observer: Callable[[str], None] | None = None,
    ) -> None:
        self._folder, self._endpoints = client.Folder(folder), endpoints
        self._budget, self._observer = budget, observer
        self.poll = Poll(self)

    async def read(self, published: facts.Fact[facts.EtcdEndpoints]) -> facts.Fact[facts.EtcdMembers]:
        """Ask every member now. Whatever goes wrong becomes the fact."""
        places = _published_endpoints(published)
        endpoints = self._endpoints or places
        if isinstance(endpoints, facts.Unobserved):
            return endpoints
        known = endpoints if isinstance(places, facts.Unobserved) else (*endpoints, *places)
        hosts = frozenset(map(client.host_of, known))
        try:
            context = self._folder.context()
        except mounted.MountedFileError as error:
            return facts.Unobserved(str(error.path), f"it {error.reason}")
        probes = await survey.survey(context, endpoints, hosts, budget=self._budget, observer=self._observer)
        return _fact(probes, hosts)


def _published_endpoints(published: facts.Fact[facts.EtcdEndpoints]) -> tuple[str, ...] | facts.Unobserved:
    if isinstance(published, facts.Unobserved):
        return facts.Unobserved(WHAT, f"where they are could not be read: {published}")
    # A key may be a node's name (the etcd operator could not list members): for asking, its address is as good.
    addresses = (fields.address(value) for _, value in published)
    endpoints = tuple(sorted({client.endpoint_at(address) for address in addresses if address}))
    return endpoints or facts.Unobserved(WHAT, "ConfigMap openshift-etcd/etcd-endpoints has no address to ask at")


def _fact(probes: tuple[survey.Probe, ...], hosts: frozenset[str]) -> facts.Fact[facts.EtcdMembers]:
    advertised: dict[str, set[str]] = {}
    voices: list[facts.EtcdVoice] = []
    silences: dict[str, facts.EtcdSilence] = {}
    for member in (member for probe in probes if probe.listed is not None for member in probe.listed.members):
        for url in member.client_urls:
            try:
                endpoint = client.parse_endpoint(url)
            except ValueError as error:
                silences[url] = facts.EtcdSilence(url, (member.id,), f"not asked: {error}")
                continue
            advertised.setdefault(endpoint, set()).add(member.id)
            if client.host_of(endpoint) not in hosts:
                silences[endpoint] = facts.EtcdSilence(endpoint, (member.id,), _STRANGE)
    for probe in probes:
        voice = _voice(probe)
        if isinstance(voice, facts.EtcdVoice):
            voices.append(voice)
        else:
            members = tuple(sorted(advertised.get(probe.endpoint, ())))
            silences[probe.endpoint] = facts.EtcdSilence(probe.endpoint, members, voice.why, down=voice.down)
    unanswered = tuple(silences[endpoint] for endpoint in sorted(silences))
    if not voices:
        shown = "; ".join(f"{silence.endpoint}: {silence.why}" for silence in unanswered[:3])
        return facts.Unobserved(WHAT, f"none of them answered: {shown}")
    return facts.EtcdMembers(tuple(voices), unanswered)


def _voice(probe: survey.Probe) -> facts.EtcdVoice | client.EtcdError:
    status, listed, confirmed = probe.status, probe.listed, probe.confirmed
    if isinstance(status, client.EtcdError):
        return status
    if listed is not None and listed.member != status.member:
        return client.EtcdError(probe.endpoint, "several members answer there: name an endpoint of each member's own")
    asked = probe.healthy
    healthy = facts.Unobserved(f"{probe.endpoint}/health", asked.why) if isinstance(asked, client.EtcdError) else asked
    members = [facts.EtcdMember(item.id, item.name, item.learner) for item in (listed.members if listed else ())]
    return facts.EtcdVoice(
        endpoint=probe.endpoint,
        member=status.member,
        cluster=status.cluster,
        members=tuple(members),
        confirmed=not isinstance(confirmed, client.EtcdError),
        leader=status.leader or None,
        term=status.term,
        learner=status.learner,
        healthy=healthy,
        errors=status.errors,
        unconfirmed=confirmed.why if isinstance(confirmed, client.EtcdError) else "",
    )


class Poll:
    """Keeps the fact current between `start` and `stop`, by one survey at a time."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._nudged = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.fact: facts.Fact[facts.EtcdMembers] = _NOT_ASKED

    def start(self, published: Callable[[], facts.Fact[facts.EtcdEndpoints]], on_change: Callable[[], None]) -> None:
        """Ask from now on, at the addresses that are `published` then; `on_change` is called when the fact differs."""
        if self._task is not None:
            return

        def ended(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and task.exception() is not None:
                on_change()

        self.fact = _AWAITED
        self._task = asyncio.create_task(self._run(published, on_change), name="ask etcd")
        self._task.add_done_callback(ended)

    async def stop(self) -> None:
        """Ask no more, and forget what was said."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self.fact = _NOT_ASKED

    def nudge(self) -> None:
        """Ask soon: something that has to do with etcd has changed."""
        self._nudged.set()

    def raise_failed(self) -> None:
        """Re-raise what ended the asking other than being stopped: a bug, which must not pass for silence."""
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.result()

    async def _run(
        self, published: Callable[[], facts.Fact[facts.EtcdEndpoints]], on_change: Callable[[], None]
    ) -> None:
        while True:
            self._nudged.clear()
            places = published()
            if isinstance(places, facts.Unobserved) and places.awaited:
                # The first list of addresses is on its way, and nudges.
                await self._nudge_within(_GAP)
                continue
            fact = await self._members.read(places)
            if fact != self.fact:
                self.fact = fact
                on_change()
            await asyncio.sleep(_GAP)
            await self._nudge_within(PERIOD - _GAP)

    async def _nudge_within(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._nudged.wait()
