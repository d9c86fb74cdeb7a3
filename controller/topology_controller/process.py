"""One operator process: wires the rooms together, waits for the lease, works, and ends cleanly.

Order matters twice. At the start the watches and the server come first, so that a standby is warm and can be probed. At
the end the loop stops before the lease is given back, because giving it back allows somebody else to begin.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import os
import signal
import socket
import uuid
from asyncio import sslproto
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topology_api.vocabulary import LEASE, OPERATOR_NAME, CheckName, Topology

from . import act, reconcile
from ._version import __version__
from .configuration import current as configured
from .kube import client as clients
from .kube import config, lease, queue
from .observe import catalog, facts, live, watches
from .report import board, events, metrics, view
from .serve import page, probes, scrape, security, server

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Coroutine

    from .observe import members
    from .serve import address as addresses
    from .transitions import load

_LOG = logging.getLogger(__name__)
_TLS_BUFFER = 16 * 1024
"""Bytes for each TLS connection, ours and others' to us: asyncio would keep 256 KiB, and each watch is one."""
_RELEASE_VERSION = "RELEASE_VERSION"
"""Variable of the Deployment, named as OpenShift's operators name it."""
HIGHLY_AVAILABLE = lease.LeaseTiming(137, 107, 26)
SINGLE_REPLICA = lease.LeaseTiming(270, 240, 60)


@dataclass(frozen=True, slots=True)
class EtcdAccess:
    """How to reach etcd itself: the certificate folder, and where to ask if not where the cluster publishes it."""

    certificates: pathlib.Path
    endpoints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for.

    `lease` is None when the figures follow the topology, `etcd` when its members are not asked. `configuration` is the
    file that is followed; `log_level` is told what it says about the log, None where the command line has said that.
    """

    kubeconfig: str | None
    context: str | None
    namespace: str
    address: addresses.Address
    certificates: pathlib.Path | None
    leader_elect: bool
    lease: lease.LeaseTiming | None
    settle_seconds: int | None
    etcd: EtcdAccess | None = None
    configuration: pathlib.Path | None = None
    log_level: Callable[[str | None], None] | None = None

    @property
    def request_timeout(self) -> float:
        """Seconds for one request: a write must end while the lease is ours, however short that was asked to be."""
        return clients.REQUEST_TIMEOUT if self.lease is None else self.lease.request_timeout


def identity() -> str:
    """Who holds the lease: readable, and unique to this process."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{uuid.uuid4()}"


def reported_version() -> str:
    """What ClusterOperator `topology` reports: the payload's version where one has put it in, else our own.

    The version operator waits for exactly the version that its payload's manifest names.
    """
    return os.environ.get(_RELEASE_VERSION, "").strip() or __version__


def timing_for(control_plane: str) -> lease.LeaseTiming:
    """OpenShift's figures: patient where a single node may be rebooting, brisk elsewhere."""
    return SINGLE_REPLICA if control_plane == Topology.SINGLE_REPLICA else HIGHLY_AVAILABLE


async def run(options: Options, transitions: load.Transitions) -> None:
    """Run until cancelled or told to stop by SIGTERM or SIGINT.

    Raises config.ConfigError, lease.LeaseLost, OSError when the address is taken, ValueError for an address that may
    not be served.
    """
    sslproto.SSLProtocol.max_size = _TLS_BUFFER
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _stopper(stop))
    configuration = await config.load(options.kubeconfig, options.context)
    measured = metrics.Metrics(transitions, lease=LEASE, server=str(configuration.host))
    who = identity()
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            clients.Client(
                configuration,
                user_agent=f"{OPERATOR_NAME}/{__version__}",
                field_manager=OPERATOR_NAME,
                request_timeout=options.request_timeout,
                observer=measured.request,
            )
        )
        work = queue.WorkQueue(measured)
        chosen = configured.Current(options.configuration, transitions, log_level=options.log_level)
        etcd = _etcd(options, transitions, measured)
        poll = None if etcd is None else etcd.poll()
        watched = await stack.enter_async_context(
            watches.Watches(
                client,
                work.add,
                sources=(*catalog.watched(transitions), catalog.acceptances(options.namespace)),
                etcd=poll,
            )
        )
        shown = board.Board()
        about = view.About(__version__, chosen.transitions, options.settle_seconds)
        pages = page.Page(shown, watched, about)

        def configure() -> None:
            pages.tell(dataclasses.replace(about, transitions=chosen.transitions))
            work.add()

        chosen.changed = configure
        secured = None if options.certificates is None else security.Security(client, options.certificates)
        routes = (
            *probes.Probes(watched, work).routes(),
            *scrape.Scrape(measured, watched, *(() if secured is None else (secured,))).routes(),
            *pages.routes(),
        )
        served = await stack.enter_async_context(server.Server(options.address, routes, secured))
        await stack.enter_async_context(pages)
        _LOG.info(
            "%(program)s %(version)s serves on port %(port)d",
            {"program": OPERATOR_NAME, "version": __version__, "port": served.bound},
        )
        lead = _lead(client, watched, work, measured, shown, who, options, chosen, etcd)
        await _until(stop, _beside(lead, chosen.run()))


