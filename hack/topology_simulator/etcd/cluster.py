"""Several members that are one etcd: founded by one, grown by learners that become voters, shrunk again.

The membership is never remembered here, it is asked of the members; only which process has which peer URL is known,
which is how a member that has no name yet is recognised.
"""

import asyncio
import contextlib
import pathlib
from collections.abc import Awaitable, Callable
from typing import Any, Self, TypeVar

from .. import binaries, etcd, opened
from . import certificates, gateway, keeping, member

T = TypeVar("T")

_FAILED_PRECONDITION = 9
_UNAVAILABLE = 14
_PATIENCE_SECONDS = 20.0
_ASKED_SECONDS = 2.0
_POLL_SECONDS = 0.02
_UNDECIDED = "incompatible with current running cluster"


class Cluster(opened.Opened):
    """Members by name; use it as an async context manager. Starts empty.

    `authority` signs everybody's certificates, its own unless one is given; `client` is the administrator's. `strict`
    is etcd's default and OpenShift's: no member is added until all voters have been connected for five seconds; tests
    that are not about growing turn it off. Raises binaries.MissingError.
    """

    def __init__(self, *, strict: bool = True, authority: certificates.Authority | None = None) -> None:
        super().__init__()
        self.binary = binaries.program("etcd")
        self._strict = strict
        self.authority = authority or certificates.Authority()
        self.members: dict[str, member.Member] = {}
        self._processes = keeping.Keeping()
        self.client: gateway.Gateway
        """The administrator's."""

    async def _open(self, parts: contextlib.AsyncExitStack) -> None:
        await parts.enter_async_context(self._processes)
        own = self.client_folder("administrator")
        self.client = await parts.enter_async_context(gateway.Gateway(certificates.tls(own), _ASKED_SECONDS))

    @property
    def urls(self) -> tuple[str, ...]:
        """Client URLs of all members that were ever started and not removed, in the order in which they joined."""
        return tuple(process.url for process in self.members.values())

    def client_folder(self, name: str = "topology-operator") -> pathlib.Path:
        """Write a client's certificate of its own into a new folder, as `ca.crt`, `tls.crt`, `tls.key`."""
        folder = self._processes.folder / f"client-{name}"
        return certificates.write(folder, self.authority.certificate, self.authority.client(name))

    def secrets(self, name: str) -> member.Secrets:
        """Return good certificates for a member."""
        good = self.authority.member(name)
        return member.Secrets(trust=self.authority.certificate, serving=good, peer=good)

    # -- what the members say

    async def listed(self, *, linearizable: bool = True) -> tuple[gateway.Member, ...]:
        """Ask the first member that answers for the members; not linearizable: also without quorum.

        Raises GatewayError with what the last one said.
        """
        return await self._any(lambda url: self.client.members(url, linearizable=linearizable))

    async def named(self, name: str) -> gateway.Member:
        """Return one member as the others list it, also one that has not started. Raises LookupError, GatewayError."""
        entries = {entry.peer_urls: entry for entry in await self.listed()}
        return entries[(self.members[name].peer_url,)]

    def name_of(self, entry: gateway.Member) -> str:
        """Return the name of a listed member, also of one that has not started; empty when it is a stranger."""
        own = {ours.peer_url: ours.name for ours in self.members.values()}
        return entry.name or next((own[url] for url in entry.peer_urls if url in own), "")

    async def leader(self) -> member.Member:
        """Return the leader, as the first member that knows one says. Raises EtcdError when none does in time."""
        leaders: list[member.Member] = []

        async def led() -> str | None:
            with contextlib.suppress(gateway.GatewayError):
                for entry in await self.listed(linearizable=False):
                    if (leader := self.members.get(entry.name)) is not None and leader.answering:
                        with contextlib.suppress(gateway.GatewayError):
                            if (await self.client.status(leader.url)).leader == entry.id:
                                leaders.append(leader)
            return None if leaders else "none says so"

        await self._patiently("no member leads", led)
        return leaders[0]

    # -- what is done to them

    async def bootstrap(self, name: str) -> None:
        """Start the first member. Raises EtcdError."""
        first = self._new(name)
        await first.start({name: first.peer_url}, joins=False, strict=self._strict)
        await first.ready(self.client)

    async def announce(self, name: str) -> None:
        """Add a learner that has not started: the others list it without a name.

        Raises GatewayError, code 14 while the voters have not been connected for long enough.
        """
        newcomer = self._new(name)
        try:
            await self._asked("add", peerURLs=[newcomer.peer_url], isLearner=True)
        except BaseException:
            del self.members[name]
            raise

    async def start(self, name: str) -> member.Member:
        """Start a member that was announced. Raises EtcdError."""
        newcomer = self.members[name]
        known = {self.name_of(entry): entry.peer_urls[0] for entry in await self.listed() if entry.name}
        await newcomer.start({**known, name: newcomer.peer_url}, joins=True, strict=self._strict)

        async def joined() -> str | None:
            try:
                await newcomer.ready(self.client)
            except etcd.EtcdError as error:
                # A cluster that was founded a moment ago has not agreed on its version; a member that joins then ends.
                if _UNDECIDED not in str(error):
                    raise
                await newcomer.start_again()
                return _UNDECIDED
            return None

        await self._patiently(f"{name} has not joined", joined)

        async def published() -> str | None:
            # A member tells its name and client URLs by way of the log, a moment after it began to serve.
            return None if (await self.named(name)).name else "the others list it without a name"

        await self._patiently(f"{name} has not started", published)
        return newcomer

    async def add(self, name: str) -> member.Member:
        """Add a learner as soon as etcd lets it, and start it.

        Raises EtcdError.
        """

        async def attempt() -> str | None:
            try:
                await self.announce(name)
            except gateway.GatewayError as error:
                return _later(error)
            return None

        await self._patiently(f"{name} is not added", attempt)
        return await self.start(name)

    async def promote(self, name: str) -> None:
        """Make a learner a voter, as soon as etcd lets it. Raises EtcdError."""
        await self._patiently(f"{name} is still a learner", lambda: self.try_to_promote(name))

    async def try_to_promote(self, name: str) -> str | None:
        """Ask once to make a learner a voter; None when it is one, else why etcd refuses for now.

        Raises GatewayError for what waiting does not cure.
        """
        entry = await self.named(name)
        if not entry.learner:
            return None
        try:
            await self._asked("promote", ID=str(entry.id))
        except gateway.GatewayError as error:
            return _later(error)
        return None

    async def remove(self, name: str) -> None:
        """Take a member away, from the membership first, then its process. Raises GatewayError, KeepingError."""
        await self._asked("remove", ID=str((await self.named(name)).id))
        removed = self.members.pop(name)
        await removed.kill()
        removed.forget()

    async def grow(self, *names: str) -> Self:
        """Make these voters, one after the other, the first of an empty cluster by founding it.

        Raises what `bootstrap`, `add` and `promote` raise.
        """
        for name in names:
            if not self.members:
                await self.bootstrap(name)
            else:
                await self.add(name)
                await self.promote(name)
        return self

    def last_words(self) -> str:
        """Return the ends of all logs."""
        return "\n".join(process.last_words() for process in self.members.values())

    def _new(self, name: str) -> member.Member:
        if name in self.members:
            raise ValueError(f"there is a member {name} already")
        newcomer = member.Member(name, self.binary, self._processes, self.secrets(name))
        self.members[name] = newcomer
        return newcomer

    async def _patiently(self, what: str, attempt: Callable[[], Awaitable[str | None]]) -> None:
        """Try until there is no reason to wait any more; each attempt returns the reason why it was refused."""
        problem: str | None = "nothing"
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while (problem := await attempt()) is not None:  # noqa: ASYNC110 - a process of its own sets no event here
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            words = f"{what} after {_PATIENCE_SECONDS:g} s: {problem}"
            raise etcd.EtcdError(f"{words}\n{self.last_words()}") from None

    async def _asked(self, what: str, **body: Any) -> None:
        """Let the membership be changed. Raises GatewayError."""
        await self._any(lambda url: self.client.call(url, f"cluster/member/{what}", **body))

    async def _any(self, call: Callable[[str], Awaitable[T]]) -> T:
        """Ask one running member after the other until one does not fail for lack of an answer."""
        last = gateway.GatewayError("etcd", 0, "no member answers")
        for process in tuple(self.members.values()):
            if not process.answering:
                continue
            try:
                return await call(process.url)
            except gateway.GatewayError as error:
                last = error
                if error.code not in {0, _UNAVAILABLE} and not error.by_learner:
                    raise
        raise last


def _later(error: gateway.GatewayError) -> str:
    """Return why etcd refuses for now. Raises the error when waiting does not cure it."""
    if error.code in {_FAILED_PRECONDITION, _UNAVAILABLE}:
        return error.message
    raise error
