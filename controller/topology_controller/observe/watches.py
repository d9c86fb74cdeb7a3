"""Keeps the facts current: the idle watches always, a single node's voters too, all others while a request is open.

A watch that has been in trouble for longer than its grace is no longer believed: its facts become `Unobserved`. One
that is in trouble right now is named in `Facts.disturbed`, so that nothing is called finished from old news; accepted
checks are no evidence, and disturb nothing. etcd's members (`members`) are asked again and again while that is wanted.

Where a list, or our own lease, shows that the API server's store was put back to an earlier state, `restored` is set:
what is known may never have happened, and `read_anew` forgets all of it. Whether the holder of the etcd operator's
lease is alive cannot be read from another machine's clock: when it was seen renewed is noted on our own, too.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from ..kube import errors, reflector
from . import catalog, facts, live

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from ..kube import client as clients
    from ..kube import watch
    from . import members

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class _Watch:
    source: catalog.Source
    reflector: reflector.Reflector[Any]
    task: asyncio.Task[None]
    fact: Any = None  # what it has brought, as a fact; None where that is to be made anew


class Watches:
    """All watches of the operator, with `async with`; `open` and `close` switch `sources` (see `catalog.watched`)."""

    def __init__(  # noqa: PLR0913 - where from, what, how often, and who is called
        self,
        client: clients.Client,
        on_change: Callable[[], None],
        *,
        sources: tuple[catalog.Source, ...],
        timing: watch.Timing | None = None,
        etcd: members.Poll | None = None,
        on_restored: Callable[[], None] = lambda: None,
    ) -> None:
        self._client, self._timing, self._etcd = client, timing, etcd
        self._on_change, self._on_restored = on_change, on_restored
        self._sources = tuple(source for source in sources if not source.beside)
        self._beside = tuple(source for source in sources if source.beside)
        self._idle = catalog.IDLE
        self._watches: dict[str, _Watch] = {}
        self._lease_seen: datetime | None = None
        self._lease_moved: float | None = None
        self._lease_still: asyncio.TimerHandle | None = None
        self._news = asyncio.Event()
        self._answered = False  # while the answer to a write of ours is taken in: who wrote knows what follows from it
        self._unseen_since: float | None = None
        # Everything as it was assembled last; None once a watch has brought something.
        self._kept: facts.Facts | None = None
        self._reading = False
        self._in_trouble: list[_Watch] = []
        self._logged: dict[str, str | None] = {}
        self.installed: facts.Fact[facts.Installed] = facts.NOT_READ
        self.restored = asyncio.Event()
        self.is_open = False

    async def __aenter__(self) -> Self:
        self._start(catalog.IDLE)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
        await self._stop(tuple(self._watches))

    def open(self) -> None:
        """Watch what a request is decided from."""
        if not self.is_open:
            self.is_open, self._kept = True, None
            self._start(self._sources)

    async def close(self) -> None:
        """Ask etcd no more, stop all but the idle watches, and forget what they knew."""
        await self.ask_etcd(wanted=False)
        evidence, self.is_open, self._kept = self._evidence(), False, None
        await self._stop(watch.source.key for watch in evidence if watch.source not in self._idle)
        self._lease_seen = self._lease_moved = None
        self._look_once_still(None)

    def put_back(self, why: str) -> None:
        """Note that the store was put back to an earlier state; every watch may show it."""
        if not self.restored.is_set():
            self._on_restored()
            _LOG.warning("the API server's store was restored from a backup (%(why)s): reading all anew", {"why": why})
        self.restored.set()
        self._on_change()

    async def read_anew(self) -> None:
        """Forget what was read from a store that was put back, and wait for the first answers of the idle watches."""
        await self.close()
        await self._stop(tuple(self._watches))
        self.installed = facts.NOT_READ
        self._start(catalog.IDLE)
        await self.first_answers()
        # Not before: until now others may have noticed the same.
        self.restored.clear()

    async def ask_for_voters(self, *, wanted: bool) -> None:
        """Begin or end watching etcd's voters while nothing is requested; with a request they are watched anyway."""
        self._idle = (*catalog.IDLE, *([catalog.Sources.etcd_endpoints] if wanted else ()))
        self._start(self._idle)
        if not (wanted or self.is_open):
            await self._stop([catalog.Sources.etcd_endpoints.key])

    async def ask_for_acceptances(self, *, wanted: bool) -> None:
        """Begin or end watching the accepted checks."""
        if wanted:
            self._start(self._beside)
        else:
            await self._stop(source.key for source in self._beside)

    async def ask_etcd(self, *, wanted: bool) -> None:
        """Begin or end asking etcd's members, where there is a way to them."""
        if self._etcd is not None and wanted:
            self._etcd.start(functools.partial(self.fact, catalog.Sources.etcd_endpoints), self._on_change)
        elif self._etcd is not None:
            await self._etcd.stop()

    async def first_answers(self) -> None:
        """Wait until every open watch has read its first list, has a reason why it could not, or died of a bug."""
        while any(
            not watch.task.done() and not watch.reflector.synced and watch.reflector.error is None
            for watch in self._watches.values()
        ):
            self._news.clear()
            await self._news.wait()

    @property
    def troubles(self) -> tuple[str, ...]:
        """Watches that cannot be relied on, with the reason; empty when all are well."""
        return tuple(str(self._fact(watch)) for watch in self._evidence() if not watch.reflector.alive)

    def trouble(self, source: catalog.Source) -> errors.KubeError | None:
        """What the watch of this source is in trouble with now; None when it works, or is not open."""
        watch = self._watches.get(source.key)
        return None if watch is None else watch.reflector.error

    def unsure(self) -> bool:
        """Whether a watch of what we write has yet to say if the store was put back: the API server was away."""
        written = (self.trouble(source) for source in (catalog.Sources.infrastructure, catalog.Sources.own_operator))
        return any(trouble is not None and trouble.may_pass for trouble in written)

    def last_activity(self) -> dict[str, float]:
        """Unix time of the last sign of life of each open watch, by the key of its source."""
        return {watch.source.key: watch.reflector.last_activity for watch in self._evidence()}

    def apply(self, source: catalog.Source, raw: dict[str, Any]) -> None:
        """Feed back the server's answer to a write of ours, so that the next decision sees it, and begin none."""
        self._answered = True
        try:
            self._watches[source.key].reflector.apply(raw)
        finally:
            self._answered = False

    def learn(self, answers: Iterable[live.Answer]) -> None:
        """Keep what was read live, where it is newer than what the watches have brought."""
        for answer in answers:
            watch = self._watches.get(answer.source.key)
            if watch is not None and answer.version is not None:
                watch.reflector.learn_list(answer.entries, answer.version)
            elif watch is not None:
                for entry in answer.entries:
                    watch.reflector.learn(entry)

    async def read_again(self, source: catalog.Source) -> None:
        """Read the one object of an idle source live, and keep what comes; that it does not exist, too."""
        kept = self._watches[source.key].reflector
        steps = kept.steps
        try:
            raw = await self._client.get(source.selection.resource, source.selection.name or "")
        except errors.NotFound:
            kept.learn_missing(steps)
        else:
            kept.learn_live(kept.entry(raw), steps)

    def known(self) -> facts.Facts:
        """Everything that is known now, as one consistent set."""
        known = self._kept or self._assembled()
        # What no watch brings: a read of the definition, etcd's own members, a clock.
        members = known.etcd_members if self._etcd is None else self._etcd.fact
        lease = self._lease(known.etcd_lease)
        awaited = self._reading or (isinstance(members, facts.Unobserved) and members.awaited)
        beside = (self.installed, members, lease, awaited)
        if beside != (known.installed, known.etcd_members, known.etcd_lease, known.awaited):
            known = dataclasses.replace(
                known, installed=self.installed, etcd_members=members, etcd_lease=lease, awaited=awaited
            )
        self._kept = None if self._in_trouble else known
        return known

    def fact(self, source: catalog.Source) -> Any:
        """What is known now of one source that is watched."""
        watch = self._watches[source.key]
        if watch.fact is not None:
            return watch.fact
        fact = self._fact(watch)
        if watch.reflector.error is None:
            watch.fact = fact
        return fact

    def _assembled(self) -> facts.Facts:
        watches = self._watches.values()
        read = {watch.source: self.fact(watch.source) if watch.fact is None else watch.fact for watch in watches}
        unread = [source for source, fact in read.items() if isinstance(fact, facts.Unobserved) and fact.awaited]
        self._reading = not self.is_open or bool([source for source in unread if not source.beside])
        # What a watch in trouble has brought is good for a while, and no event says when that ends.
        self._in_trouble = [watch for watch in watches if watch.reflector.error is not None]
        disturbed = tuple(watch.source.what for watch in self._in_trouble if not watch.source.beside)
        return catalog.filled(facts.Facts(), read, disturbed=disturbed)

    def _evidence(self) -> list[_Watch]:
        # While nothing is requested no decision rests on voters: they are only counted.
        watches = (watch for watch in self._watches.values() if self.is_open or watch.source in catalog.IDLE)
        return [watch for watch in watches if not watch.source.beside]

    def looked(self) -> float:
        """Note that `known` was read just now; return for how many seconds its oldest news had waited for that."""
        since, self._unseen_since = self._unseen_since, None
        return 0.0 if since is None else asyncio.get_running_loop().time() - since

    def _start(self, sources: Iterable[catalog.Source]) -> None:
        for source in sources:
            if source.key in self._watches:
                continue
            self._kept = None
            kept = reflector.Reflector(
                self._client,
                source.selection,
                source.reduce,
                functools.partial(self._changed, source),
                malformed=functools.partial(live.malformed_object, source),
                timing=self._timing,
                on_restored=self.put_back,
            )
            task = asyncio.create_task(kept.run(), name=f"watch {source.what}")
            task.add_done_callback(self._ended)
            self._watches[source.key] = _Watch(source, kept, task)
            _LOG.debug("watching %(object)s", {"object": source.what})

    async def _stop(self, names: Iterable[str]) -> None:
        stopped = [self._watches.pop(name) for name in names if name in self._watches]
        if stopped:
            self._kept = None
        for watch in stopped:
            watch.task.cancel()
            _LOG.debug("not watching %(object)s any more", {"object": watch.source.what})
        await asyncio.gather(*(watch.task for watch in stopped), return_exceptions=True)

    def _changed(self, source: catalog.Source) -> None:
        self._kept = None
        self._news.set()
        if self._unseen_since is None and not source.beside and not self._answered:
            self._unseen_since = asyncio.get_running_loop().time()
        if self._etcd is not None and source in {catalog.Sources.etcd_endpoints, catalog.Sources.etcd}:
            self._etcd.nudge()
        watch = self._watches.get(source.key)
        error = None if watch is None else watch.reflector.error
        trouble = None if error is None else live.unobserved(source.what, error).why
        if watch is not None:
            watch.fact = None
            if source is catalog.Sources.machines:
                self._start(catalog.following(self._fact(watch)))
        # Logged when it begins, when its reason changes, and when it ends; not at every attempt.
        if trouble != self._logged.get(source.key):
            self._logged[source.key] = trouble
            if trouble is None:
                _LOG.info("watching %(object)s again", {"object": source.what})
            else:
                words = {"object": source.what, "trouble": trouble}
                _LOG.warning("cannot watch %(object)s: %(trouble)s; trying again", words)
        if not self._answered:
            self._on_change()

    def _ended(self, task: asyncio.Task[None]) -> None:
        # A watch ends only by being stopped. Anything else is a bug, and must wake the loop so that it is seen.
        if any(watch.task is task for watch in self._watches.values()):
            self._news.set()
            self._on_change()

    def raise_failed(self) -> None:
        """Re-raise what ended a watch other than being stopped: a bug, which must not pass for silence."""
        for watch in self._watches.values():
            if watch.task.done():
                if not watch.task.cancelled():
                    watch.task.result()
                raise RuntimeError(f"the watch of {watch.source.what} ended, and nothing had asked for that")
        if self._etcd is not None:
            self._etcd.raise_failed()

    def _fact(self, watch: _Watch) -> Any:
        kept = watch.reflector
        if not kept.alive:
            if kept.error is not None:
                return live.unobserved(watch.source.what, kept.error)
            return facts.Unobserved(watch.source.what, "not read yet", kind=facts.Kind.AWAITED)
        if not kept.served:
            return live.missing(watch.source)
        return live.value(watch.source, kept.objects.values())

    def _lease(self, lease: facts.Fact[facts.Lease]) -> facts.Fact[facts.Lease]:
        if isinstance(lease, facts.Unobserved):
            return lease
        now = asyncio.get_running_loop().time()
        lasting = lease.lasting.total_seconds()
        if self._lease_seen != lease.renew_time:
            if self._lease_seen is not None:
                self._lease_moved = now
                self._look_once_still(lasting)
            self._lease_seen = lease.renew_time
        moving = self._lease_moved is not None and now - self._lease_moved <= lasting
        return dataclasses.replace(lease, moving=moving)

    def _look_once_still(self, seconds: float | None) -> None:
        """Wake the loop when the lease was not renewed for so long: no other clock knows that. None: never."""
        if self._lease_still is not None:
            self._lease_still.cancel()
            self._lease_still = None
        if seconds is not None:
            self._lease_still = asyncio.get_running_loop().call_later(seconds + 0.05, self._on_change)
