"""Reaches the cluster, and finds out at the first request whether it is one that can be asked.

Everything that a person can have got wrong before there is anything to judge ends here, with one line: a kubeconfig
that is no good, a server that does not answer, credentials that are not accepted, a cluster that is not OpenShift, an
Infrastructure that may not be read. Later failures are facts (`reading`), not errors.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..kube import client as clients
from ..kube import config, credentials
from ..kube import errors as kube
from ..observe import catalog
from . import arguments, errors, interruption

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_FIRST_TRY = 1.0
"""Seconds. A server that refuses connections is given up after this; one that is only slow gets its whole time then."""


_IMPERSONATE = "cannot impersonate"
"""So says an API server that refuses to take a user for another one."""


Acting = credentials.Acting


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach the cluster, as the command line said it. `request_timeout` is in seconds."""

    kubeconfig: str | None = None
    context: str | None = None
    request_timeout: float = arguments.DEFAULT_REQUEST_TIMEOUT
    insecure: bool = False
    acting: Acting | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """An open client, how messages name the server and who asks, and what is said if the command ends now."""

    client: clients.Client
    server: str
    acting: Acting | None = None
    interruption: interruption.Interruption = field(default_factory=interruption.Interruption)

    def lacks(self, error: kube.Forbidden) -> str:
        """Say whose right lacks for what was asked: `you have no right to patch infrastructures...`."""
        who = "you have" if self.acting is None else f"{self.acting.user} has"
        return f"{who} no right to {error.verb} {error.resource.describe(error.name, error.namespace)}"


@contextlib.asynccontextmanager
async def opened(access: Access, left: interruption.Interruption | None = None) -> AsyncIterator[Connection]:
    """Open a client. Raises PluginError when what says how to reach the cluster is no good."""
    try:
        configuration = await config.load(access.kubeconfig, access.context)
        if access.insecure:
            configuration.verify_ssl = False
        acting = access.acting or credentials.extras(configuration).acting
        client = clients.Client(
            configuration,
            user_agent=f"{arguments.PROGRAM}/{__version__}",
            field_manager=arguments.PROGRAM,
            request_timeout=access.request_timeout,
            extra_headers=acting.headers if acting is not None else (),
        )
        async with client:
            yield Connection(client, str(configuration.host), acting, left or interruption.Interruption())
    except config.ConfigError as error:
        raise errors.PluginError(str(error)) from error


async def infrastructure(connection: Connection) -> dict[str, Any]:
    """Read Infrastructure `cluster`: the first request, which tells whether anything can be asked here at all.

    Raises PluginError.
    """
    try:
        return await _first(connection.client)
    except kube.KubeError as error:
        raise explained(connection, error) from error


async def _first(client: clients.Client) -> dict[str, Any]:
    resource, name = catalog.INFRASTRUCTURES, catalog.INFRASTRUCTURE.selection.name or ""
    first = min(_FIRST_TRY, client.request_timeout)
    try:
        return await client.get(resource, name, timeout=first)
    except kube.TimedOut:
        if first >= client.request_timeout:
            raise
    return await client.get(resource, name)


def explained(connection: Connection, error: kube.KubeError) -> errors.PluginError:
    """What a person is told when the cluster cannot be asked."""
    server, what = connection.server, error.resource.describe(error.name)
    if isinstance(error, kube.Unreachable | kube.TimedOut):
        return errors.PluginError(f"cannot reach {server}: {error.message or error.reason}")
    if isinstance(error, kube.Unauthorized):
        return errors.PluginError(
            f"{server} does not accept the credentials{_because(error)}", "Log in again, for example with oc login"
        )
    if isinstance(error, kube.Forbidden):
        if connection.acting is not None and _IMPERSONATE in error.message:
            return errors.PluginError(f"you may not act as {connection.acting}: {error.message}")
        return errors.PluginError(connection.lacks(error), "Nothing can be told without it")
    if isinstance(error, kube.NotFound) and error.reason != "NotFound":
        # The path itself is unknown: an object that is missing is answered with a Status of reason NotFound.
        return errors.PluginError(
            f"{server} does not serve {error.resource.label}: this is no OpenShift cluster, or not yet one"
        )
    if isinstance(error, kube.NotFound):
        return errors.PluginError(f"{what} does not exist", "The installer makes it; nothing can be told without it")
    return errors.PluginError(str(error))


def _because(error: kube.KubeError) -> str:
    return f": {error.message}" if error.message else ""
