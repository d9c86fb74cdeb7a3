"""The API server of a test. `Embedded` runs in the test's own loop and can do what no real one does on request.

What only it can do (faults, hooks before a request, the audit log with who asked, a restart in the middle) stays on
this class; a test that needs it asks `World.embedded`, and is skipped against a real server. Everything else goes
through the API and is the same for both.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from test.component import process
from topology_simulator.apiserver import faults, server, statuses

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from topology_simulator.apiserver import audit, requests

_WRITES = frozenset({"create", "update", "patch", "delete"})


@dataclass(frozen=True, slots=True)
class Write:
    """A write that an operator has sent (executed or not), other than of leases and events."""

    who: str
    verb: str
    resource: str
    subresource: str
    body: dict[str, Any]

    @property
    def record(self) -> dict[str, Any]:
        """What it says in status.topologyTransition."""
        found: dict[str, Any] = (self.body.get("status") or {}).get("topologyTransition") or {}
        return found

    @property
    def flips(self) -> bool:
        """Whether it moves the topology."""
        return "controlPlaneTopology" in (self.body.get("status") or {})

    def __str__(self) -> str:
        what = "flip" if self.flips else self.record.get("phase", "")
        return f"{self.verb} {self.resource}/{self.subresource} {what}".strip()


def who(request: requests.Request) -> str:
    """Return the token of whoever asks: the operator's name."""
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def by_operator(request: requests.Request) -> bool:
    """Whether an operator asks."""
    return request.user_agent.startswith("cluster-topology-operator/")


def is_flip(request: requests.Request) -> bool:
    """Whether this is the one write that matters."""
    return (
        request.verb == "patch"
        and request.target.plural == "infrastructures"
        and b'"controlPlaneTopology"' in request.body
        and by_operator(request)
    )


def is_live_read(request: requests.Request) -> bool:
    """Whether this is the last read before a flip: Infrastructure by name, with GET."""
    return request.verb == "get" and request.target.plural == "infrastructures" and by_operator(request)


def is_write(request: requests.Request) -> bool:
    """Whether an operator writes something that people see: neither lease nor event."""
    return request.verb in _WRITES and by_operator(request) and request.target.plural not in {"leases", "events"}


def refuse(code: int, message: str) -> statuses.StatusError:
    """What a hook raises so that the request is not executed."""
    return statuses.StatusError(code, message)


class Embedded:
    """The embedded server. Close it with `stop`."""

    def __init__(self) -> None:
        self.server = server.ApiServer(bookmark_seconds=1.0)
        self.writes: list[Write] = []
        self.server.faults.on_request(is_write, self._note)

    async def start(self) -> dict[str, Any]:
        """Listen, and return a kubeconfig."""
        await self.server.start()
        return self.server.kubeconfig()

    async def stop(self) -> None:
        """Cut everything and stop."""
        self.server.faults.clear()
        await self.server.stop()

    async def restart(self, down: float = 0.3) -> None:
        """Go away for `down` seconds and come back on the same port with the same state."""
        port = self.server.port
        await self.server.stop()
        await asyncio.sleep(down)
        await self.server.start(port=port)

    def fault(self, action: faults.Action, **fields: Any) -> faults.Active:
        """Put a fault in force, by default for operators only (see `topology_simulator.apiserver.faults`)."""
        return self.server.faults.add(faults.Fault(action=action, **{"user_agent": process.USER_AGENT, **fields}))

    def lift(self, active: faults.Active) -> None:
        """Take a fault away."""
        self.server.faults.remove(active)

    def before(
        self,
        matches: Callable[[requests.Request], bool],
        callback: Callable[[requests.Request], Awaitable[None]],
        *,
        count: int | None = 1,
    ) -> faults.Hook:
        """Run something before the next `count` matching requests are executed; None: before each."""
        return self.server.faults.on_request(matches, callback, count=count)

    def unhook(self, hook: faults.Hook) -> None:
        """Take a hook away."""
        self.server.faults.remove_hook(hook)

    def asked(self, since: int = 0) -> list[audit.Record]:
        """What operators have asked since `mark`, oldest first."""
        return [one for one in list(self.server.requests)[since:] if one.user_agent.startswith("cluster-topology-op")]

    def mark(self) -> int:
        """Return where the audit log ends now."""
        return len(self.server.requests)

    @property
    def flips(self) -> list[Write]:
        """Every flip that was sent, executed or not."""
        return [one for one in self.writes if one.flips]

    async def _note(self, request: requests.Request) -> None:
        try:
            body = json.loads(request.body or b"{}")
        except ValueError:
            body = {}
        target = request.target
        self.writes.append(Write(who(request), request.verb, target.plural, target.subresource, body))
