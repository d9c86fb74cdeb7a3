"""A cluster in a box: API server, installed cluster, actors, and the operator, opened and closed as one.

Files go into one folder and nowhere else: `kubeconfig`, `operator.log`, and `transitions` for a scenario that wants
another deadline. Nothing of it outlives the context.
"""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from . import backups, client, install, kubeconfig, operator_process, own_objects, pace, scenario, serving
from .actors import hub, native
from .apiserver import server as embedded
from .envtest import openshift
from .envtest import server as real
from .etcd import certificates
from .etcd import cluster as etcds

API_SERVERS = ("embedded", "real")
ETCDS = ("pretended", "real")
CONTEXT = kubeconfig.NAME
_SETTLE_SECONDS = 3
_TRANSITIONS = pathlib.Path(__file__).parents[2] / "bindata" / "transitions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """An empty API server that is open: the kubeconfigs of its administrator, and of the operator if that is another.

    `clients` signs client certificates, where the server publishes that CA itself. `definitions` are what it is given
    in place of stand-ins. `store` is what can be backed up, where that can be done. `account` makes the kubeconfig of
    the user of a token, where tokens are judged: with manifests, that of the operator.
    """

    administrator: dict[str, Any]
    operator: dict[str, Any] | None = None
    clients: certificates.Authority | None = None
    definitions: Sequence[dict[str, Any]] | None = None
    store: backups.Store | None = None
    account: Callable[[str], dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """What is open: a client for an onlooker, the actors, and where the files are."""

    api: client.Client
    actors: hub.Actors
    url: str
    kubeconfig: pathlib.Path
    log: pathlib.Path
    operator: operator_process.Operator | None
    settle_seconds: int
    serving: serving.Serving | None = None
    """What the operator serves HTTPS with, where it does."""
    store: backups.Store | None = None
    """What can be backed up and restored below the API, where that can be done."""

    async def watch_operator(self) -> None:
        """Return never, unless the operator ends: OperatorDiedError."""
        if self.operator is None:
            await asyncio.Event().wait()
        else:
            await self.operator.watch()

    async def beside(self, *parts: Awaitable[None]) -> None:
        """Run parts beside the operator until the first of them ends; all others are cancelled then.

        Raises what that one raised, OperatorDiedError when it was the operator.
        """
        await first_of(*parts, self.watch_operator())


async def first_of(*parts: Awaitable[None]) -> None:
    """Run parts until the first of them ends; all others are cancelled then. Raises what that one raised."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def opened(  # noqa: PLR0913 - what the command line offers
    story: scenario.Scenario,
    speeds: pace.Pace,
    folder: pathlib.Path,
    *,
    operator: bool = True,
    apiserver: str = "embedded",
    etcd: str = "pretended",
    served: Served | None = None,
    https: bool = False,
    manifests: bool = False,
    settle_seconds: int | None = None,
    flags: Sequence[str] = (),
) -> AsyncIterator[Box]:
    """Open a box for a scenario; files go to `folder`, an absolute path that exists.

    `settle_seconds` in place of those of the pace: the operator waits so long between two writes of newer answers, too.
    `flags` are further ones of the operator.
    With `manifests` what they bring is there, and where rights are judged the operator has those and no others.
    With `https` the operator serves as on a cluster, to those who are let in: `Box.serving` signs certificates.

    `apiserver` is one of API_SERVERS; `served` is one that is open already, and then none is started. `etcd` is one of
    ETCDS: real members are driven as nodes join, and the operator asks them itself. Raises OSError (folder not
    writable), InstallError, ClientError, for a real server binaries.MissingError and RealServerError, for a real
    etcd EtcdError.
    """
    file, log = folder / "kubeconfig", folder / "operator.log"
    async with contextlib.AsyncExitStack() as stack:
        if served is None:
            served = await stack.enter_async_context(_served(apiserver))
        kubeconfig.write(file, served.administrator)
        access = kubeconfig.access(served.administrator)
        api = await stack.enter_async_context(client.Client(access, strict=True))
        await install.install(api, story.shape(), crds=served.definitions)
        account = served.operator
        if manifests:
            await own_objects.apply(api, story.shape().without)
            if served.account is not None:
                account = served.account(await own_objects.token(api))
        if any(step.feature_gate is not None and step.feature_gate.name == native.GATE for step in story.steps):
            await install.serve_native_field(api)
        members, asking = None, tuple[str, ...]()
        if etcd == "real" and not story.cluster.hosted:
            members = await stack.enter_async_context(etcds.Cluster())
            await members.bootstrap("master-0")
            # It leads the operator to the others.
            asking = ("--etcd-cert-dir", str(members.client_folder()), "--etcd-endpoints", ",".join(members.urls))
        actors = await stack.enter_async_context(hub.Actors(access, speeds, real_etcd=members, release=story.release))
        process, certified = None, None
        settle = settle_seconds or max(1, round(_SETTLE_SECONDS * speeds.scale))
        if operator:
            theirs = file
            if manifests or account is not None:
                theirs = kubeconfig.write(folder / "kubeconfig-operator", account or served.administrator)
            flags = (*flags, *asking, *_hurried(story, folder))
            tls = None
            if https:
                if (clients := served.clients) is None:
                    clients = serving.authority()
                    await serving.publish(api, clients)
                certified = serving.Serving(folder, clients)
                flags = (*flags, "--serving-cert-dir", str(certified.certificates))
                tls = certified.tls()
            running = operator_process.running(theirs, log, settle, flags, tls=tls)
            process = await stack.enter_async_context(running)
        yield Box(
            api=api,
            actors=actors,
            url=access.server,
            kubeconfig=file,
            log=log,
            operator=process,
            settle_seconds=settle,
            serving=certified,
            store=served.store,
        )


def _hurried(story: scenario.Scenario, folder: pathlib.Path) -> tuple[str, ...]:
    """Return the operator's flags for definitions with another deadline, which are written to a folder."""
    if story.deadline_minutes is None:
        return ()
    transitions = folder / "transitions"
    transitions.mkdir(exist_ok=True)
    for path in sorted(_TRANSITIONS.glob("*.yaml")):
        definition = yaml.safe_load(path.read_text())
        hurried = {"deadlineMinutes": story.deadline_minutes, "stuckMinutes": 0}
        definition["convergence"] = {**definition["convergence"], **hurried}
        definition["convergence"].pop("machineMinutes", None)
        (transitions / path.name).write_text(yaml.safe_dump(definition, sort_keys=False))
    return ("--transitions-dir", str(transitions))


@contextlib.asynccontextmanager
async def _served(apiserver: str) -> AsyncIterator[Served]:
    if apiserver == "real":
        async with real.RealServer() as server:
            yield Served(
                administrator=server.kubeconfig(),
                clients=server.client_authority,
                definitions=openshift.definitions(),
                store=server,
                account=server.kubeconfig,
            )
        return
    simulated = embedded.ApiServer(bookmark_seconds=20.0)
    await simulated.start()
    try:
        yield Served(administrator=simulated.kubeconfig(), store=backups.Embedded(simulated))
    finally:
        await simulated.stop()
