"""Reads the cluster: one connection, one consistent snapshot of facts, and the definitions as the operator asks them.

A kubeconfig that cannot be used, a server that does not answer, a cluster that is not OpenShift or an Infrastructure
that may not be read ends the command with one line (`PluginError`). Everything that cannot be read after that is a
fact, and every check that needs it answers Unknown; what was refused names the right that this person lacks. The same
sources as the operator's are read (`observe.catalog`), all at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import math
import pathlib
import socket
import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from topology_api import vocabulary
from topology_api.types import TopologyTransition
from topology_api.vocabulary import Phase
from topology_controller._version import __version__
from topology_controller.decide import applicability, records
from topology_controller.definitions import read, settings
from topology_controller.kube import client as clients
from topology_controller.kube import config, credentials
from topology_controller.kube import errors as kube
from topology_controller.kube import resource as resources
from topology_controller.observe import catalog, facts, live, parse

from . import answers, arguments, disruption, errors, naming

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

    from topology_api.types import AvailableTransition
    from topology_controller.definitions import load

T = TypeVar("T")
Acting = credentials.Acting
_FIRST_TRY = 1.0
"""Seconds. A server that refuses connections is given up after this; one that is only slow then gets its whole time."""
READER = "cluster-reader"
"""OpenShift's own cluster role, which may read what this program reads once ADDED_TO_READER is installed."""
ADDED_TO_READER = f"{vocabulary.OPERATOR_NAME}-cluster-reader"
"""Our cluster role that Kubernetes adds to READER: what OpenShift leaves out of it."""
HOST_READER = f"{vocabulary.OPERATOR_NAME}-baremetalhost-reader"
"""Our cluster role that is added to READER too, where an administrator chooses so: it reads HOSTS."""
HOSTS = "metal3.io"
INSTALL_FIELDS = f"Install them with the commands of: {vocabulary.OPERATOR_NAME} manifests --crd-patch"
ADDED = ("operator.openshift.io", "machineconfigs.", "lca.openshift.io")
"""What READER may read only with ADDED_TO_READER, as it begins in the name of an object (`etcds.operator...`)."""
LOOK_AGAIN = timedelta(seconds=60)
"""The age from which on what the operator has recorded about possible transitions is looked at again."""
_IDLE = tuple(source for source in catalog.IDLE if source is not catalog.Sources.infrastructure)


@dataclass(slots=True)
class Connection:
    """An open client, how messages name the server and the user, and what an interruption would print."""

    client: clients.Client
    server: str
    acting: Acting | None = None
    interruption: errors.Interruption = field(default_factory=errors.Interruption)
    namespace: str = vocabulary.DEFAULT_NAMESPACE
    """Where the operator runs."""
    first: dict[str, Any] | None = None
    """Infrastructure as the first request has read it, until a snapshot is made from that."""
    requests: list[str | None] = field(default_factory=list)
    """What was requested each time that it was judged for a write, or for a dry run that a person was shown."""
    collected: datetime | None = None
    """Of an archive: when it was collected, in aware UTC."""

    @property
    def now(self) -> datetime:
        """The time that ages are counted to, in aware UTC."""
        return self.collected or datetime.now(UTC)

    def lacks(self, error: kube.Forbidden) -> str:
        """Which permission is needed, and whose it is: `forbidden: you need permission to patch infrastructures...`."""
        who = "you need" if self.acting is None else f"{self.acting.user} needs"
        what = error.resource.describe(error.name, error.namespace)
        return f"forbidden: {who} permission to {error.verb} {what}"

    def grant(self, role: str) -> str:
        """How an administrator gives this user a cluster role that has the permission."""
        user = "USER" if self.acting is None else self.acting.user
        return f"Role {role} grants it: {naming.caller().grant(role, user)}"


@contextlib.asynccontextmanager
async def opened(options: argparse.Namespace, interrupted: errors.Interruption) -> AsyncIterator[Connection]:
    """Open a client as the flags about the connection say. Raises PluginError when they cannot be used."""
    namespace = options.operator_namespace
    if (archive := options.archive) is not None:
        yield Connection(archive, archive.name, None, interrupted, namespace, collected=archive.time)
        return
    try:
        override = arguments.overriding(options)
        configuration = await config.load(options.kubeconfig, options.context, override=override)
        if options.insecure_skip_tls_verify:
            configuration.verify_ssl = False
        extras = credentials.extras(configuration)
        if options.as_user is not None:
            extras.acting = Acting(options.as_user, tuple(options.as_group), options.as_uid)
        client = clients.Client(
            configuration,
            user_agent=f"{naming.PROGRAM}/{__version__}",
            field_manager=naming.PROGRAM,
            request_timeout=options.request_timeout,
        )
        async with client:
            yield Connection(client, str(configuration.host), extras.acting, interrupted, namespace)
    except config.ConfigError as error:
        raise errors.PluginError(str(error)) from error


