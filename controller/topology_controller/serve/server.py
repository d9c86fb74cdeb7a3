"""The listening socket, and the routes behind it.

Who may see what is served is decided here, for all routes at once, so that a new page cannot be open by mistake.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Self

from aiohttp import web

from .address import refuse_open_http

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable

    from .address import Address


class Server:
    """Serves until closed. `bound` is the port that was really taken (0 asks for any).

    `routes` are all that is served; those of the probes are open to everybody.
    """

    def __init__(
        self,
        address: Address,
        routes: Iterable[web.RouteDef],
        certificates: pathlib.Path | None = None,
    ) -> None:
        refuse_open_http(address, certificates)
        self._address = address
        self._routes = tuple(routes)
        self._certificates = certificates
        self._runner: web.AppRunner | None = None
        self.bound = 0

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.add_routes(self._routes)
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
