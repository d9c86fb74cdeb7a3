"""One operator process: wires the parts together, waits for the lease, works, and ends cleanly.

At the start the watches and the server come first, so that a standby is warm and can be probed. At the end the loop
stops before the lease is given back, because another process may lead from then on. `cli` has the flags; what they say
together, and what could never work, is in `Options`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import logging
import math
import os
import signal
import socket
import uuid
from asyncio import sslproto
from typing import TYPE_CHECKING

from topology_api.vocabulary import LEASE, OPERATOR_NAME, RUNBOOKS_VARIABLE, CheckName, Topology

from . import act, logs, reconcile
from ._version import __version__
from .definitions import settings as configured
from .kube import client as clients
from .kube import config, credentials, lease, placement, queue
from .observe import catalog, facts, live, watches
from .report import events, metrics, view
from .serve import authn, routes, server, tls

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kubernetes_asyncio.client.configuration import Configuration

    from .definitions import load
    from .kube import transport
    from .observe import members

_LOG = logging.getLogger(__name__)
# Bytes for each TLS connection, ours and others' to us: asyncio would keep 256 KiB, and each watch is one.
_TLS_BUFFER = 16 * 1024
HIGHLY_AVAILABLE = lease.LeaseTiming(137, 107, 26)
SINGLE_REPLICA = lease.LeaseTiming(270, 240, 60)


class Options(argparse.Namespace):
    """The flags of `run`, by their names. Raises ValueError, which names the flag.

    `lease` is None when its figures follow the topology. `page` is the loopback address of the status page where others
    are served at `address`, None for no page.
    """

    def __init__(self, **flags: object) -> None:
        super().__init__(**flags)
        if self.etcd_endpoints and self.etcd_cert_dir is None:
            raise ValueError("--etcd-endpoints goes with --etcd-cert-dir")
        self.lease = self._lease()
        self.address = _address("--bind-address", self.bind_address)
        server.refuse_open_http(self.address, self.serving_cert_dir)
        self.page = _address("--page-address", self.page_address) if self.page_address else None
        if self.page is not None and self.serving_cert_dir is None:
            raise ValueError("--page-address goes with --serving-cert-dir: without it the page is at --bind-address")
        if self.page is not None and not self.page.loopback:
            why = "is not a loopback address: the page asks for no credentials, and is reached by port-forward"
            raise ValueError(f"--page-address {self.page} {why}")
        if not self.lease_kubeconfig:
            if self.lease_namespace:
                why = "goes with --lease-kubeconfig; without it --namespace is that of the lease"
                raise ValueError(f"--lease-namespace {why}")
        elif not self.lease_namespace:
            raise ValueError("--lease-kubeconfig goes with --lease-namespace, a namespace of its own for each target")
        elif not self.leader_elect:
            why = "does not go with --no-leader-elect: without a lease there is none to place"
            raise ValueError(f"--lease-kubeconfig {why}")
        elif self.kubeconfig is None:
            raise ValueError("--lease-kubeconfig goes with --kubeconfig, which leads to the cluster that is acted on")

    @property
    def request_timeout(self) -> float:
        """Seconds for one request: a write must end while the lease is ours, however short that was asked to be."""
        return clients.REQUEST_TIMEOUT if self.lease is None else self.lease.request_timeout

    def _lease(self) -> lease.LeaseTiming | None:
        figures = [self.lease_duration, self.renew_deadline, self.retry_period]
        given = [seconds for seconds in figures if seconds is not None]
        if not given:
            return None
        words = "--lease-duration, --renew-deadline and --retry-period"
        if len(given) < len(figures):
            raise ValueError(f"{words} go together")
        try:
            return lease.LeaseTiming(*given)
        except ValueError as error:
            raise ValueError(f"{words}: {error}") from None


def _address(flag: str, text: str) -> server.Address:
    try:
        return server.Address.parse(text)
    except ValueError as error:
        raise ValueError(f"{flag}: {error}") from None


def timing_for(control_plane: str) -> lease.LeaseTiming:
    """OpenShift's figures: patient where a single node may be rebooting, brisk elsewhere."""
    return SINGLE_REPLICA if control_plane == Topology.SINGLE_REPLICA else HIGHLY_AVAILABLE


