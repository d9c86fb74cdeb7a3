"""`RealServer`: etcd and kube-apiserver, up in a few seconds, restarted when a test wants it, and gone afterwards.

Nothing reconciles there, until a test asks for single controllers. A second kube-apiserver may serve the same etcd
(`start_api(SECOND)`), and several clusters may keep their objects in one etcd (`beside`). With RBAC on, anybody but a
member of `system:masters` can do only what a binding allows. Start lines: hack/envtest/README.md.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import pathlib
import shutil
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from .. import SimulatorError, binaries, kinds, kubeconfig, opened
from ..etcd import certificates, gateway, keeping
from . import audit

_READY_SECONDS = 60.0
_ORDER_SECONDS = 10.0
_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = 60.0
_ANSWER_SECONDS = 2.0
_ATTEMPTS = 3
_PROGRESS_SECONDS = 5
"""As OpenShift's etcd: cluster-etcd-operator pkg/etcdenvvar/etcd_env.go (release-4.22)."""
_CONTROLLERS = "kube-controller-manager"
_LOCAL = ("--leader-elect=false", "--secure-port=0", "--kube-api-qps=200", "--kube-api-burst=400")
"""Flags of controllers that serve one test run: no lease, no port, and no rate limit of their own."""
MASTERS = "system:masters"
API, SECOND = "kube-apiserver", "kube-apiserver-2"
"""The API servers by name; the second one is started only on demand."""
_OTHER = "second"
_FLAGS: list[str] = yaml.safe_load(pathlib.Path(__file__).with_name("kube-apiserver.yaml").read_text())


class RealServerError(SimulatorError):
    """The servers did not start or did not answer; the message has the last words of the one that failed."""


@dataclass(frozen=True, slots=True)
class User:
    """Who a token stands for."""

    name: str
    groups: tuple[str, ...] = ()


ADMIN = User("admin", (MASTERS,))


