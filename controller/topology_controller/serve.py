"""/metrics, /healthz and /readyz.

readyz is true while every watch has synced and is alive, so that a pod that has gone blind is seen; healthz is true
while the loop makes progress, so that a pod that hangs is restarted. Both say in a line what is wrong. Without a
serving certificate only a loopback address is accepted: metrics tell who runs what where.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

if TYPE_CHECKING:
    import pathlib

    from .report import metrics as measuring

STUCK_BOUND = 120.0
"""Seconds that one pass of the loop may take, or that the event loop may stand still, before healthz fails."""


class Watched(Protocol):
    """What readiness asks of the watches."""

    @property
    def troubles(self) -> tuple[str, ...]:
        """Watches that cannot be relied on."""

    def last_activity(self) -> dict[str, float]:
        """Unix time of the last sign of life of each."""


class Worked(Protocol):
    """What liveness asks of the queue."""

    working_since: float | None


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. Raises ValueError for what is not HOST:PORT."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read HOST:PORT, with brackets around an IPv6 address."""
        host, separator, port = text.rpartition(":")
        if not separator or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"{text!r} is not HOST:PORT")
        return cls(host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Is it reachable from this machine only?"""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def refuse_open_http(address: Address, certificates: pathlib.Path | None) -> None:
    """Raise ValueError for an address that others can reach while there is no certificate."""
    if certificates is None and not address.loopback:
        raise ValueError(
            f"--bind-address {address} is not a loopback address and needs --serving-cert-dir: "
            "without certificates metrics are served on loopback only"
        )


class Server:
    """Serves until closed. `bound` is the port that was really taken (0 asks for any)."""

    def __init__(
        self,
        address: Address,
        metrics: measuring.Metrics,
        watches: Watched,
        queue: Worked,
        certificates: pathlib.Path | None = None,
    ) -> None:
        refuse_open_http(address, certificates)
        self._address = address
        self._metrics = metrics
        self._watches = watches
        self._queue = queue
        self._certificates = certificates
        self._runner: web.AppRunner | None = None
        self.bound = 0

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.add_routes(
            [
                web.get("/metrics", self._show_metrics),
                web.get("/healthz", self._healthz),
                web.get("/livez", self._healthz),
                web.get("/readyz", self._readyz),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=2.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._address.host, self._address.port, ssl_context=self._tls(), backlog=64)
        try:
            await site.start()
        except OSError:
            await self._runner.cleanup()
            raise
        self.bound = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def _tls(self) -> ssl.SSLContext | None:
        if self._certificates is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        pair = self._certificates / "tls.crt", self._certificates / "tls.key"
        try:
            context.load_cert_chain(*pair)
        except OSError as error:
            # OpenSSL's own error names neither file.
            missing = next((file for file in pair if not file.is_file()), None)
            why = f"{missing} does not exist" if missing else f"{pair[0]} and {pair[1]} cannot be used: {error}"
            raise OSError(f"--serving-cert-dir: {why}") from error
        return context

    async def _show_metrics(self, _: web.Request) -> web.Response:
        self._metrics.watches(self._watches.last_activity())
        body = generate_latest(self._metrics.registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _healthz(self, _: web.Request) -> web.Response:
        since = self._queue.working_since
        lasting = 0.0 if since is None else asyncio.get_running_loop().time() - since
        if lasting > STUCK_BOUND:
            return web.Response(status=500, text=f"the loop has been at one pass for {lasting:.0f} s\n")
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        troubles = self._watches.troubles
        if troubles:
            return web.Response(status=500, text="".join(f"{trouble}\n" for trouble in troubles))
        return web.Response(text="ok\n")