async def run(options: Options, transitions: load.Transitions) -> None:
    """Run until cancelled, or until SIGTERM or SIGINT.

    Raises config.ConfigError, lease.LeaseLost, placement.SameClusterError, placement.ReplacedError and OSError.
    """
    sslproto.SSLProtocol.max_size = _TLS_BUFFER
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, _stop, stop)
    configuration = await config.load(options.kubeconfig, options.context, programs=not options.lease_kubeconfig)
    measured = metrics.Metrics(transitions, lease=LEASE, server=str(configuration.host))
    measured.ends[metrics.TARGET] = functools.partial(credentials.expiry, configuration)
    holder = f"{_set('POD_NAME') or socket.gethostname()}_{uuid.uuid4()}"
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(_client(configuration, options, measured.request))
        placed = await _placed(options, client, stack, measured) if options.lease_kubeconfig else None
        work = queue.WorkQueue(measured)
        follow = logs.follow if options.log_level is None and options.v is None else None
        settings = configured.Current(options.config, transitions, log_level=follow)
        etcd = _etcd(options, transitions, measured)
        sources = (*catalog.watched(transitions), catalog.acceptances(options.namespace))
        seen = watches.Watches(
            client, work.add, sources=sources, etcd=None if etcd is None else etcd.poll, on_restored=measured.restored
        )
        watched = await stack.enter_async_context(seen)
        shown = view.Latest()
        settings.changed = work.add

        def about() -> view.About:
            return view.About(__version__, settings.transitions, options.settle_seconds, _set(RUNBOOKS_VARIABLE))

        pages = routes.Page(shown, watched.known, about)
        # Who asks us is known where this process runs.
        local, guard = (client, None) if placed is None else (placed.local, placed.guard)
        folder = options.serving_cert_dir
        secured = None if folder is None else server.Security(tls.ServingTLS(local, folder), authn.Reviews(local))

        def troubles() -> tuple[str, ...]:
            return (*((placed.trouble,) if placed is not None and placed.trouble else ()), *watched.troubles)

        machines = (
            *routes.probes(troubles, lambda: work.working_since),
            *routes.scrape(measured, watched.last_activity, *([] if secured is None else [secured.tls.last_activity])),
        )
        readers = tuple(pages.routes())
        served = server.Server(options.address, machines if secured else (*machines, *readers), secured)
        servers = [await stack.enter_async_context(served)]
        started = {"program": OPERATOR_NAME, "version": __version__, "port": servers[0].bound}
        _LOG.info("%(program)s %(version)s serves on port %(port)d", started)
        if options.page is not None:
            servers.append(await stack.enter_async_context(server.Server(options.page, readers)))
            _LOG.info("the status page is on port %(port)d of this pod's loopback", {"port": servers[1].bound})
        await stack.enter_async_context(pages)

        async def reconcile_while(time_left: Callable[[], float], on_topology: Callable[[str], None]) -> None:
            deps = reconcile.Dependencies(
                client=client,
                watches=watched,
                queue=work,
                act=act.Act(client, time_left, guard),
                events=events.EventRecorder(
                    client, holder, reconcile.utcnow, guard, void=watched.restored.is_set, unsure=watched.unsure
                ),
                metrics=measured,
                latest=shown,
                # The version operator waits for the version that its payload's manifest names, where one has put it in.
                version=_set("RELEASE_VERSION") or __version__,
                namespace=options.namespace,
                settle_seconds=options.settle_seconds,
                etcd=etcd,
                configuration=settings,
                on_topology=on_topology,
            )
            reconciler = reconcile.Reconciler(deps)
            measured.leading(leads=True)
            work.add()
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(_endless(deps.events.run(), "events"), name="events")
                    group.create_task(_endless(reconciler.run(), "loop"), name="loop")
            finally:
                measured.leading(leads=False)
                shown.clear()

        await _until_one_ends(
            *(_endless(listening.run(), "server") for listening in servers),
            *([] if secured is None else [_endless(secured.tls.run(), "serving certificate")]),
            _endless(
                _lead(options, client, watched, holder=holder, reconcile_while=reconcile_while, placed=placed), "leader"
            ),
            stop.wait(),
            *([] if options.config is None else [_endless(settings.run(), "configuration")]),
            *([] if placed is None else [_endless(placed.run(), "placement")]),
        )


def _etcd(options: Options, transitions: load.Transitions, measured: metrics.Metrics) -> members.Members | None:
    """Open the way to etcd's members, where a folder for certificates is given and a definition asks the members."""
    if options.etcd_cert_dir is None:
        return None
    if not transitions.asks(CheckName.ETCD_MEMBERS_DIRECT):
        words = {"folder": options.etcd_cert_dir}
        _LOG.info("etcd's members are not read directly: %(folder)s is empty, or no definition counts voters", words)
        return None
    from .observe import members  # noqa: PLC0415 - memory that most clusters need not spend

    return members.Members(options.etcd_cert_dir, options.etcd_endpoints, observer=measured.etcd_request)


