"""What the cluster says about serving: the TLS profile, and the CA whose certificates name a client.

Two watches of one object each, opened only where there is a serving certificate. They are no facts about the topology,
so they are not among those of `observe`, and trouble with them is no reason to call this process blind: what was read
last goes on, and the log says so when trouble begins, changes and ends. Before anything was read, the strictest holds:
TLS 1.3, and no client certificate counts.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from typing import TYPE_CHECKING, Any

from ..kube import reflector
from ..kube import resource as resources
from . import profile as profiles

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..kube import client as clients
    from ..kube import watch

_LOG = logging.getLogger(__name__)
_API_SERVERS = resources.Resource("config.openshift.io", "v1", "apiservers", "APIServer")
_CONFIG_MAPS = resources.Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
API_SERVER = resources.Selection(_API_SERVERS, name="cluster", optional=True)
CLIENT_CA = resources.Selection(_CONFIG_MAPS, namespace="kube-system", name="extension-apiserver-authentication")
_CA_KEY = "client-ca-file"


class Settings:
    """Watches both objects while `run` runs; `on_change` is called when one of the two values may have changed."""

    def __init__(
        self, client: clients.Client, on_change: Callable[[], None], *, timing: watch.Timing | None = None
    ) -> None:
        self._on_change = on_change
        self._logged: dict[str, str] = {}
        self._api_server: reflector.Reflector[profiles.Profile] = reflector.Reflector(
            client, API_SERVER, profiles.wanted, functools.partial(self._changed, "apiserver"),
            malformed=lambda _name, _error: profiles.MODERN, timing=timing, name="apiserver",
        )  # fmt: skip
        self._client_ca: reflector.Reflector[str] = reflector.Reflector(
            client, CLIENT_CA, _bundle, functools.partial(self._changed, "client_ca"),
            malformed=lambda _name, _error: "", timing=timing, name="client_ca",
        )  # fmt: skip
        self._kept: dict[str, reflector.Reflector[Any]] = {
            "apiserver": self._api_server,
            "client_ca": self._client_ca,
        }

    @property
    def profile(self) -> profiles.Profile:
        """The profile that was read last; Modern before that, Intermediate where there is no such object."""
        known = self._api_server.snapshot()
        if not known.synced:
            return profiles.MODERN
        return next(iter(known.objects.values()), profiles.INTERMEDIATE)

    @property
    def client_ca(self) -> str:
        """The bundle (PEM) of those who sign clients; "" where there is none, or it was not read yet."""
        return next(iter(self._client_ca.snapshot().objects.values()), "")

    def last_activity(self) -> dict[str, float]:
        """Unix time of the last sign of life of each watch; 0 before the first."""
        return {name: one.last_activity for name, one in self._kept.items()}

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for name, one in self._kept.items():
                group.create_task(one.run(), name=f"watch {name}")

    def _changed(self, name: str) -> None:
        one = self._kept[name]
        error = one.snapshot().error
        trouble = "" if error is None else str(error)
        if trouble != self._logged.get(name, ""):
            self._logged[name] = trouble
            if trouble:
                _LOG.warning("cannot watch %s: %s; going on with what was read last", one.selection.describe(), trouble)
            else:
                _LOG.info("watching %s again", one.selection.describe())
        self._on_change()


def _bundle(raw: dict[str, Any]) -> str:
    found = (raw.get("data") or {}).get(_CA_KEY) or ""
    if not isinstance(found, str):
        raise TypeError(f"{_CA_KEY} is not text")
    return found