async def infrastructure(connection: Connection) -> dict[str, Any]:
    """Read Infrastructure `cluster`, which shows whether this cluster can be asked at all. Raises PluginError."""
    client = connection.client
    try:
        return await reached(client, lambda seconds: client.get(catalog.INFRASTRUCTURES, "cluster", timeout=seconds))
    except kube.KubeError as error:
        raise explained(connection, error) from error


@dataclass(slots=True)
class Denials:
    """Ends what follows Infrastructure once that is refused for a while. `hint`: what helps if only a right lacks."""

    connection: Connection
    hint: str
    _until: float | None = None

    async def note(self, trouble: kube.KubeError | None) -> float:
        """Note what its watch is in trouble with; return the time to look again. Raises PluginError after 10 s."""
        if not isinstance(trouble, kube.Unauthorized | kube.Forbidden):
            self._until = None
            return math.inf
        clock = asyncio.get_running_loop().time()
        if self._until is not None and clock >= self._until:
            # A server that is being replaced may refuse good credentials for a moment; by now it is asked plainly once
            # more, which says what is wrong; if nothing is, only watching is refused.
            await infrastructure(self.connection)
            if isinstance(trouble, kube.Forbidden):
                raise errors.PluginError(self.connection.lacks(trouble), self.hint)
            self._until = None
        self._until = clock + 10.0 if self._until is None else self._until
        return self._until


async def reached(client: clients.Client, ask: Callable[[float], Awaitable[T]]) -> T:
    """Send the first request, which gets a budget in seconds: short, until it is known that a server is there."""
    if client.request_timeout > _FIRST_TRY:
        with contextlib.suppress(kube.TimedOut):
            return await ask(_FIRST_TRY)
    return await ask(client.request_timeout)


def explained(connection: Connection, error: kube.KubeError) -> errors.PluginError:
    """The error of a cluster that cannot be asked."""
    server, message = connection.server, error.message
    match error:
        case kube.Unreachable() | kube.TimedOut():
            return errors.PluginError(_unreachable(connection, error))
        case kube.Unauthorized():
            because = f": {message}" if message else ""
            return errors.PluginError(f"{server} does not accept the credentials{because}", "Log in again")
        case kube.Forbidden() if connection.acting is not None and "cannot impersonate" in message:
            return errors.PluginError(f"you may not act as {connection.acting}: {message}")
        case kube.Forbidden():
            return errors.PluginError(connection.lacks(error), connection.grant(READER))
        case kube.NotFound() if error.reason != "NotFound":
            # The path itself is unknown: an object that is missing is answered with a Status of reason NotFound.
            lacks = f"{server} does not serve {error.resource.label}"
            return errors.PluginError(f"{lacks}: this is no OpenShift cluster, or not yet one")
        case kube.NotFound():
            installer = "The installer creates it; nothing can be shown without it"
            return errors.PluginError(f"{error.resource.describe(error.name)} does not exist", installer)
    return errors.PluginError(str(error))


def _unreachable(connection: Connection, error: kube.KubeError) -> str:
    """Why there is no connection, without the words of libraries where it is known."""
    server = connection.server
    cause: BaseException | None = error
    while cause is not None:
        # aiohttp keeps the error of the system beside its own one.
        for below in (getattr(cause, "certificate_error", None), getattr(cause, "os_error", None), cause):
            match below:
                case ssl.SSLCertVerificationError():
                    why = getattr(below, "verify_message", "") or below
                    return f"the certificate of {server} is not trusted: {why}"
                case ConnectionRefusedError():
                    return f"connection refused by {server}: is the server running?"
                case socket.gaierror():
                    return f"no such host in {server}"
        cause = cause.__cause__
    if isinstance(error, kube.TimedOut):
        return f"no answer from {server} within {connection.client.request_timeout:g} s"
    return f"cannot reach {server}: {error.message or error.reason}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was read for one answer. `operator` is the operator's own Lease; `now` is aware UTC."""

    known: facts.Facts
    infrastructure: facts.Infrastructure
    operator: facts.Fact[facts.Lease]
    now: datetime
    unread: tuple[answers.Unread, ...] = ()
    collected: bool = False
    """It is from an archive, and what is missing there cannot be read by the operator either."""

    @property
    def record(self) -> TopologyTransition | None:
        """What the operator has recorded, None when it has not, or what stands there is no record."""
        return records.shown(self.infrastructure, self.known.own_operator)

    @property
    def phase(self) -> str | None:
        """The phase that the operator has recorded, None when there is no record."""
        return None if self.record is None else self.record.phase.value

    @property
    def available(self) -> dict[str, AvailableTransition]:
        """What could be requested when the operator last evaluated that, by name."""
        return {item.name: item for item in (() if self.record is None else self.record.available)}

    @property
    def instead(self) -> dict[str, AvailableTransition]:
        """That, where the caller may not read all that it depends on."""
        return self.available if any(fact["right"] for fact in self.unread) else {}


