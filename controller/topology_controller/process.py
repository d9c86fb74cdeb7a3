"""One operator process: wires the parts together, waits for the lease, works, and ends cleanly.

Order matters twice. At the start the watches and the server come first, so that a standby is warm and can be probed. At
the end the loop stops before the lease is given back, because another process may lead from then on.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
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

from . import act, reconcile
from ._version import __version__
from .definitions import current as configured
from .kube import client as clients
from .kube import config, credentials, lease, placement, queue
from .observe import catalog, facts, live, watches
from .report import events, metrics, view
from .serve import authn, page, routes, server, tls

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Coroutine

    from kubernetes_asyncio.client.configuration import Configuration

    from .definitions import load
    from .kube import transport
    from .observe import members

_LOG = logging.getLogger(__name__)
_TLS_BUFFER = 16 * 1024
"""Bytes for each TLS connection, ours and others' to us: asyncio would keep 256 KiB, and each watch is one."""
_RELEASE_VERSION = "RELEASE_VERSION"
"""Variable of the Deployment, named as OpenShift's operators name it."""
HIGHLY_AVAILABLE = lease.LeaseTiming(137, 107, 26)
SINGLE_REPLICA = lease.LeaseTiming(270, 240, 60)
IN_CLUSTER = "in-cluster"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Where the lease is, if not in the cluster that is acted on: by which kubeconfig, and in which namespace there.

    IN_CLUSTER for the kubeconfig is the cluster of this pod, by its service account.
    """

    kubeconfig: str
    namespace: str


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for.

    `lease` is None when the figures follow the topology, `etcd_certificates` when etcd's members are not asked;
    `etcd_endpoints` is where they are asked if not where the cluster publishes them. `page` is the loopback address of
    the status page where others are served at `address`, None for no page. `configuration` is the file that is
    followed; `log_level` is called with its level of the log, None where a flag has set that. `elsewhere` is None where
    the lease is in the cluster that is acted on.
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
    elsewhere: Elsewhere | None = None

    @property
    def request_timeout(self) -> float:
        """Seconds for one request: a write must end while the lease is ours, however short that was asked to be."""
        return clients.REQUEST_TIMEOUT if self.lease is None else self.lease.request_timeout


def identity() -> str:
    """Who holds the lease: readable, and unique to this process."""
    return f"{_pod() or socket.gethostname()}_{uuid.uuid4()}"


def _pod() -> str:
    """The name of the pod that this process runs in; empty outside of one, where two may run beside each other.

    The kubelet begins a container again when the one before has ended, and no two pods have one name.
    """
    return os.environ.get("POD_NAME", "")


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
    return os.environ.get(vocabulary.RUNBOOKS_VARIABLE, "").strip()


async def run(options: Options, transitions: load.Transitions) -> None:
    """Run until cancelled, or until SIGTERM or SIGINT.

    Raises config.ConfigError, lease.LeaseLost, placement.SameClusterError, placement.ReplacedError, OSError when the
    address is taken, ValueError for an address that may not be served.
    """
    sslproto.SSLProtocol.max_size = _TLS_BUFFER
    stop = _stop_on_signals()
    configuration = await config.load(options.kubeconfig, options.context, programs=options.elsewhere is None)
    measured = metrics.Metrics(transitions, lease=LEASE, server=str(configuration.host))
    measured.expires(metrics.TARGET, functools.partial(credentials.expiry, configuration))
    holder = identity()
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(_client(configuration, options, measured.request))
        placed = (
            None if options.elsewhere is None else await _placed(options, options.elsewhere, client, stack, measured)
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
                on_restored=measured.restored,
            )
        )
        shown = view.Latest()
        about = view.About(__version__, settings.transitions, options.settle_seconds, _runbooks())
        pages = page.Page(shown, watched.known, about)

        def configure() -> None:
            pages.about = dataclasses.replace(about, transitions=settings.transitions)
            work.add()

        settings.changed = configure
        # Who asks us is known where this process runs.
        here = client if placed is None else placed.local
        secured = None if options.certificates is None else _secured(here, options.certificates)
        activities = (watched.last_activity, *(() if secured is None else (secured.tls.last_activity,)))
        machines = (
            *routes.probes(lambda: (*_troubles(placed), *watched.troubles), lambda: work.working_since),
            *routes.scrape(measured, *activities),
        )
        readers = tuple(pages.routes())
        everything = machines if secured else (*machines, *readers)
        servers = [await stack.enter_async_context(server.Server(options.address, everything, secured))]
        _LOG.info(
            "%(program)s %(version)s serves on port %(port)d",
            {"program": OPERATOR_NAME, "version": __version__, "port": servers[0].bound},
        )
        if options.page is not None:
            servers.append(await stack.enter_async_context(server.Server(options.page, readers)))
            _LOG.info("the status page is on port %(port)d of this pod's loopback", {"port": servers[1].bound})
        await stack.enter_async_context(pages)

        async def reconcile_while(held: act.Lease, on_topology: Callable[[str], None]) -> None:
            deps = reconcile.Dependencies(
                client=client,
                watches=watched,
                queue=work,
                act=act.Act(client, held, None if placed is None else placed.guard),
                events=events.EventRecorder(
                    client,
                    holder,
                    reconcile.utcnow,
                    None if placed is None else placed.guard,
                    void=watched.restored.is_set,
                    unsure=watched.unsure,
                ),
                metrics=measured,
                latest=shown,
                version=reported_version(),
                namespace=options.namespace,
                settle_seconds=options.settle_seconds,
                etcd=etcd,
                configuration=settings,
                on_topology=on_topology,
            )
            reconciler = reconcile.Reconciler(deps, settings.transitions)
            measured.leading(leads=True)
            work.add()
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(_endless(deps.events.run(), "events"), name="events")
                    group.create_task(_endless(reconciler.run(), "loop"), name="loop")
            finally:
                measured.leading(leads=False)
                shown.clear()

        leading = _lead(options, client, watched, holder=holder, reconcile_while=reconcile_while, placed=placed)
        tasks: list[Coroutine[None, None, object]] = [
            *(_endless(listening.run(), "server") for listening in servers),
            *([] if secured is None else [_endless(secured.tls.run(), "serving certificate")]),
            _endless(leading, "leader"),
            stop.wait(),
            *([] if options.configuration is None else [_endless(settings.run(), "configuration")]),
            *([] if placed is None else [_endless(placed.run(), "placement")]),
        ]
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


def _secured(client: clients.Client, certificates: pathlib.Path) -> server.Security:
    """Prepare for serving to others. Raises tls.CertificateError (OSError) for a folder without a usable pair."""
    try:
        return server.Security(tls.ServingTLS(client, certificates), authn.Reviews(client))
    except tls.CertificateError as error:
        raise tls.CertificateError(f"--serving-cert-dir: {error}") from error


def _client(
    configuration: Configuration, options: Options, observer: transport.Observer | None = None
) -> clients.Client:
    return clients.Client(
        configuration,
        user_agent=f"{OPERATOR_NAME}/{__version__}",
        field_manager=OPERATOR_NAME,
        request_timeout=options.request_timeout,
        observer=observer,
    )


async def _placed(
    options: Options,
    elsewhere: Elsewhere,
    target: clients.Client,
    stack: contextlib.AsyncExitStack,
    measured: metrics.Metrics,
) -> placement.Placement:
    """Open the way to the cluster of the lease. Raises config.ConfigError."""
    chosen = elsewhere.kubeconfig
    configuration = config.in_cluster() if chosen == IN_CLUSTER else await config.load(chosen, programs=False)
    measured.expires(metrics.LEASE, functools.partial(credentials.expiry, configuration))
    local = await stack.enter_async_context(_client(configuration, options))
    period = 2 * (options.lease or HIGHLY_AVAILABLE).retry_period
    return placement.Placement(target, local, namespace=options.namespace, name=LEASE, period=period)


def _troubles(placed: placement.Placement | None) -> tuple[str, ...]:
    return () if placed is None or not placed.trouble else (placed.trouble,)


async def _lead(  # noqa: PLR0913 - two clusters, and what is done as their leader
    options: Options,
    client: clients.Client,
    watched: watches.Watches,
    *,
    holder: str,
    reconcile_while: Callable[[act.Lease, Callable[[str], None]], Coroutine[None, None, None]],
    placed: placement.Placement | None,
) -> None:
    """Wait for the caches and the lease, then reconcile for as long as it is ours. Raises lease.LeaseLost.

    Placed elsewhere, nothing of it begins before the target may be written to, and reconciling pauses while the
    target's own operator holds the lease there.
    """
    if placed is not None:
        await placed.free()
    await watched.first_answers()
    watched.installed = await live.read(client, catalog.Sources.installed)

    async def reconcile_as(
        held: act.Lease, on_topology: Callable[[str], None], renew: Callable[[], Coroutine[None, None, None]]
    ) -> None:
        await in_histories(lambda: reconcile_while(held, on_topology), client, watched, renew)

    if not options.leader_elect:
        await reconcile_as(act.Unelected(), lambda _: None, lambda: asyncio.sleep(0))
        return
    elector = _elector(options, client, watched, placed, holder)

    def adapt(control_plane: str) -> None:
        if options.lease is None and placed is None:
            elector.adopt(timing_for(control_plane))

    async def reconcile_as_leader() -> None:
        await elector.leading.wait()
        _LOG.info("leading as %(holder)s", {"holder": holder})
        if placed is None:
            await reconcile_as(elector, adapt, elector.renew_now)
            return
        while True:
            await placed.look()
            await placed.free()
            await _until_one_ends(reconcile_as(elector, adapt, elector.renew_now), placed.held())

    # The loop ends before the election, which gives the lease back: nothing may be written after that.
    await _until_one_ends(elector.run(), reconcile_as_leader())


async def in_histories(
    reconcile: Callable[[], Coroutine[None, None, None]],
    client: clients.Client,
    watched: watches.Watches,
    renew: Callable[[], Coroutine[None, None, None]],
) -> None:
    """Reconcile for as long as the store has one history; where it was put back, `renew` the lease and begin anew.

    What was decided by a store that is not there any more ends with it. The lease comes first: it shows the same, and
    what began anew would end for it.
    """
    while True:
        await _until_one_ends(reconcile(), watched.restored.wait())
        await renew()
        await watched.read_anew()
        watched.installed = await live.read(client, catalog.Sources.installed)


def _elector(
    options: Options,
    client: clients.Client,
    watched: watches.Watches,
    placed: placement.Placement | None,
    holder: str,
) -> lease.Elector:
    """Make the candidate for the lease, with the figures of the place where it stands."""
    if placed is not None and options.elsewhere is not None:
        # The shape of that cluster is not the target's: the figures neither follow the target nor its change. Nor does
        # the target's store show in what becomes of a lease there.
        return lease.Elector(
            placed.local, options.elsewhere.namespace, LEASE, holder, options.lease or HIGHLY_AVAILABLE, pod=_pod()
        )
    infrastructure = watched.known().infrastructure
    topology = infrastructure.control_plane if isinstance(infrastructure, facts.Infrastructure) else None
    timing = options.lease or timing_for(topology or "")
    return lease.Elector(client, options.namespace, LEASE, holder, timing, pod=_pod(), on_restored=watched.put_back)


async def _until_one_ends(*works: Coroutine[None, None, object]) -> None:
    """Run all until the first ends; then cancel the others, the last one first, each with time to clean up.

    Raises what one of them has raised. Cancelled again meanwhile, it cuts short what cleans up just then, ends the
    others in the same order, and leaves none of them running.
    """
    tasks = [asyncio.create_task(work) for work in works]
    hurried: asyncio.CancelledError | None = None
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in reversed(tasks):
            task.cancel()
            while not task.done():
                try:
                    await asyncio.wait([task])
                except asyncio.CancelledError as error:
                    hurried = error
                    task.cancel()
        failures = [task.exception() for task in tasks if not task.cancelled()]
        if hurried is not None:
            raise hurried
    for failure in failures:
        if isinstance(failure, Exception):
            raise failure


async def _endless(work: Coroutine[None, None, object], name: str) -> None:
    """Run what ends by being cancelled only: a task that is over without an error is a bug as one with an error is."""
    await work
    raise RuntimeError(f"the {name} of this process ended, and nothing had asked for that")


def _stop_on_signals() -> asyncio.Event:
    """Return what SIGTERM or SIGINT set."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, _stop, stop)
    return stop


def _stop(stop: asyncio.Event) -> None:
    if stop.is_set():
        _LOG.warning("asked twice to stop: leaving at once")
        # What is queued is written first, if it can be.
        logging.shutdown()
        os._exit(1)
    _LOG.info("asked to stop")
    stop.set()
