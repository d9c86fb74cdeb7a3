"""A program that prints credentials: a token, or a certificate with its key.

The library runs it; when, and what becomes of what it prints, is decided here, because the library would write
certificates into files that stay (`inline`). It is run again when what it printed expires, or was refused. Neighbours:
`config` makes it from a kubeconfig, the library calls it before each request.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from . import inline

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kubernetes_asyncio.client.configuration import Configuration

# It may ask a person to log in, so it has time; but not for ever.
TIMEOUT = 300.0
_PERIOD = 10.0
# As the library has it: what is about to expire counts as expired.
_EARLY = timedelta(minutes=5)


class ExecPlugin:
    """A credential plugin of a kubeconfig. `run` runs it once and returns the status that it printed."""

    def __init__(self, run: Callable[[], Awaitable[Any]], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._run = run
        self._monotonic = monotonic
        self._lock = asyncio.Lock()
        self._refused = False
        self._expires: datetime | None = None
        self._ask_again = float("-inf")

    def rejected(self) -> None:
        """Run the program before the next request (at most every ten seconds)."""
        self._refused = True

    def __call__(self, configuration: Configuration) -> Awaitable[None] | None:
        """Refresh, when it is time; the library awaits what is returned."""
        if self._monotonic() < self._ask_again or not (self._refused or self._expired()):
            return None
        return self._refresh(configuration)

    async def first(self, configuration: Configuration) -> None:
        """Run it for the first time. Raises what the program, or running it, raises; TimeoutError after 5 minutes."""
        self._take(await self._asked(), configuration)

    async def _refresh(self, configuration: Configuration) -> None:
        async with self._lock:
            if self._monotonic() >= self._ask_again:
                found = await self._asked()
                self._refused = False
                self._take(found, configuration)

    async def _asked(self) -> Any:
        self._ask_again = self._monotonic() + _PERIOD
        try:
            async with asyncio.timeout(TIMEOUT):
                return await self._run()
        finally:
            self._ask_again = self._monotonic() + _PERIOD

    def _expired(self) -> bool:
        return self._expires is not None and self._expires - _EARLY <= datetime.now(UTC)

    def _take(self, status: Any, configuration: Configuration) -> None:
        wanted = ("token", "clientCertificateData", "clientKeyData", "expirationTimestamp")
        found = {name: status.get(name) for name in wanted} if isinstance(status, dict) else {}
        if any(value is not None and not isinstance(value, str) for value in found.values()):
            raise ValueError("exec: the program printed something that is not a text")
        token, certificate, key = found.get("token"), found.get("clientCertificateData"), found.get("clientKeyData")
        if not token and not (certificate and key):
            raise ValueError("exec: the program printed neither a token nor a certificate with its key")
        self._expires = _moment(found.get("expirationTimestamp"))
        if token:
            configuration.api_key["BearerToken"] = f"Bearer {token}"
        if certificate and key:
            inline.renew_client(configuration, certificate.encode(), key.encode())


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("exec: the program printed an expirationTimestamp that is no time") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