async def overview(connection: Connection, transitions: load.Transitions) -> Snapshot:
    """Read what the transitions that start here are judged by."""
    here = await whole(connection)
    hosted = disruption.hosted_sources(here, transitions)
    return await _read(connection, here, (*_IDLE, *_offered(here, transitions), *hosted))


def _offered(here: facts.Infrastructure, transitions: load.Transitions) -> tuple[catalog.Source, ...]:
    return catalog.offered(*transitions.starting_at(records.pair(here)))


async def everything(connection: Connection, transitions: load.Transitions) -> Snapshot:
    """Read what the operator watches while a request is open, and the settings that are to be set back after it."""
    own = catalog.single_node_settings(transitions.matrix)
    return await _read(connection, await whole(connection), (*_IDLE, *catalog.watched(transitions), *own))


async def present(connection: Connection, transitions: load.Transitions) -> Snapshot:
    """Read what `status` shows; what can be requested, too, where the operator looked at it `LOOK_AGAIN` ago."""
    here = await whole(connection)
    record = here.record if isinstance(here.record, TopologyTransition) else None
    looked = _offered(here, transitions) if is_old(here, record, connection.now) else ()
    return await _read(connection, here, (*status_sources(record, transitions), *looked), served=record is not None)


def is_old(here: facts.Infrastructure, record: TopologyTransition | None, now: datetime) -> bool:
    """Would what is recorded about possible transitions mislead? It is not shown while a request is under way."""
    if record is None:
        return True
    if record.phase is not Phase.UNSUPPORTED and (record.phase is not Phase.IDLE or here.desired is not None):
        return False
    return not record.available or any(item.evaluated_time < now - LOOK_AGAIN for item in record.available)


def status_sources(record: TopologyTransition | None, transitions: load.Transitions) -> tuple[catalog.Source, ...]:
    """The sources, besides Infrastructure, of what `status` shows of this record."""
    phase = record.phase if record is not None else Phase.IDLE
    if phase is Phase.CONVERGING:
        return (*_IDLE, *catalog.watched(transitions))
    # Whether workers can carry more says the record: there may be thousands.
    asked = [source for source in catalog.evidence(*transitions.definitions) if source is not catalog.Sources.workers]
    return (*_IDLE, *asked) if phase.asks else _IDLE


async def head(connection: Connection) -> Snapshot:
    """Read the desired topology and the phase, and no more: a cancel is in a hurry."""
    here = await whole(connection)
    return await _read(connection, here, _IDLE, served=isinstance(here.record, TopologyTransition))


async def census(connection: Connection, transitions: load.Transitions) -> Snapshot:
    """Read what the shape of a cluster is derived from. The API need not have our fields."""
    here = await whole(connection)
    nodes = (catalog.Sources.control_plane_nodes, catalog.Sources.other_nodes, catalog.Sources.scheduler)
    return await _read(connection, here, (*nodes, *disruption.hosted_sources(here, transitions)), served=True)


async def whole(connection: Connection) -> facts.Infrastructure:
    """Infrastructure `cluster`, reduced. Raises PluginError."""
    first, connection.first = connection.first, None
    raw = first if first is not None else await infrastructure(connection)
    try:
        return parse.infrastructure(raw)
    except ValueError as error:
        raise errors.PluginError(f"Infrastructure cluster makes no sense: {error}") from error