class RealServer(keeping.Keeping):
    """A real API server; use it as an async context manager. Its `folder` has data and logs: audit.log, etcd.log, ...

    `users` maps tokens to users; the token `admin` is always there. `beside` is another
    server whose etcd is used, which must outlive this one; `prefix` is then where objects are kept there.
    Raises binaries.MissingError, RealServerError.
    """

    policy = audit.POLICY
    hosts: tuple[str, ...] = certificates.LOOPBACK  # what its certificate is good for

    def __init__(
        self, users: Mapping[str, User] | None = None, *, beside: RealServer | None = None, prefix: str = "/registry"
    ) -> None:
        super().__init__("envtest-")
        self._beside = beside
        self._keys = prefix
        self._users = {"admin": ADMIN, **(users or {})}
        self._assets = binaries.folder()
        self.port = self._second_port = 0
        self.client_authority = certificates.Authority("kube-apiserver-client-signer")
        """Signs client certificates; the server publishes it in kube-system/extension-apiserver-authentication."""
        # It would make an RSA key, and sign with it as often as a client connects: a hundred times for each operator.
        self._authority = certificates.Authority("kube-apiserver-serving-signer")
        self._etcd_port = self._peer_port = 0
        self._snapshots = 0
        self._progress_flag = ""

    async def _open(self, parts: contextlib.AsyncExitStack) -> None:
        await super()._open(parts)
        await self._start_all()

    # -- what it offers

    @property
    def url(self) -> str:
        """Where the API is."""
        return f"https://127.0.0.1:{self.port}"

    def url_of(self, name: str) -> str:
        """Where the API server of this name is: `url` for API. Both show the same certificate."""
        return f"https://127.0.0.1:{self._port_of(name)}"

    @property
    def etcd_url(self) -> str:
        """Where its etcd is, plain HTTP: for compaction, never for objects."""
        return self._beside.etcd_url if self._beside is not None else f"http://127.0.0.1:{self._etcd_port}"

    def audit(self) -> audit.Log:
        """Return a reader of the audit log that begins now."""
        log = audit.Log(self.folder / "audit.log")
        log.skip()
        return log

    def kubeconfig(self, token: str = "admin", *, server: str = "") -> dict[str, Any]:  # noqa: S107 - the name of a user
        """Return a kubeconfig with this token; `server` is another way in, e.g. a proxy's URL."""
        return kubeconfig.content(server or self.url, authority=self._authority.certificate, token=token)

    def tls(self) -> ssl.SSLContext:
        """Return a client's TLS context that trusts the API server."""
        tls = kubeconfig.access(self.kubeconfig()).tls
        if tls is None:
            raise RealServerError("the API server is asked without TLS")
        return tls

    def serving(self) -> ssl.SSLContext:
        """Return a TLS context that shows the API server's own certificate, for a proxy before it."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.folder / "certs" / "apiserver.crt", self.folder / "certs" / "apiserver.key")
        return context

    async def stop_api(self, name: str = API) -> None:
        """Kill an API server; etcd keeps the state."""
        await self.end(name)

    async def start_api(self, name: str = API) -> None:
        """Start an API server again, on the same port with the same certificate, and wait until it is ready."""
        await self.start(name, self._api_command(name))
        await self._ready(name)

    async def restart_api(self, down: float = 0.0) -> None:
        """Kill the API server, wait for `down` seconds, and start it again."""
        await self.stop_api()
        await asyncio.sleep(down)
        await self.start_api()

    async def start_controllers(self, *names: str) -> None:
        """Start kube-controller-manager with these of its controllers, as administrator.

        They begin to work a second or two later. Raises binaries.MissingError, RealServerError.
        """
        program = await asyncio.to_thread(binaries.program, _CONTROLLERS)
        place = kubeconfig.write(self.folder / "controllers.kubeconfig", self.kubeconfig())
        key = f"--service-account-private-key-file={self.folder / 'service-account.key'}"
        await self.start(
            _CONTROLLERS, [str(program), f"--kubeconfig={place}", f"--controllers={','.join(names)}", key, *_LOCAL]
        )

    async def stop_controllers(self) -> None:
        """Kill the controllers. Raises RealServerError when they have ended by themselves, e.g. for an unknown name."""
        if _CONTROLLERS not in self.pids:
            raise RealServerError(f"{_CONTROLLERS} has ended\n{self._endings()}")
        await self.end(_CONTROLLERS)

    async def compact(self) -> int:
        """Let etcd forget every revision but the latest, and return that one."""
        async with gateway.Gateway(None, _ORDER_SECONDS) as etcd:
            revision = int((await etcd.call(self.etcd_url, "maintenance/status"))["header"]["revision"])
            await etcd.call(self.etcd_url, "kv/compaction", revision=str(revision), physical=True)
        return revision

    async def snapshot(self) -> pathlib.Path:
        """Save what etcd holds now to a file, as `etcdctl snapshot save` does; it goes with the server's folder."""
        self._snapshots += 1
        place = self.folder / f"snapshot-{self._snapshots}.db"
        with place.open("wb") as file:
            async with (
                aiohttp.ClientSession(self.etcd_url, timeout=aiohttp.ClientTimeout(total=_ORDER_SECONDS)) as session,
                session.post("/v3/maintenance/snapshot", json={}) as response,
            ):
                response.raise_for_status()
                async for line in response.content:
                    file.write(base64.b64decode(json.loads(line)["result"].get("blob", "")))
        return place

    async def put_back(self, snapshot: pathlib.Path, /, *, bump: int = 0, down: float = 0.0) -> None:
        """Restore etcd from a snapshot and start everything again, after at least `down` seconds.

        With `bump` all versions that come are so much larger, and those that clients know count as compacted: what
        OpenShift's restore pod does (cluster-etcd-operator, bindata/etcd/restore-pod.yaml). Without it the versions
        after the snapshot are given out a second time. Raises binaries.MissingError, RealServerError.
        """
        program = await asyncio.to_thread(binaries.program, "etcdutl")
        await self.stop_api()
        await self.end("etcd")
        shutil.rmtree(self.folder / "etcd")
        peers = f"http://127.0.0.1:{self._peer_port}"
        raised = (f"--bump-revision={bump}", "--mark-compacted") if bump else ()
        where = (f"--data-dir={self.folder / 'etcd'}", f"--initial-cluster=default={peers}")
        code, _, words = await binaries.ran(
            program, "snapshot", "restore", snapshot, *where, f"--initial-advertise-peer-urls={peers}", *raised
        )
        if code:
            raise RealServerError(f"etcdutl did not restore {snapshot}\n{words[-2000:]}")
        await asyncio.sleep(down)
        await self.start("etcd", self._etcd_command(self._peer_port))
        await self.start_api()

    # -- opening

    async def _start_all(self) -> None:
        self._progress_flag = await asyncio.to_thread(
            binaries.etcd_progress_flag, self._assets / "etcd", _PROGRESS_SECONDS
        )
        self._write_files()
        for attempt in range(_ATTEMPTS):
            self._etcd_port, self._peer_port, self.port, self._second_port = keeping.free_ports(4)
            try:
                if self._beside is None:
                    await self.start("etcd", self._etcd_command(self._peer_port))
                await self.start_api()
            except RealServerError as error:
                # Another process took a port between our look and their bind.
                if "address already in use" not in str(error) or attempt == _ATTEMPTS - 1:
                    raise
                await self.end("kube-apiserver")
                if self._beside is None:
                    await self.end("etcd")
                shutil.rmtree(self.folder / "etcd", ignore_errors=True)
            else:
                return

    def _write_files(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        text = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        served = self._authority.server_only("kube-apiserver", self.hosts)
        (self.folder / "certs").mkdir()
        rows = []
        for number, (token, user) in enumerate(self._users.items()):
            groups = f',"{",".join(user.groups)}"' if user.groups else ""
            rows.append(f"{token},{user.name},{number}{groups}\n")
        for name, content in (
            ("service-account.key", text),
            ("tokens.csv", "".join(rows).encode()),
            ("client-ca.crt", self.client_authority.certificate),
            ("certs/apiserver.crt", served.certificate + self._authority.certificate),
            ("certs/apiserver.key", served.key),
        ):
            file = self.folder / name
            file.touch(mode=0o600)
            file.write_bytes(content)

    def _etcd_command(self, port: int) -> list[str]:
        peer, data = f"http://127.0.0.1:{port}", self.folder / "etcd"
        command = keeping.etcd_command(self._assets / "etcd", "default", data, self.etcd_url, peer)
        # Without the flag the API server has no bookmarks for kinds that rest, and clients give such watches up.
        return [*command, f"--initial-cluster=default={peer}", self._progress_flag]

    def _port_of(self, name: str) -> int:
        return self._second_port if name == SECOND else self.port

    def _api_command(self, name: str) -> list[str]:
        words = {"folder": self.folder, "url": self.url, "policy": self.policy}
        words |= {"etcd": self.etcd_url, "keys": self._keys, "port": self._port_of(name)}
        return [str(self._assets / "kube-apiserver"), *kinds.filled(_FLAGS, **words)]

    async def _ready(self, name: str) -> None:
        tls, answer, late = self.tls(), "nothing", f"{name} is not ready after {_READY_SECONDS:g} s; /readyz says"

        async def ready() -> bool:
            nonlocal answer
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with session.get(f"{self.url_of(name)}/readyz", ssl=tls) as response:
                    answer = await response.text()
                    if response.status == 200:
                        return True
            for server in ("etcd", name) if self._beside is None else (name,):
                if server not in self.pids:
                    raise RealServerError(f"{server} has ended\n{self._endings()}")
            return False

        limit, headers = aiohttp.ClientTimeout(total=2.0), {"Authorization": "Bearer admin"}
        async with aiohttp.ClientSession(timeout=limit, headers=headers) as session:
            await opened.until(
                ready, _READY_SECONDS, _POLL_SECONDS, lambda: RealServerError(f"{late} {answer}\n{self._endings()}")
            )

    def _endings(self) -> str:
        logged = (name for name in ("etcd", API, SECOND, _CONTROLLERS) if (self.folder / f"{name}.log").exists())
        return "\n".join(self.last_words(name) for name in logged)


class Second(opened.Opened):
    """Another member of the etcd behind a server, so that there are two voters, of which none may be lost.

    It joins when the block begins and has left when it ends; its process is apart from the server's, so that a test
    kills it and starts it again. Raises RealServerError, KeepingError.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._processes = keeping.Keeping()
        self._id = ""
        self._command: list[str] = []

    async def _open(self, parts: contextlib.AsyncExitStack) -> None:
        await parts.enter_async_context(self._processes)
        client, peer = (f"http://127.0.0.1:{port}" for port in keeping.free_ports(2))
        added = await self._asked("cluster/member/add", peerURLs=[peer])
        self._id = added["member"]["ID"]
        (first,) = (member for member in added["members"] if member["ID"] != self._id)
        data = self._processes.folder / _OTHER
        command = keeping.etcd_command(binaries.program("etcd"), _OTHER, data, client, peer)
        members = f"--initial-cluster={first['name']}={first['peerURLs'][0]},{_OTHER}={peer}"
        self._command = [*command, members, "--initial-cluster-state=existing"]
        # Until it runs there is no quorum, as with any second voter.
        await self.start()
        parts.push_async_callback(self._leave)

    async def _leave(self) -> None:
        if _OTHER not in self._processes.pids:
            await self.start()
        await self._asked("cluster/member/remove", ID=self._id)

    async def start(self) -> None:
        """Start it, also again, and wait for a quorum."""
        await self._processes.start(_OTHER, self._command)
        await self._asked("kv/range", key="AA==")

    async def kill(self) -> None:
        """SIGKILL: the first member is left without a quorum."""
        await self._processes.end(_OTHER)

    async def _asked(self, what: str, **body: Any) -> dict[str, Any]:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS), gateway.Gateway(None, _ANSWER_SECONDS) as etcd:
                while True:
                    with contextlib.suppress(gateway.GatewayError):
                        return await etcd.call(self._url, what, **body)
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise RealServerError(f"etcd at {self._url} did not answer {what}") from None
