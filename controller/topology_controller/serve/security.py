"""Everything that serving to others needs: certificates, what the cluster says about them, and the gate.

`server` asks for the newest TLS context and sends each request through the gate; without a serving certificate there is
no `Security`, and only this machine is served.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import connections, reviews, sessions, settings, signing_in, tls

if TYPE_CHECKING:
    import pathlib
    import ssl

    from ..kube import client as clients
    from ..kube import watch


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: `folder` between two looks at the certificate folder, `session` that a browser's session lasts.

    `reviews` are the figures of asking who somebody is; `watch` those of the watches, None for the usual ones.
    """

    folder: float = 5.0
    session: float = 3600.0
    reviews: reviews.Timing = field(default_factory=reviews.Timing)
    watch: watch.Timing | None = None


class Security:
    """Made before the server and run by it. Raises tls.CertificateError (OSError) for a folder that is no good."""

    def __init__(
        self,
        client: clients.Client,
        folder: pathlib.Path,
        *,
        pace: Pace = Pace(),
        limits: connections.Limits = connections.DEFAULT,
    ) -> None:
        try:
            self._contexts = tls.Contexts(folder)
        except tls.CertificateError as error:
            raise tls.CertificateError(f"--serving-cert-dir: {error}") from error
        self._pace = pace
        self._settings = settings.Settings(client, self._renew, timing=pace.watch)
        asked = reviews.Reviews(client, pace.reviews)
        self.sign_in = signing_in.SignIn(asked, sessions.Sessions(pace.session), limits)
        self.gate = self.sign_in.gate

    @property
    def context(self) -> ssl.SSLContext:
        """The newest context."""
        return self._contexts.current

    def last_activity(self) -> dict[str, float]:
        """Unix time of the last sign of life of each of the two watches."""
        return self._settings.last_activity()

    async def run(self) -> None:
        """Follow the cluster and the certificate folder until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._settings.run(), name="serving settings")
            group.create_task(self._look(), name="certificate folder")

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._pace.folder)
            self._renew()

    def _renew(self) -> None:
        self._contexts.renew(self._settings.client_ca, self._settings.profile)
