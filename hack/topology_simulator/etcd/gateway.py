"""A client of etcd's JSON gateway. It shares nothing with the operator's: what one gets wrong, the other must not hide.

64-bit numbers are strings there; what is false or empty is left out (`isLearner`, the name of a member that has not
started); and an error is `{code, message}` with gRPC's code numbers.
"""

import contextlib
import json
import ssl
from dataclasses import dataclass
from typing import Any

import aiohttp

from .. import etcd, opened

_SECONDS = 5.0


class GatewayError(etcd.EtcdError):
    """etcd did not do it. `code` is gRPC's (9: failed precondition, 14: unavailable), 0 when there was no answer."""

    def __init__(self, what: str, code: int, message: str) -> None:
        super().__init__(f"{what}: {message}" if not code else f"{what}: {message} (code {code})")
        self.code = code
        self.message = message

    @property
    def by_learner(self) -> bool:
        """Whether it came from a learner, which refuses everything about membership: ask another member."""
        return "not supported for learner" in self.message


@dataclass(frozen=True, slots=True)
class Member:
    """A member as the others list it. One that has not started has no name and no client URLs."""

    id: int
    name: str
    learner: bool
    peer_urls: tuple[str, ...]
    client_urls: tuple[str, ...]

    @property
    def hexadecimal(self) -> str:
        """The id as the etcd operator writes it."""
        return f"{self.id:x}"


@dataclass(frozen=True, slots=True)
class Status:
    """What one member says of itself; `leader` is 0 while it knows none."""

    id: int
    leader: int
    term: int
    learner: bool


class Gateway(opened.Opened):
    """A client of any number of members; use it as an async context manager. Every call has a deadline.

    Without `tls` it speaks plain HTTP.
    """

    def __init__(self, tls: ssl.SSLContext | None, seconds: float = _SECONDS) -> None:
        super().__init__()
        self._tls = tls
        self._limit = aiohttp.ClientTimeout(total=seconds)
        self._session: aiohttp.ClientSession

    async def _open(self, parts: contextlib.AsyncExitStack) -> None:
        # A member is killed and comes back on the same port: a kept connection would be the old one's.
        connector = aiohttp.TCPConnector(ssl=self._tls or True, force_close=True)
        session = aiohttp.ClientSession(connector=connector, timeout=self._limit, trust_env=False)
        self._session = await parts.enter_async_context(session)

    async def members(self, url: str, *, linearizable: bool = True) -> tuple[Member, ...]:
        """List the members; not linearizable: as this one knows them, which needs no quorum. Raises GatewayError."""
        answer = await self.call(url, "cluster/member/list", linearizable=linearizable)
        return tuple(_member(entry) for entry in answer["members"])

    async def status(self, url: str) -> Status:
        """Ask one member about itself. Raises GatewayError."""
        answer = await self.call(url, "maintenance/status")
        leader, term = (int(answer.get(name, 0)) for name in ("leader", "raftTerm"))
        return Status(int(answer["header"]["member_id"]), leader, term, bool(answer.get("isLearner", False)))

    async def healthy(self, url: str) -> bool:
        """Whether one member says on /health that it can serve; no answer is no. Learners say so too."""
        with contextlib.suppress(aiohttp.ClientError, TimeoutError, ValueError):
            async with self._session.get(f"{url}/health") as response:
                answer = json.loads(await response.read())
                return response.status == 200 and str(answer.get("health")) == "true"
        return False

    async def call(self, url: str, what: str, **body: Any) -> dict[str, Any]:
        """Call any method of the gateway, e.g. `kv/put`. Raises GatewayError."""
        try:
            async with self._session.post(f"{url}/v3/{what}", data=json.dumps(body)) as response:
                raw = await response.read()
                status = response.status
        except (aiohttp.ClientError, TimeoutError) as error:
            raise GatewayError(f"{what} at {url}", 0, repr(error)) from error
        try:
            answer: dict[str, Any] = json.loads(raw)
        except ValueError:
            text = raw[:200].decode(errors="replace")
            raise GatewayError(f"{what} at {url}", 0, f"HTTP {status}: {text}") from None
        if status != 200:
            raise GatewayError(f"{what} at {url}", int(answer.get("code", 0)), str(answer.get("message") or answer))
        return answer


def _member(raw: dict[str, Any]) -> Member:
    return Member(
        id=int(raw["ID"]),
        name=str(raw.get("name", "")),
        learner=bool(raw.get("isLearner", False)),
        peer_urls=tuple(raw.get("peerURLs", ())),
        client_urls=tuple(raw.get("clientURLs", ())),
    )
