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

from topology_api import vocabulary
from topology_api.vocabulary import LEASE, OPERATOR_NAME, CheckName, Topology

from . import act, bindata, reconcile
from ._version import __version__
from .definitions import current as configured
from .kube import client as clients
from .kube import config, lease, queue
from .observe import catalog, facts, live, watches
from .report import events, latest, metrics, view
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
class Options:
    """What the command line asked for.

    `lease` is None when the figures follow the topology, `etcd_certificates` when etcd's members are not asked;
    `etcd_endpoints` is where they are asked if not where the cluster publishes them. `page` is the loopback address of
    the status page where others are served at `address`, None for no page. `configuration` is the file that is
    followed; `log_level` is called with its level of the log, None where a flag has set that.
    """

    kubeconfig: str | None
    context: str | None
    namespace: str
    address: server.Address
    certificates: pathlib.Path | None
    leader_elect: bool
    lease: lease.LeaseTiming | None
    settle_seconds: int | None
    page: server.Address | None = None
    etcd_certificates: pathlib.Path | None = None
    etcd_endpoints: tuple[str, ...] = ()
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


def _runbooks() -> str:
    """The address that the manifests were given for the runbooks; empty where they were given none."""
    address = os.environ.get(vocabulary.RUNBOOKS_VARIABLE, "").strip()
    return "" if address == bindata.RUNBOOKS else address


async def run(options: Options, transitions: load.Transitions) -> None:
    """Run until cancelled, or until SIGTERM or SIGINT.

    Raises config.ConfigError, lease.LeaseLost, OSError when the address is taken, ValueError for an address that may
    not be served.
    """
    sslproto.SSLProtocol.max_size = _TLS_BUFFER
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _stop, stop)
    configuration = await config.load(options.kubeconfig, options.context)
    measured = metrics.Metrics(transitions, lease=LEASE, server=str(configuration.host))
    holder = identity()
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
        settings = configured.Current(options.configuration, transitions, log_level=options.log_level)
        etcd = _etcd(options, transitions, measured)
        watched = await stack.enter_async_context(
            watches.Watches(
                client,
                work.add,
                sources=(*catalog.watched(transitions), catalog.acceptances(options.namespace)),
                etcd=None if etcd is None else etcd.poll(),
            )
        )
        shown = latest.Latest()
        about = view.About(__version__, settings.transitions, options.settle_seconds, _runbooks())
        pages = page.Page(shown, watched.known, about)

        def configure() -> None:
            pages.about = dataclasses.replace(about, transitions=settings.transitions)
            work.add()

        settings.changed = configure
        secured = None if options.certificates is None else server.Security(client, options.certificates)
        activities = (watched.last_activity, *(() if secured is None else (secured.tls.last_activity,)))
        machines = (
            *routes.probes(lambda: watched.troubles, lambda: work.working_since),
            *routes.scrape(measured, *activities),
        )
        readers = tuple(pages.routes())
        served = await stack.enter_async_context(
            server.Server(options.address, machines if secured else (*machines, *readers), secured)
        )
        _LOG.info(
            "%(program)s %(version)s serves on port %(port)d",
            {"program": OPERATOR_NAME, "version": __version__, "port": served.bound},
        )
        if options.page is not None:
            paged = await stack.enter_async_context(server.Server(options.page, readers))
            _LOG.info("the status page is on port %(port)d of this pod's loopback", {"port": paged.bound})
        await stack.enter_async_context(pages)

        async def reconcile_while(held: act.Lease, on_topology: Callable[[str], None]) -> None:
            deps = reconcile.Dependencies(
                client=client,
                watches=watched,
                queue=work,
                act=act.Act(client, held),
                events=events.EventRecorder(client, holder, reconcile.utcnow),
                metrics=measured,
                latest=shown,
                etcd=etcd,
                configuration=settings,
            )
            flags = reconcile.Settings(reported_version(), options.namespace, options.settle_seconds)
            reconciler = reconcile.Reconciler(deps, settings.transitions, flags, on_topology=on_topology)
            measured.leading(leads=True)
            work.add()
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(deps.events.run(), name="events")
                    group.create_task(reconciler.run(), name="loop")
            finally:
                measured.leading(leads=False)
                shown.clear()

        tasks: list[Coroutine[None, None, object]] = [
            _lead(options, client, watched, holder, reconcile_while),
            stop.wait(),
        ]
        if options.configuration is not None:
            tasks.append(settings.run())
        await _until_one_ends(*tasks)


def _etcd(options: Options, transitions: load.Transitions, measured: metrics.Metrics) -> members.Members | None:
    """Open the way to etcd's members, where certificates are given and a definition asks the members."""
    if options.etcd_certificates is None:
        return None
    if not transitions.asks(CheckName.ETCD_MEMBERS_DIRECT):
        _LOG.warning("no transition definition asks what etcd's members say: --etcd-cert-dir is not used")
        return None
    from .observe import members  # noqa: PLC0415 - memory that most clusters need not spend

    return members.Members(options.etcd_certificates, options.etcd_endpoints, observer=measured.etcd_request)


async def _lead(
    options: Options,
    client: clients.Client,
    watched: watches.Watches,
    holder: str,
    reconcile_while: Callable[[act.Lease, Callable[[str], None]], Coroutine[None, None, None]],
) -> None:
    """Wait for the caches and the lease, then reconcile for as long as it is ours. Raises lease.LeaseLost."""
    await watched.first_answers()
    watched.installed = await live.installed(client)
    if not options.leader_elect:
        await reconcile_while(act.Unelected(), lambda _: None)
        return
    infrastructure = watched.known().infrastructure
    topology = infrastructure.control_plane if isinstance(infrastructure, facts.Infrastructure) else None
    timing = options.lease or timing_for(topology or "")
    elector = lease.Elector(client, options.namespace, LEASE, holder, timing)

    def adapt(control_plane: str) -> None:
        if options.lease is None:
            elector.adopt(timing_for(control_plane))

    async def reconcile_as_leader() -> None:
        await elector.leading.wait()
        _LOG.info("leading as %(holder)s", {"holder": holder})
        await reconcile_while(elector, adapt)

    # The loop ends before the election, which gives the lease back: nothing may be written after that.
    await _until_one_ends(elector.run(), reconcile_as_leader())


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


def _stop(stop: asyncio.Event) -> None:
    if stop.is_set():
        _LOG.warning("asked twice to stop: leaving at once")
        # What is queued is written first, if it can be.
        logging.shutdown()
        os._exit(1)
    _LOG.info("asked to stop")
    stop.set()
