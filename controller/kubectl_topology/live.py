"""`status --watch`: the answer of `status`, again and again, until it is cancelled.

The watches of the operator (`observe.watches`) bring the facts, `cluster` and `status` make the answer of them that
`status` would give, and `display` shows it. While the server cannot be reached the last answer stays, with its age.
Only what cannot recover ends it: credentials that are no longer accepted, or a right that lacks.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NoReturn

from topology_controller.decide import records
from topology_controller.kube import errors as kube
from topology_controller.kube import watch
from topology_controller.observe import catalog, facts, watches
from topology_controller.observe import live as live_reads

from . import cluster, display, errors
from .commands import status

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from topology_api.types import AvailableTransition, TopologyTransition
    from topology_controller.definitions import load

    from . import answers

TIMING = watch.Timing(silence=100.0, cap=5.0, grace=math.inf)
"""A person is waiting: it is tried again within seconds. What was known is kept, and its age is shown."""
_PATIENCE = 5.0
"""Seconds. A watch that is cut goes on in less; only what lasts longer is called a loss of the connection."""
_ANEW = 15.0
"""Seconds after which it is judged again without news: a Lease that is no longer renewed is no event."""
_TICK, _SHORTEST = 1.0, 0.25
"""Seconds between two drawings: without news, and at least."""


async def run(connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions) -> NoReturn:
    """Show every change, drawn on a terminal, line by line anywhere else, until it is interrupted."""
    connection.interruption.text = "watch again with: oc topology status --watch"
    form = "text" if options.output == "wide" else options.output
    draws = form == "text" and display.can_draw(sys.stdout, os.environ)
    following = Following(connection, transitions, draws=draws)
    if draws:
        await following.show(display.screen(sys.stdout, whole=options.output == "wide"))
    await following.show(contextlib.nullcontext(display.Lines(sys.stdout, sys.stderr, form).show))


def _record(known: facts.Facts) -> TopologyTransition | None:
    here = known.infrastructure
    return None if isinstance(here, facts.Unobserved) else records.recover(here, known.own_operator)


class Following:
    """The watches, and what follows. Without `draws` only news is shown, a new phase once all that it needs is read."""

    def __init__(self, connection: cluster.Connection, transitions: load.Transitions, *, draws: bool) -> None:
        self._news = asyncio.Event()
        self._connection, self._transitions, self._draws = connection, transitions, draws
        self._source = cluster.lease(connection.namespace)
        sources = (*catalog.watched(transitions), self._source)
        self._watches = watches.Watches(connection.client, self._news.set, sources=sources, timing=TIMING)
        self._looking: asyncio.Task[None] | None = None
        self._looked: tuple[AvailableTransition, ...] = ()
        self._judged = self._looked_at = -math.inf
        self._answer: answers.Status | None = None
        self._lost: display.Lost | None = None
        self._denials = cluster.Denials(connection, "Without --watch the right to get it is enough")
        self._stale_since: dict[str, float] = {}

    async def show(
        self,
        screen: contextlib.AbstractContextManager[display.Show],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> NoReturn:
        """Show updates until cancelled. Raises PluginError when the cluster cannot be asked or followed any more."""
        # What a person may have got wrong is said before the terminal is taken.
        await cluster.infrastructure(self._connection)
        loop = asyncio.get_running_loop()
        async with self._watches, contextlib.AsyncExitStack() as ended:
            ended.push_async_callback(self._stop_looking)
            await self._begin()
            update = await self._update(now())
            with screen as show:
                while True:
                    show(update, now())
                    earliest = loop.time() + (_SHORTEST if self._draws else 0.0)
                    with contextlib.suppress(TimeoutError):
                        ticks = self._draws or self._lost is not None or self._stale_since
                        async with asyncio.timeout(_TICK if ticks else _ANEW):
                            await self._news.wait()
                    await asyncio.sleep(earliest - loop.time())
                    update = await self._update(now())

    async def _stop_looking(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _update(self, now: datetime) -> display.Update:
        """The state `now` (aware UTC). Raises PluginError when it cannot be followed any more."""
        # What ended a watch other than being stopped is a bug, which must not pass for silence.
        self._watches.raise_failed()
        loop = asyncio.get_running_loop()
        if self._news.is_set() or loop.time() - self._judged >= _ANEW:
            self._news.clear()
            self._judged = loop.time()
            if self._watches.restored.is_set():
                await self._watches.read_anew()
                await self._watches.ask_for_acceptances(wanted=True)
                await self._read_installed()
            await self._judge(now)
        trouble = self._watches.trouble(catalog.Sources.infrastructure)
        since = now if self._lost is None else self._lost.since
        self._lost = None if trouble is None else display.Lost(since, live_reads.unobserved("", trouble).why)
        await self._denials.note(trouble)
        if self._answer is None:
            raise errors.PluginError(f"Infrastructure of {self._connection.server} makes no sense to watch")
        if (lost := self._lost) is None:
            return display.Update(self._answer, stale=self._stale())
        return display.Update(self._answer, lost if (now - lost.since).total_seconds() >= _PATIENCE else None)

    async def _begin(self) -> None:
        # The operator's Lease is, as they are, nothing that its decisions rest on.
        await self._watches.ask_for_acceptances(wanted=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._connection.client.request_timeout):
                await self._watches.first_answers()
        self._news.set()
        known = self._watches.known()
        if isinstance(known.infrastructure, facts.Unobserved):
            trouble = self._watches.trouble(catalog.Sources.infrastructure)
            if isinstance(trouble, kube.Forbidden):
                raise errors.PluginError(self._connection.lacks(trouble), self._denials.hint)
            raise errors.PluginError(f"{known.infrastructure} ({self._connection.server})")
        await self._read_installed()

    async def _read_installed(self) -> None:
        if _record(self._watches.known()) is None:
            self._watches.installed = await live_reads.read(self._connection.client, catalog.Sources.installed)
        else:
            self._watches.installed = facts.Installed()

    async def _judge(self, now: datetime) -> None:
        known = self._watches.known()
        if isinstance(known.infrastructure, facts.Unobserved):
            # Gone, or nonsense: what was known is kept, and `_stale` names it.
            return
        wanted = cluster.status_sources(_record(known), self._transitions)
        needs = any(source in catalog.evidence() for source in wanted)
        if needs and not self._watches.is_open:
            self._watches.open()
            if not self._draws:
                # It is shown without what has not been read by then.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(15.0):
                        await self._watches.first_answers()
        elif self._watches.is_open and not needs:
            await self._watches.close()
        known = self._watches.known()
        seen = cluster.assembled(self._connection, known, self._source.of(known), wanted, now)
        self._answer = status.answer(seen, self._transitions, self._looked)
        self._look_again(seen)

    def _look_again(self, seen: cluster.Snapshot) -> None:
        """Read what can be requested, in the background, where that was evaluated too long ago; once a minute."""
        clock = asyncio.get_running_loop().time()
        old = cluster.is_old(seen.infrastructure, seen.record, seen.now)
        if not old or clock - self._looked_at < cluster.LOOK_AGAIN.total_seconds():
            return

        async def look() -> None:
            with contextlib.suppress(errors.PluginError):
                snapshot = await cluster.present(self._connection, self._transitions)
                self._looked = status.evaluated(snapshot, self._transitions)
            self._news.set()

        if self._looking is None or self._looking.done():
            self._looked_at = clock
            self._looking = asyncio.create_task(look(), name="look at what can be requested")

    def _stale(self) -> tuple[str, ...]:
        """Everything that is shown and cannot be followed, once that has lasted."""
        known = self._watches.known()
        disturbed = list(known.disturbed)
        if isinstance(known.infrastructure, facts.Unobserved):
            disturbed.append(str(known.infrastructure))
        clock = asyncio.get_running_loop().time()
        self._stale_since = {what: self._stale_since.get(what, clock) for what in disturbed}
        return tuple(what for what, since in self._stale_since.items() if clock - since >= _PATIENCE)
