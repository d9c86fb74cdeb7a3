"""One operator process on the model server: the real loop, watches, queue and hands; a lease that the machine gives.

`Process` does what `process` does for a real one: the watches first, then the lease, then the loop until it ends, anew
with every history of the store. What is pretended is small: the way to the server (`client`), the clock (`virtual`),
who holds the lease (`Election`) and when it is renewed, and nobody listens to metrics and events.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from topology_controller import act, reconcile
from topology_controller import process as processes
from topology_controller.definitions import settings
from topology_controller.kube import queue
from topology_controller.observe import catalog, live, watches

from . import client as clients
from . import world as worlds

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from .server import Server

LEASE_DURATION = 137.0


@dataclasses.dataclass(slots=True)
class Election:
    """Who holds the lease, and until when at least. An operator renews it for as long as it runs."""

    loop: asyncio.AbstractEventLoop
    holder: Process | None = None
    expires: float = 0.0

    def refresh(self) -> None:
        """A holder that runs has renewed it just now; one that is frozen or dead has not."""
        holder = self.holder
        if holder is not None and holder.runs:
            self.expires = self.loop.time() + LEASE_DURATION

    @property
    def free(self) -> bool:
        """May somebody else take it?"""
        self.refresh()
        return self.holder is None or self.loop.time() > self.expires

    def take(self, process: Process) -> None:
        """Elect somebody."""
        self.holder, self.expires = process, self.loop.time() + LEASE_DURATION

    def left(self, process: Process) -> float:
        """Seconds for which it is surely this operator's."""
        if self.holder is not process:
            return 0.0
        self.refresh()
        return self.expires - self.loop.time()


class Process:
    """Start it with `start`, give it the lease with `lead`, end it with `stop`; `failure` is what ended it itself."""

    request_timeout = clients.REQUEST_TIMEOUT

    def __init__(
        self,
        name: str,
        loop: asyncio.AbstractEventLoop,
        server: Server,
        election: Election,
        authority: clients.Authority,
    ) -> None:
        self.name = name
        self.skew = timedelta()
        self.loop = loop
        self.election = election
        self.queue: queue.WorkQueue | None = None
        self.reconciler: reconcile.Reconciler | None = None
        self.watches: watches.Watches | None = None
        self.failure: BaseException | None = None
        self.restored = 0
        """How often it has noticed that the store was put back."""
        self._lease_went_back = False
        self._server = server
        self._authority = authority
        self._elected: asyncio.Event
        self._task: asyncio.Task[None]
        self.client: clients.Client

    def start(self) -> None:
        """Begin to watch."""

        async def begin() -> None:
            self._elected = asyncio.Event()
            self.client = clients.Client(self.name, self._server, self._authority)
            self._task = self.loop.create_task(self._run(), name=self.name)

        self.loop.run_until_complete(begin())

    def lead(self) -> None:
        """Be elected."""
        self.election.take(self)
        self._elected.set()

    @property
    def leads(self) -> bool:
        """Does it hold the lease and run?"""
        return self.election.holder is self and self.runs

    @property
    def runs(self) -> bool:
        """Is there a process that gets on?"""
        return not self.client.killed and self.client.frozen_at is None and not self._task.done()

    @property
    def quiet(self) -> bool:
        """Has it done everything that can be done now, and does it wait for nobody, no watch included?"""
        work, watched = self.queue, self.watches
        if work is None or watched is None or self.reconciler is None:
            return False
        idle = work._waiting_since is None and work.working_since is None and work._retry_at is None
        idle = idle and not watched.restored.is_set()
        idle = idle and all(watch.reflector.error is None for watch in watched._watches.values())
        return self.leads and idle and self.client.undisturbed and self.client.streams == len(watched._watches)

    def lose_renewals(self, answers_from: float) -> None:
        """The store is put back, with the lease: the next renewal shows it."""
        self._lease_went_back = True
        topology = self._server.pair[0] or ""
        self.loop.call_at(answers_from + processes.timing_for(topology).retry_period, self.renew)

    def renew(self) -> None:
        """Renew the lease, as far as it gets on: one that went back says that the store did."""
        if self._lease_went_back and self.leads and self.watches is not None:
            self._lease_went_back = False
            self.watches.put_back("its lease went back")

    def now(self) -> datetime:
        """Its wall clock."""
        return worlds.BEGINNING + timedelta(seconds=self.loop.time()) + self.skew

    def time_left(self) -> float:
        """What the hands ask the elector."""
        return self.election.left(self)

    def stop(self, *, release: bool = False) -> None:
        """End it, with or without giving the lease back; nothing that it has sent is taken back."""
        self.client.killed = True

        async def end() -> None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await self._task
            self.client.close()

        self.loop.run_until_complete(end())
        if release and self.election.holder is self:
            self.election.holder = None

    async def _run(self) -> None:
        way: Any = self.client
        deaf: Any = _Deaf()
        self.queue = queue.WorkQueue(deaf)
        try:
            async with watches_of(way, self.queue, self._noticed) as watched:
                self.watches = watched
                await watched.first_answers()
                watched.installed = await live.read(way, catalog.Sources.installed)
                await self._elected.wait()
                flags = "1.2.3", worlds.NAMESPACE, settings.Current(None, worlds.TRANSITIONS)
                hands = act.Act(way, self.time_left)
                deps = reconcile.Dependencies(way, watched, self.queue, hands, deaf, deaf, deaf, *flags, now=self.now)
                await processes.in_histories(lambda: self._reconcile(deps), way, watched, self._renewed)
        except Exception as error:  # noqa: BLE001 - the machine reports it as what it is: a bug
            self.failure = error

    async def _reconcile(self, deps: reconcile.Dependencies) -> None:
        task = asyncio.current_task()
        assert task is not None
        # By its name the judge knows whose decisions these are.
        task.set_name(self.name)
        self._authority.begun(self.name)
        self.reconciler = reconcile.Reconciler(deps)
        deps.queue.add()
        try:
            await self.reconciler.run()
        finally:
            self.reconciler = None

    async def _renewed(self) -> None:
        self.renew()

    def _noticed(self) -> None:
        self.restored += 1


def watches_of(way: Any, work: queue.WorkQueue, on_restored: Callable[[], None] = lambda: None) -> watches.Watches:
    """The watches of an operator, as `process` makes them."""
    sources = (*catalog.watched(worlds.TRANSITIONS), catalog.acceptances(worlds.NAMESPACE))
    return watches.Watches(way, work.add, sources=sources, on_restored=on_restored)


class _Deaf:
    """Stands for those who only listen: metrics and events."""

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *_, **__: None