async def _read(
    connection: Connection, here: facts.Infrastructure, several: tuple[catalog.Source, ...], *, served: bool = False
) -> Snapshot:
    """Read everything else at once. `served`: our fields are known to be there, because a record stands in them."""
    client, sources = connection.client, tuple(dict.fromkeys(several))
    async with asyncio.TaskGroup() as group:
        gathering = group.create_task(live.gather(client, facts.Facts(infrastructure=here), sources, again=False))
        holder = group.create_task(live.read(client, lease(connection.namespace)))
        crd = None if served else group.create_task(live.read(client, catalog.Sources.installed))
    known = dataclasses.replace(gathering.result().facts, installed=facts.Installed() if crd is None else crd.result())
    return assembled(connection, known, holder.result(), sources, connection.now)


def assembled(
    connection: Connection,
    known: facts.Facts,
    operator: facts.Fact[facts.Lease],
    sources: Iterable[catalog.Source],
    now: datetime,
) -> Snapshot:
    """The snapshot of what was read of these sources, in whatever way. `operator` is the operator's Lease.

    What was refused names the right that lacks. Raises PluginError when Infrastructure is not known, or the API lacks
    our fields; where the native controller is in charge these are not needed, and every answer says who is.
    """
    if known.lacks and not applicability.native_in_charge(known):
        lacking = f"the API of this cluster lacks our fields: CustomResourceDefinition {known.lacks}"
        raise errors.PluginError(lacking, INSTALL_FIELDS)
    here = known.infrastructure
    if isinstance(here, facts.Unobserved):
        raise errors.PluginError(f"Infrastructure was there and cannot be read any more: {here}")
    changed, unread = dict[catalog.Source, facts.Unobserved](), list[answers.Unread]()
    installed = catalog.Sources.installed
    # Hosts are read because of what the Machines say, so they stand among no sources.
    for source in (*sources, catalog.Sources.hosts, installed):
        fact = source.of(known)
        if isinstance(fact, facts.Unobserved) and (source is installed or not (fact.missing or fact.awaited)):
            changed[source], missing = with_right(fact, source.selection)
            unread.append(missing)
    known = catalog.filled(known, changed)
    if isinstance(operator, facts.Unobserved):
        operator, _ = with_right(operator, lease(connection.namespace).selection)
    return Snapshot(known, here, operator, now, tuple(unread), connection.collected is not None)


def with_right(fact: facts.Unobserved, selection: resources.Selection) -> tuple[facts.Unobserved, answers.Unread]:
    """The same fact, with the right that lacks when the read was refused: a verb and a resource, as in a role."""
    right = None
    if fact.kind is facts.Kind.FORBIDDEN:
        verb = "list" if selection.name is None else "get"
        right = f"{verb} {selection.resource.describe(selection.name, selection.namespace)}"
        fact = dataclasses.replace(fact, why=f"forbidden: you need permission to {right}")
    return fact, {"what": fact.what, "why": fact.why, "right": right}


def lease(namespace: str) -> catalog.Source:
    """The operator's own Lease, where it runs in that namespace."""
    selection = resources.Selection(catalog.LEASES, namespace=namespace, name=vocabulary.LEASE)
    return catalog.Source(selection, parse.lease, catalog.Watched.CONVERGENCE, live=False, key="lease", operand=True)


async def configured(connection: Connection, transitions: load.Transitions) -> load.Transitions:
    """The definitions as the operator is configured to ask them; a line is printed where the defaults are used."""
    name, client, namespace = vocabulary.CONFIGURATION, connection.client, connection.namespace
    what, otherwise = catalog.CONFIG_MAPS.describe(name, namespace), "the operator may be configured otherwise"
    try:
        # The next request reports a server that does not answer.
        timeout = min(1.0, client.request_timeout)
        raw = await client.get(catalog.CONFIG_MAPS, name, namespace=namespace, timeout=timeout)
    except kube.Forbidden:
        errors.complain(f"you may not get {what}: judged by the defaults, {otherwise}")
        return transitions
    except kube.KubeError as error:
        if connection.collected is not None and not isinstance(error, kube.NotFound):
            errors.complain(f"{what}: {error.reason}. Judged by the defaults, {otherwise}")
        return transitions
    data = raw.get("data")
    text = data.get(vocabulary.CONFIGURATION_KEY) if isinstance(data, dict) else None
    content = text.encode(errors="surrogatepass") if isinstance(text, str) else None
    names = [definition.name for definition in transitions.definitions]
    try:
        loaded = settings.load(pathlib.Path(what, vocabulary.CONFIGURATION_KEY), content, names)
        return settings.applied(transitions, loaded)
    except read.DefinitionError as error:
        trouble = f"the configuration of the operator cannot be used: {'; '.join(settings.complaints(error))}"
        errors.complain(f"{trouble}. Judged by the defaults; the operator goes on with the last good one")
        return transitions