def _set(variable: str) -> str:
    """What the Deployment has set a variable to; "" without it."""
    return os.environ.get(variable, "").strip()


def _client(
    configuration: Configuration, options: Options, observer: transport.Observer | None = None
) -> clients.Client:
    agent, timeout = f"{OPERATOR_NAME}/{__version__}", options.request_timeout
    return clients.Client(
        configuration, user_agent=agent, field_manager=OPERATOR_NAME, request_timeout=timeout, observer=observer
    )


async def _placed(
    options: Options, target: clients.Client, stack: contextlib.AsyncExitStack, measured: metrics.Metrics
) -> placement.Placement:
    """Open the way to the cluster of the lease. Raises config.ConfigError."""
    chosen = options.lease_kubeconfig
    configuration = config.in_cluster() if chosen == "in-cluster" else await config.load(chosen, programs=False)
    measured.ends[metrics.LEASE] = functools.partial(credentials.expiry, configuration)
    local = await stack.enter_async_context(_client(configuration, options))
    period = 2 * (options.lease or HIGHLY_AVAILABLE).retry_period
    return placement.Placement(target, local, namespace=options.namespace, name=LEASE, period=period)


async def _lead(  # noqa: PLR0913 - two clusters, and what is done as their leader
    options: Options,
    client: clients.Client,
    watched: watches.Watches,
    *,
    holder: str,
    reconcile_while: Callable[[Callable[[], float], Callable[[str], None]], Coroutine[None, None, None]],
    placed: placement.Placement | None,
) -> None:
    """Wait for the caches and the lease, then reconcile for as long as it is ours. Raises lease.LeaseLost.

    Placed elsewhere, that begins once the target may be written to, and pauses while its own operator holds its lease.
    """
    if placed is not None:
        await placed.free.wait()
    installed = live.read(client, catalog.Sources.installed)
    watched.installed, _ = await asyncio.gather(installed, watched.first_answers())
    if not options.leader_elect:
        # The lease is always ours.
        reconciling = functools.partial(reconcile_while, lambda: math.inf, lambda _: None)
        await in_histories(reconciling, client, watched, lambda: asyncio.sleep(0))
        return
    # The kubelet begins a container again when the one before has ended, and no two pods have one name.
    pod = _set("POD_NAME")
    if placed is None:
        known = watched.known().infrastructure
        topology = known.control_plane if isinstance(known, facts.Infrastructure) else None
        timing = options.lease or timing_for(topology or "")
        elector = lease.Elector(client, options.namespace, LEASE, holder, timing, pod=pod, on_restored=watched.put_back)
    else:
        # Neither the shape of the target, nor its change, nor its store shows in what becomes of a lease there.
        timing = options.lease or HIGHLY_AVAILABLE
        elector = lease.Elector(placed.local, options.lease_namespace, LEASE, holder, timing, pod=pod)

    def adapt(control_plane: str) -> None:
        if options.lease is None and placed is None:
            elector.adopt(timing_for(control_plane))

    async def reconcile_as_leader() -> None:
        await elector.leading.wait()
        _LOG.info("leading as %(holder)s", {"holder": holder})
        reconciling = functools.partial(reconcile_while, elector.time_left, adapt)
        if placed is None:
            await in_histories(reconciling, client, watched, elector.renew_now)
            return
        while True:
            await placed.look()
            await placed.free.wait()
            await _until_one_ends(in_histories(reconciling, client, watched, elector.renew_now), placed.held.wait())

    # The loop ends before the election, which gives the lease back.
    await _until_one_ends(elector.run(), reconcile_as_leader())


async def in_histories(
    reconcile: Callable[[], Coroutine[None, None, None]],
    client: clients.Client,
    watched: watches.Watches,
    renew: Callable[[], Coroutine[None, None, None]],
) -> None:
    """Reconcile while the store has one history; where it was put back, `renew` the lease first: it shows the same."""
    while True:
        await _until_one_ends(reconcile(), watched.restored.wait())
        await renew()
        await watched.read_anew()
        watched.installed = await live.read(client, catalog.Sources.installed)


async def _until_one_ends(*works: Coroutine[None, None, object]) -> None:
    """Run all until the first ends; then cancel the others, the last one first, each with time to clean up.

    Raises what one of them has raised. Cancelled again, it cuts short what cleans up, and leaves none of them running.
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


def _stop(stop: asyncio.Event) -> None:
    if stop.is_set():
        _LOG.warning("asked twice to stop: leaving at once")
        # What is queued is written first, if it can be.
        logging.shutdown()
        os._exit(1)
    _LOG.info("asked to stop")
    stop.set()