def _etcd(options: Options, transitions: load.Transitions, measured: metrics.Metrics) -> members.Members | None:
    """Open the way to etcd's members where there is one, and somebody asks: the room for it stays closed otherwise."""
    if options.etcd is None:
        return None
    if not transitions.asks(CheckName.ETCD_MEMBERS_DIRECT):
        _LOG.warning("no transition definition asks what etcd's members say: --etcd-cert-dir is not used")
        return None
    from .observe import members  # noqa: PLC0415 - see above: memory that most clusters need not spend

    return members.Members(options.etcd.certificates, options.etcd.endpoints, observer=measured.etcd_request)


async def _lead(  # noqa: PLR0913, PLR0917 - the rooms that `run` has opened, handed to the one who works in them
    client: clients.Client,
    watched: watches.Watches,
    work: queue.WorkQueue,
    measured: metrics.Metrics,
    shown: board.Board,
    who: str,
    options: Options,
    chosen: configured.Current,
    etcd: members.Members | None,
) -> None:
    """Wait for the caches and the lease, then reconcile for as long as it is ours."""
    await watched.first_answers()
    watched.installed = await live.installed(client)
    teller = events.Teller(client, who, reconcile.utcnow)
    settings = reconcile.Settings(reported_version(), options.namespace, options.settle_seconds)
    if not options.leader_elect:
        hands = act.Act(client, act.Unelected())
        rooms = reconcile.Rooms(client, watched, work, hands, teller, measured, shown, etcd, chosen)
        # Nobody else may lead, so this one does: what is told only of the leader is told here.
        measured.leading(leads=True)
        await _work(rooms, chosen, settings, lambda _: None)
        return
    seen = watched.known().infrastructure
    topology = seen.control_plane if isinstance(seen, facts.Infrastructure) else None
    timing = options.lease or timing_for(topology or "")
    elector = lease.Elector(client, options.namespace, LEASE, who, timing)
    rooms = reconcile.Rooms(client, watched, work, act.Act(client, elector), teller, measured, shown, etcd, chosen)

    def adapt(control_plane: str) -> None:
        if options.lease is None:
            elector.adopt(timing_for(control_plane))

    election = asyncio.create_task(elector.run(), name="lease")
    try:
        await _first_of(election, elector.leading.wait())
        if election.done():
            await election
        _LOG.info("leading as %(holder)s", {"holder": who})
        measured.leading(leads=True)
        loop_task = asyncio.create_task(_work(rooms, chosen, settings, adapt), name="reconcile")
        try:
            await asyncio.wait({election, loop_task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # First the hands, then the lease: nobody may write after it was given back.
            loop_task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await loop_task
        await election
    finally:
        measured.leading(leads=False)
        shown.clear()
        election.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await election


async def _work(
    rooms: reconcile.Rooms,
    chosen: configured.Current,
    settings: reconcile.Settings,
    adapt: Callable[[str], None],
) -> None:
    loop = reconcile.Reconciler(rooms, chosen.transitions, settings, on_topology=adapt)
    rooms.queue.add()
    async with asyncio.TaskGroup() as group:
        group.create_task(rooms.teller.run(), name="events")
        group.create_task(loop.run(), name="loop")


async def _beside(work: Coroutine[None, None, None], following: Coroutine[None, None, None]) -> None:
    """Work until that ends, and follow the configuration meanwhile; whichever of the two fails ends the other one."""
    working = asyncio.create_task(work, name="lead")
    other = asyncio.create_task(following, name="configuration")
    try:
        await asyncio.wait({working, other}, return_when=asyncio.FIRST_COMPLETED)
        if other.done():
            await other
        await working
    finally:
        for task in (working, other):
            task.cancel()
        await asyncio.gather(working, other, return_exceptions=True)


async def _until(stop: asyncio.Event, work: Coroutine[None, None, None]) -> None:
    """Run until the work ends or stop is set; the work is cancelled then and has a chance to clean up."""
    working = asyncio.create_task(work, name="operator")
    try:
        await _first_of(working, stop.wait())
    finally:
        if not working.done():
            working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working


async def _first_of(task: asyncio.Task[None], given: Coroutine[None, None, bool]) -> None:
    """Wait until the task has ended or the signal was given; the task goes on, the waiting does not."""
    waiting = asyncio.create_task(given)
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


def _stopper(stop: asyncio.Event) -> Callable[[], None]:
    def ask() -> None:
        if stop.is_set():
            _LOG.warning("asked twice to stop: leaving at once")
            # What is queued is written first, if anything reads it.
            logging.shutdown()
            os._exit(1)
        _LOG.info("asked to stop")
        stop.set()

    return ask
