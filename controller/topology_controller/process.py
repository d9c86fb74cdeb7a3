"""One operator process: wires the parts together, waits for the lease, works, and ends cleanly.

Order matters twice. At the start the watches and the server come first, so that a standby is warm and can be probed. At
the end the loop stops before the lease is given back, because another process may lead from then on.
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
from .definitions import current as configured
from .kube import client as clients
from .kube import config, lease, queue
from .observe import catalog, facts, live, watches
from .report import board, events, metrics, view
from .serve import page, routes, server

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Coroutine

    from .definitions import load
    from .observe import members

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
    file that is followed; `log_level` is called with what it says about the log, None where a flag has said that.
    """

    kubeconfig: str | None
    context: str | None
    namespace: str
    address: server.Address
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
    """Run until cancelled, or until SIGTERM or SIGINT.

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
        pages = page.Page(shown, watched.known, about)

        def configure() -> None:
            pages.about = dataclasses.replace(about, transitions=chosen.transitions)
            work.add()

        chosen.changed = configure
        secured = None if options.certificates is None else server.Security(client, options.certificates)
        activities = (watched.last_activity, *(() if secured is None else (secured.tls.last_activity,)))
        served = await stack.enter_async_context(
            server.Server(
                options.address,
                (
                    *routes.probes(lambda: watched.troubles, lambda: work.working_since),
                    *routes.scrape(measured, *activities),
                    *pages.routes(),
                ),
                secured,
            )
        )
        await stack.enter_async_context(pages)
        _LOG.info(
            "%(program)s %(version)s serves on port %(port)d",
            {"program": OPERATOR_NAME, "version": __version__, "port": served.bound},
        )
        opened = _Opened(options, client, watched, work, measured, shown, chosen, etcd)
        works: list[Coroutine[None, None, object]] = [_lead(opened, who), stop.wait()]
        if options.configuration is not None:
            works.append(chosen.run())
        await _until_one_ends(*works)


@dataclass(frozen=True, slots=True)
class _Opened:
    """What a process has opened before it waits for the lease, and works with once it leads."""

    options: Options
    client: clients.Client
    watches: watches.Watches
    queue: queue.WorkQueue
    metrics: metrics.Metrics
    board: board.Board
    configuration: configured.Current
    etcd: members.Members | None


def _etcd(options: Options, transitions: load.Transitions, measured: metrics.Metrics) -> members.Members | None:
    """Open the way to etcd's members, where certificates are given and a definition asks the members."""
    if options.etcd is None:
        return None
    if not transitions.asks(CheckName.ETCD_MEMBERS_DIRECT):
        _LOG.warning("no transition definition asks what etcd's members say: --etcd-cert-dir is not used")
        return None
    from .observe import members  # noqa: PLC0415 - memory that most clusters need not spend

    return members.Members(options.etcd.certificates, options.etcd.endpoints, observer=measured.etcd_request)


async def _lead(opened: _Opened, holder: str) -> None:
    """Wait for the caches and the lease, then reconcile for as long as it is ours. Raises lease.LeaseLost."""
    options = opened.options
    await opened.watches.first_answers()
    opened.watches.installed = await live.installed(opened.client)
    if not options.leader_elect:
        await _reconcile(opened, holder, act.Unelected(), lambda _: None)
        return
    infrastructure = opened.watches.known().infrastructure
    topology = infrastructure.control_plane if isinstance(infrastructure, facts.Infrastructure) else None
    timing = options.lease or timing_for(topology or "")
    elector = lease.Elector(opened.client, options.namespace, LEASE, holder, timing)

    def adapt(control_plane: str) -> None:
        if options.lease is None:
            elector.adopt(timing_for(control_plane))

    async def reconcile_as_leader() -> None:
        await elector.leading.wait()
        _LOG.info("leading as %(holder)s", {"holder": holder})
        try:
            await _reconcile(opened, holder, elector, adapt)
        finally:
            opened.metrics.leading(leads=False)
            opened.board.clear()

    # The loop ends before the election, which gives the lease back: nothing may be written after that.
    await _until_one_ends(elector.run(), reconcile_as_leader())


async def _reconcile(opened: _Opened, holder: str, held: act.Lease, on_topology: Callable[[str], None]) -> None:
    options = opened.options
    rooms = reconcile.Rooms(
        client=opened.client,
        watches=opened.watches,
        queue=opened.queue,
        act=act.Act(opened.client, held),
        events=events.EventRecorder(opened.client, holder, reconcile.utcnow),
        metrics=opened.metrics,
        board=opened.board,
        etcd=opened.etcd,
        configuration=opened.configuration,
    )
    settings = reconcile.Settings(reported_version(), options.namespace, options.settle_seconds)
    loop = reconcile.Reconciler(rooms, opened.configuration.transitions, settings, on_topology=on_topology)
    opened.metrics.leading(leads=True)
    opened.queue.add()
    async with asyncio.TaskGroup() as group:
        group.create_task(rooms.events.run(), name="events")
        group.create_task(loop.run(), name="loop")


async def _until_one_ends(*works: Coroutine[None, None, object]) -> None:
    """Run all until the first ends; then cancel the others, the last one first, each with time to clean up.

    Raises what one of them has raised.
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        results: list[object] = []
        for task in reversed(tasks):
            task.cancel()
            results += await asyncio.gather(task, return_exceptions=True)
    for result in reversed(results):
        if isinstance(result, Exception):
            raise result


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
