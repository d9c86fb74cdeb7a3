"""What a component test works with: a cluster behind an API, its neighbours, and the operators that were started.

The same tests run against a real API server: a test goes through `api` and the questions below, and `server` is what
it does to the API server itself (`backend`).
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from test import polling
from test.component import cluster, process, reactors
from topology_controller import bindata
from topology_simulator import client as clients
from topology_simulator import conditions, kinds, kubeconfig

if TYPE_CHECKING:
    import pathlib
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from test.component import backend
    from topology_simulator import cluster as simulated

T = TypeVar("T")
DESIRED = "HighlyAvailable"
INSTALLED = ("SingleReplica", "SingleReplica")
MOVED = ("HighlyAvailable", "HighlyAvailable")
NAME = "sno-to-ha-compact"


_DECIDED = "controller_runtime_reconcile_total{"


def hurried(folder: pathlib.Path) -> pathlib.Path:
    """Write the definition with the shortest deadline that there is, a minute, into a new folder."""
    definition: dict[str, Any] = yaml.safe_load((bindata.root() / "transitions" / f"{NAME}.yaml").read_text())
    definition["convergence"] |= {"deadlineMinutes": 1, "stuckMinutes": 0}
    del definition["convergence"]["machineMinutes"]
    folder.mkdir()
    (folder / f"{NAME}.yaml").write_text(yaml.safe_dump(definition))
    return folder


class World:
    """One cluster and its operators. `api` is the administrator's client.

    `flags` are what each operator is started with besides, `tls` is how one without a certificate comes in to it.
    """

    flags: tuple[str, ...] = ()
    tls: ssl.SSLContext | None = None

    def __init__(
        self,
        server: backend.Server,
        folder: pathlib.Path,
        api: clients.Client,
        living: tuple[reactors.Echo, reactors.Operands],
        installed: reactors.Pair = INSTALLED,
    ) -> None:
        self.server = server
        self.folder = folder
        self.api = api
        self.echo, self.operands = living
        self.installed = installed
        self.operators: list[process.Operator] = []

    # -- operators

    async def operator(
        self,
        name: str = "operator-a",
        *flags: str,
        settle: int | None = 0,
        lease: Sequence[str] = process.LEASE,
        file: pathlib.Path | None = None,
        wait: bool = True,
    ) -> process.Operator:
        """Start an operator; with `wait`, return when it is ready. `file` is its kubeconfig, if it is there already."""
        number = len(self.operators)
        own = file or self.folder / f"kubeconfig-{name}-{number}"
        if file is None:
            access = self.access()
            user = {"token": await self.token_of(name)}
            named = {**access, "users": [{"name": one["name"], "user": user} for one in access["users"]]}
            own.write_text(yaml.safe_dump(named))
        log = self.folder / f"{name}-{number}.log"
        started = await process.start(name, own, log, settle=settle, lease=lease, flags=(*self.flags, *flags))
        started.tls = self.tls
        self.operators.append(started)
        if wait:
            await started.ready()
        return started

    def access(self) -> dict[str, Any]:
        """Return a kubeconfig for operators, in which the user is replaced."""
        return self.server.kubeconfig()

    async def token_of(self, name: str, /) -> str:
        """Return the token of an operator; by default it is its name."""
        return name

    async def idle_operator(self, name: str = "operator-a", *flags: str, **options: Any) -> process.Operator:
        """Start an operator and wait until it leads and has said what could be asked for, in both objects."""
        started = await self.operator(name, *flags, **options)
        await self.until(
            "discovery is written", lambda status: (status.get("topologyTransition") or {}).get("available")
        )
        # The conditions come before the first record, its copy with the write that follows: then it is quiet.
        await self.asked_until("the record is copied", self.report, holds=lambda report: report.get("extension"))
        return started

    async def holder(self) -> str:
        """Who holds the lease now: the name of an operator, or nothing."""
        found = await self.api.find(kinds.LEASES, cluster.OWN_LEASE, cluster.OWN_NAMESPACE)
        return str(((found or {}).get("spec") or {}).get("holderIdentity") or "").partition("_")[0]

    async def until_held(self, name: str, seconds: float = 10.0) -> None:
        """Wait until this operator holds it."""
        await polling.until(f"the lease is held by {name}", self.holder, seconds, holds=lambda found: found == name)

    async def forget_lease(self) -> None:
        """Let the lease be free now instead of in `--lease-duration` seconds: delete it."""
        with contextlib.suppress(clients.ApiError):
            await self.api.delete(kinds.LEASES, cluster.OWN_LEASE, cluster.OWN_NAMESPACE)

    # -- the request

    async def ask_for(self, topology: str | None = DESIRED) -> dict[str, Any]:
        """Set spec.desiredTopology as an administrator does; None removes it."""
        return await self.api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"desiredTopology": topology}})

    # -- what is seen

    async def infrastructure(self) -> dict[str, Any]:
        """Read Infrastructure."""
        return await self.api.get(kinds.INFRASTRUCTURES, "cluster")

    async def record(self) -> dict[str, Any]:
        """Read status.topologyTransition."""
        found: dict[str, Any] = (await self.infrastructure())["status"].get("topologyTransition") or {}
        return found

    async def pair(self) -> tuple[str, str]:
        """Read the topology."""
        status = (await self.infrastructure())["status"]
        return status["controlPlaneTopology"], status["infrastructureTopology"]

    async def moves(self) -> list[tuple[str, str]]:
        """Return every topology that the cluster has moved to since it was installed, as a watch saw it."""
        version = int((await self.infrastructure())["metadata"]["resourceVersion"])

        def seen() -> int:
            return int(self.operands.latest.get("metadata", {}).get("resourceVersion", "0"))

        await polling.until("the watch has seen the present", seen, holds=lambda number: number >= version)
        assert self.operands.history[0] == self.installed, self.operands.history
        return self.operands.history[1:]

    async def report(self) -> dict[str, Any]:
        """Read the status of ClusterOperator topology, empty before there is one."""
        found: dict[str, Any] = (await self.api.find(kinds.CLUSTER_OPERATORS, "topology") or {}).get("status") or {}
        return found

    async def condition(self, type_: str) -> dict[str, Any]:
        """Read a condition of ClusterOperator topology."""
        found: dict[str, Any] = conditions.find({"status": await self.report()}, type_)
        return found

    async def asked_until(
        self, what: str, ask: Callable[[], Awaitable[T]], seconds: float = 10.0, *, holds: Callable[[T], object]
    ) -> T:
        """Wait for what both objects show; a failure shows what stands in the cluster, and the logs."""
        try:
            return await polling.until(what, ask, seconds, holds=holds, news=self.echo.news)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{await self.describe()}") from None

    async def until(self, what: str, holds: Any, seconds: float = 10.0) -> dict[str, Any]:
        """Wait until `holds(Infrastructure's status)` is truthy and return that status."""
        found = await self.asked_until(what, self.infrastructure, seconds, holds=lambda found: holds(found["status"]))
        status: dict[str, Any] = found["status"]
        return status

    async def until_phase(self, *phases: str, seconds: float = 10.0) -> dict[str, Any]:
        """Wait for one of these phases and return the record."""
        status = await self.until(
            f"phase {' or '.join(phases)}",
            lambda status: (status.get("topologyTransition") or {}).get("phase") in phases,
            seconds,
        )
        record: dict[str, Any] = status["topologyTransition"]
        return record

    async def until_condition(self, type_: str, status: str, reason: str = "", seconds: float = 10.0) -> dict[str, Any]:
        """Wait for a condition of ClusterOperator topology and return it."""
        return await self.asked_until(
            f"condition {type_}={status} {reason}", lambda: self.condition(type_), seconds,
            holds=lambda found: found.get("status") == status and reason in ("", found.get("reason")),
        )  # fmt: skip

    async def stays_so(self, what: str, holds: Callable[[], Awaitable[object]], decisions: int = 3) -> None:
        """Assert that `holds()` stays truthy while the operators decide so many times more, each time for a new reason.

        The reason is news of Infrastructure that means nothing: an annotation. A slow operator takes longer.
        """

        async def decided() -> float:
            pages = [await self.metrics_of(each) for each in self.operators if each.alive]
            series = [line for page in pages for line in page.splitlines() if line.startswith(_DECIDED)]
            return sum(float(line.rpartition(" ")[2]) for line in series)

        for number in range(decisions):
            before = await decided()
            note = {"metadata": {"annotations": {"example.com/news": f"{before:g}-{number}"}}}
            await self.api.patch(kinds.INFRASTRUCTURES, "cluster", note)

            async def after(before: float = before) -> bool:
                answer = await holds()
                assert answer, f"did not stay so: {what}; answer: {answer!r}"
                return await decided() > before

            await polling.until(f"a decision while {what}", after)
        assert await holds(), what

    async def metrics_of(self, operator: process.Operator) -> str:
        """Read the page of metrics of an operator. Where not everybody may, a world comes in as one who may."""
        status, text = await operator.ask("/metrics", tls=self.scraper())
        assert status == 200, f"/metrics of {operator.name} answered {status}: {text}"
        return text

    def scraper(self) -> ssl.SSLContext | None:
        """How to come in for the metrics; None where everybody may."""
        return None

    async def check(self, name: str, stage: str = "Preflight") -> dict[str, Any]:
        """Read one check of the record; empty when it is not there."""
        checks = (await self.record()).get("checks") or []
        return next((one for one in checks if (one["stage"], one["name"]) == (stage, name)), {})

    async def until_check(
        self, name: str, *statuses: str, stage: str = "Preflight", seconds: float = 10.0, words: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Wait until a check has one of these statuses, and these words in its message, and return it."""
        return await self.asked_until(
            f"check {name} is {' or '.join(statuses)} {words}", lambda: self.check(name, stage), seconds,
            holds=lambda found: found.get("status") in statuses and all(word in found["message"] for word in words),
        )  # fmt: skip

    async def events(self) -> list[dict[str, Any]]:
        """Read our events about Infrastructure."""
        found = await self.api.list(cluster.EVENTS, "default")
        return [one for one in found if (one.get("regarding") or {}).get("kind") == "Infrastructure"]

    async def reasons(self) -> list[str]:
        """Read the reasons of our events, sorted."""
        return sorted(one["reason"] for one in await self.events())

    async def until_told(self, *reasons: str) -> None:
        """Wait for these events: they follow the conditions of the same decision, a moment later."""
        await polling.until(f"events {sorted(reasons)}", self.reasons, holds=set(reasons).issubset)

    async def completed_once(self, seconds: float = 15.0) -> dict[str, Any]:
        """Wait for Completed, assert that the topology moved exactly once and that no event was told twice.

        Returns the record. TransitionBlocked may be told again: once for every time that it was Pending; and
        TransitionRequested once more for every request that was cancelled before.
        """
        record = await self.until_phase("Completed", seconds=seconds)
        await self.until_condition("Progressing", "False", "TransitionCompleted")
        moves = await self.moves()
        assert moves == [MOVED], moves
        await self.until_told("TopologyChanged", "TransitionAdmitted", "TransitionCompleted")
        reasons = await self.reasons()
        once = [reason for reason in reasons if reason not in {"TransitionBlocked", "TransitionRequested"}]
        assert len(set(once)) == len(once), reasons
        assert reasons.count("TransitionRequested") <= 1 + reasons.count("TransitionCancelled"), reasons
        return record

    async def describe(self) -> str:
        """What a failing test prints: both objects and the ends of all logs."""
        parts = []
        for kind, name in ((kinds.INFRASTRUCTURES, "cluster"), (kinds.CLUSTER_OPERATORS, "topology")):
            with contextlib.suppress(clients.ClientError):
                found = await self.api.find(kind, name)
                shown = {key: (found or {}).get(key) for key in ("spec", "status")}
                parts.append(f"--- {kind.plural}/{name}\n{yaml.safe_dump(shown, sort_keys=False, width=160)}")
        return "\n".join([*parts, self.logs()])

    def logs(self) -> str:
        """The ends of all logs."""
        return "\n".join(
            f"--- {one.name} (pid {one.process.pid}, exit code {one.process.returncode})\n{one.tail()}"
            for one in self.operators
        )


@contextlib.asynccontextmanager
async def opened(
    place: backend.Place, folder: pathlib.Path, shape: simulated.Shape | None = None
) -> AsyncIterator[World]:
    """Open a world with an installed cluster whose facts are all good; nobody requests anything."""
    made_as = shape or cluster.SHAPE
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(place.opened())
        access = kubeconfig.access(server.kubeconfig())
        api = await stack.enter_async_context(clients.Client(access, "administrator"))
        await server.furnish(api, made_as)
        living = await stack.enter_async_context(reactors.living(access))
        topology = made_as.topology["controlPlaneTopology"], made_as.topology["infrastructureTopology"]
        made = World(server, folder, api, living, topology)
        stack.push_async_callback(end, made)
        yield made


async def end(made: World, *, lacks_rights: bool = False) -> None:
    """End the operators; no traceback may be in their logs, and nothing refused to them unless a right is missing."""
    for one in made.operators:
        await one.kill()
    refusals = made.server.refusals()
    assert lacks_rights or not refusals, f"without the right to: {refusals}"
    complaints = {one.name: found for one in made.operators if (found := one.complaints())}
    assert not complaints, f"{complaints}\n{made.logs()}"
