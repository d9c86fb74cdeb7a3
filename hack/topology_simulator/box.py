"""A cluster in a box: API server, installed cluster, actors, and the operator, opened and closed as one.

Files go into one folder and nowhere else: `kubeconfig`, and `operator.log` when there is an operator. Parts are opened
in the order in which they need each other and closed in reverse; nothing of it outlives the context.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml

from . import client, install, kubeconfig, operator_process
from .actors import hub
from .apiserver import server

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from . import pace, scenario

_SETTLE_SECONDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """What is open: a client for whoever looks on, the actors, and where the files are."""

    api: client.Client
    actors: hub.Actors
    url: str
    kubeconfig: pathlib.Path
    log: pathlib.Path
    operator: asyncio.subprocess.Process | None

    async def watch_operator(self) -> None:
        """Return never, unless the operator ends: OperatorDiedError."""
        if self.operator is None:
            await asyncio.Event().wait()
        else:
            await operator_process.watch(self.operator, self.log)


@contextlib.asynccontextmanager
async def opened(
    story: scenario.Scenario, speeds: pace.Pace, folder: pathlib.Path, *, port: int = 0, operator: bool = True
) -> AsyncIterator[Box]:
    """Open a box for a scenario; files go to `folder`, an absolute path that exists.

    Raises OSError (port taken, folder not writable), InstallError, ClientError.
    """
    file, log = folder / "kubeconfig", folder / "operator.log"
    async with contextlib.AsyncExitStack() as stack:
        served = server.ApiServer(bookmark_seconds=20.0)
        url = await served.start(port=port)
        stack.push_async_callback(served.stop)
        file.write_text(yaml.safe_dump(served.kubeconfig()))
        access = kubeconfig.load(file)
        api = await stack.enter_async_context(client.Client(access))
        await install.install(api, story.cluster.shape())
        actors = await stack.enter_async_context(hub.Actors(access, speeds))
        process = None
        if operator:
            settle = max(1, round(_SETTLE_SECONDS * speeds.scale))
            process = await stack.enter_async_context(operator_process.running(file, log, settle))
        yield Box(api=api, actors=actors, url=url, kubeconfig=file, log=log, operator=process)
