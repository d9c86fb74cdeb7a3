"""What hub and clusters have in common: a real API server, engines beside it, an administrator, logs that are kept."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

from .. import client, kubeconfig, opened
from . import engines

if TYPE_CHECKING:
    import contextlib
    import pathlib

    from ..envtest import server


class Site(opened.Opened):
    """One of them; logs are copied to `folder` when it closes."""

    api: client.Client

    def __init__(self, real: server.RealServer, folder: pathlib.Path) -> None:
        super().__init__()
        self.server = real
        self.engines = engines.Engines()
        self._folder = folder

    async def _open(self, parts: contextlib.AsyncExitStack) -> None:
        await parts.enter_async_context(self.server)
        await parts.enter_async_context(self.engines)
        parts.callback(engines.keep_logs, self._folder, self.server.folder, self.engines.folder)
        access = kubeconfig.access(self.server.kubeconfig())
        self.api = await parts.enter_async_context(client.Client(access, "fleet-harness", strict=True))
        await self._furnish(parts)

    @abc.abstractmethod
    async def _furnish(self, parts: contextlib.AsyncExitStack) -> None:
        """Make what belongs there, and start the engines."""
