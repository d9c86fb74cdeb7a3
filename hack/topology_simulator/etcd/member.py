"""One etcd member as a process: its ports, its certificates, its data, and what can be done to it.

Mutual TLS towards clients and peers. A member keeps its ports for life, so that one that was killed comes back where
the others look for it. Heartbeats are five times as frequent as usual, so that an election takes 0.2 to 0.4 s.
"""

import asyncio
import pathlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from .. import etcd
from . import certificates, gateway, keeping

_READY_SECONDS = 20.0
_POLL_SECONDS = 0.02
_TOKEN = "topology"  # noqa: S105 - the name of the cluster, so that members of two never mix


@dataclass(frozen=True, slots=True)
class Secrets:
    """What a member is given: whom it trusts (PEM of one CA or several), and its certificates."""

    trust: bytes
    serving: certificates.Pair
    peer: certificates.Pair


class Member:
    """One member. `name` is that of its node; whether it is a voter only the cluster knows."""

    heartbeat_ms, election_ms = 20, 200

    def __init__(self, name: str, binary: pathlib.Path, processes: keeping.Keeping, secrets: Secrets) -> None:
        self.name = name
        self._binary = binary
        self._processes = processes
        self.url, self.peer_url = (f"https://127.0.0.1:{port}" for port in keeping.free_ports(2))
        """Where clients reach it, and its peers: by this the others know it before it has started."""
        self._folder = processes.folder / name
        self._command: list[str] = []
        self.paused = False
        self.give(secrets)

    @property
    def running(self) -> bool:
        """Whether there is a process, be it one that holds still."""
        return self.name in self._processes.pids

    @property
    def answering(self) -> bool:
        """Whether there is a process that does not hold still."""
        return self.running and not self.paused

    def give(self, secrets: Secrets) -> None:
        """Write its files. etcd reads certificates anew at every handshake, whom it trusts only when it starts."""
        certificates.write(self._folder / "serving", secrets.trust, secrets.serving)
        certificates.write(self._folder / "peer", secrets.trust, secrets.peer)

    async def start(self, peers: Mapping[str, str], *, joins: bool, strict: bool) -> None:
        """Start it for the first time, among peers (URL by name, itself included); `joins` a cluster that exists.

        Not `strict`: it lets membership change while members have been connected for less than five seconds.
        Returns when the process runs. Raises KeepingError.
        """
        serving, peer = self._folder / "serving", self._folder / "peer"
        command = keeping.etcd_command(self._binary, self.name, self._folder / "data", self.url, self.peer_url)
        self._command = [
            *command, f"--initial-cluster={','.join(f'{name}={url}' for name, url in peers.items())}",
            f"--initial-cluster-state={'existing' if joins else 'new'}", f"--initial-cluster-token={_TOKEN}",
            f"--strict-reconfig-check={str(strict).lower()}",
            f"--heartbeat-interval={self.heartbeat_ms}", f"--election-timeout={self.election_ms}",
            "--client-cert-auth", *_files("", serving), "--peer-client-cert-auth", *_files("peer-", peer),
        ]  # fmt: skip
        await self.start_again()

    async def start_again(self) -> None:
        """Start it with the data that it has. Raises KeepingError."""
        self.paused = False
        await self._processes.start(self.name, self._command)

    async def kill(self) -> None:
        """SIGKILL, and wait until it has ended. Raises KeepingError."""
        await self._processes.end(self.name)

    async def pause(self) -> None:
        """SIGSTOP: connections are accepted by the kernel, and not answered. Raises KeepingError."""
        await self._processes.hold(self.name)
        self.paused = True

    async def resume(self) -> None:
        """SIGCONT."""
        self._processes.go_on(self.name)
        self.paused = False

    def forget(self) -> None:
        """Remove the data of one that has ended: etcd lets no member come back that was taken away."""
        shutil.rmtree(self._folder / "data", ignore_errors=True)

    async def ready(self, asked: gateway.Gateway, seconds: float = _READY_SECONDS) -> gateway.Status:
        """Wait until it is healthy and knows a leader, and return what it says of itself. Raises EtcdError."""
        answer: object = "nothing"
        try:
            async with asyncio.timeout(seconds):
                while True:
                    try:
                        status = await asked.status(self.url)
                    except gateway.GatewayError as error:
                        answer = error
                    else:
                        answer = status
                        if status.leader and await asked.healthy(self.url):
                            return status
                    if not self.running:
                        raise etcd.EtcdError(f"{self.name} has ended\n{self.last_words()}")
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            words = f"{self.name} is not ready after {seconds:g} s; it says {answer}"
            raise etcd.EtcdError(f"{words}\n{self.last_words()}") from None

    def last_words(self) -> str:
        """Return the end of its log."""
        return self._processes.last_words(self.name)


def _files(kind: str, folder: pathlib.Path) -> list[str]:
    return [
        f"--{kind}trusted-ca-file={folder / certificates.CA_FILE}",
        f"--{kind}cert-file={folder / certificates.CERTIFICATE_FILE}",
        f"--{kind}key-file={folder / certificates.KEY_FILE}",
    ]
