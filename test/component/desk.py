"""A desk in a network of its own: names, addresses and listeners as a test says, and nothing else can be reached.

`Desk.run` runs the plugin there. `python -m test.component.desk` is what runs inside, as root of a user namespace with
its own network and mounts: addresses are put on the loopback device, a name server listens where /etc/resolv.conf
leads, and the API server of the test, which stays outside, is reached through a socket in the file system.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import fcntl
import functools
import ipaddress
import json
import os
import pathlib
import socket
import ssl
import struct
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from test import processes
from topology_simulator.etcd import certificates

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

API, MACHINE_CONFIG, INGRESS = 6443, 22623, 443
_UNSHARE = ("unshare", "--map-root-user", "--net", "--mount")
_NAME_SERVER = "127.0.0.53"
_TRY_SECONDS = 20.0
_INTERFACE_UP, _SET_FLAGS, _SET_ADDRESS, _SET_MASK = 1, 0x8914, 0x8916, 0x891C
_A, _AAAA, _NO_SUCH_NAME = 1, 28, 3


class Listener(NamedTuple):
    """What listens: `ready`, `not-ready`, `hidden` (401), `silent` (accepts and says nothing), `stranger` (another CA),
    `cut` (closes at once) or `plain` (HTTP).
    """

    address: str
    port: int
    kind: str = "ready"


@dataclass(slots=True)
class Network:
    """Listeners, and what each name leads to; others do not exist."""

    listeners: list[Listener]
    names: dict[str, list[str]]


class Seen(NamedTuple):
    """How the command ended, and what every listener was asked."""

    ended: processes.Ended
    asked: list[dict[str, Any]]


@functools.cache
def missing() -> str:
    """Why there can be no such network here; empty when there can."""
    try:
        done = subprocess.run((*_UNSHARE, "true"), capture_output=True, timeout=_TRY_SECONDS, check=False)  # noqa: S603 - a command of our own
    except OSError as error:
        return str(error)
    return done.stderr.decode().strip()


def certified(folder: pathlib.Path, host: str) -> bytes:
    """Write certificates of listeners, which are called `host`; return the authority of all but strangers."""
    authority, stranger = certificates.Authority("kube-apiserver-lb-signer"), certificates.Authority("stranger")
    certificates.write(folder / "ready", authority.certificate, authority.member("api", (host,)))
    certificates.write(folder / "stranger", stranger.certificate, stranger.member("api", (host,)))
    return authority.certificate


async def run(folder: pathlib.Path, network: Network, kubeconfig: Mapping[str, Any], host: str, *words: str) -> Seen:
    """Run the plugin in such a network. `host` is the name, or address, that certificates of API servers have."""
    authority = certified(folder, host)
    access = json.loads(json.dumps(kubeconfig))
    cluster = access["clusters"][0]["cluster"]
    bundle = base64.b64decode(cluster["certificate-authority-data"]) + authority
    cluster["certificate-authority-data"] = base64.b64encode(bundle).decode()
    (folder / "kubeconfig").write_text(yaml.safe_dump(access))
    port = int(cluster["server"].rpartition(":")[2])
    (folder / "network").write_text(json.dumps({**asdict(network), "port": port, "words": words}))
    async with _bridged(folder / "api", port):
        ended = await processes.run(*_UNSHARE, sys.executable, "-m", "test.component.desk", folder)
    assert ended.code == 0, ended
    told = ended.answer
    return Seen(processes.Ended(told["code"], told["printed"], told["complaint"]), told["asked"])


@contextlib.asynccontextmanager
async def _bridged(place: pathlib.Path, port: int) -> AsyncIterator[None]:
    """Let connections to a socket in the file system come out at a port here: files are not part of a network."""

    async def enter(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _joined(reader, writer, await asyncio.open_connection("127.0.0.1", port))

    server = await asyncio.start_unix_server(enter, place)
    try:
        yield
    finally:
        server.close()


async def _joined(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, other: tuple[asyncio.StreamReader, asyncio.StreamWriter]
) -> None:
    async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(1 << 16):
                sink.write(data)
                await sink.drain()
        sink.close()

    await asyncio.gather(pass_on(reader, other[1]), pass_on(other[0], writer))


# -- inside


def _raise_loopback(addresses: set[str]) -> None:
    """Switch lo on and put addresses on it, by the calls that `ifconfig` makes: no program is needed."""
    index = socket.if_nametoindex("lo")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as four:
        fcntl.ioctl(four, _SET_FLAGS, struct.pack("16sH14x", b"lo", _INTERFACE_UP))
        plain = sorted(one for one in addresses if ":" not in one and not one.startswith("127."))
        for number, one in enumerate(plain):
            label = f"lo:{number}".encode()
            for call, value in ((_SET_ADDRESS, one), (_SET_MASK, "255.255.255.255")):
                fcntl.ioctl(four, call, struct.pack("16sHH4s8x", label, socket.AF_INET, 0, socket.inet_aton(value)))
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as six:
        for one in addresses:
            if ":" in one and one != "::1":
                packed = ipaddress.IPv6Address(one).packed
                fcntl.ioctl(six, _SET_ADDRESS, struct.pack("16sIi", packed, 128, index))


def _mount(folder: pathlib.Path) -> None:
    """Let this process and what it starts read other files where programs look names up."""
    files = {
        "hosts": "127.0.0.1 localhost\n::1 localhost\n",
        "resolv.conf": f"nameserver {_NAME_SERVER}\n",
        "nsswitch.conf": "hosts: files dns\n",
    }
    for name, text in files.items():
        source, place = folder / name, pathlib.Path("/etc", name)
        source.write_text(text)
        if place.exists():
            subprocess.run(("mount", "--bind", source, place.resolve()), check=True)  # noqa: S603, S607 - a command of our own


class NameServer(asyncio.DatagramProtocol):
    """Answers A and AAAA by datagram."""

    def __init__(self, names: dict[str, list[str]]) -> None:
        self._names = names
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if self._transport is not None:
            self._transport.sendto(self.reply(data), addr)

    def reply(self, data: bytes) -> bytes:
        """Return the answer to a question."""
        name, kind, question = _question(data)
        leads = self._names.get(name)
        code = _NO_SUCH_NAME if leads is None else 0
        version = {_A: 4, _AAAA: 6}.get(kind)
        records = [one for one in map(ipaddress.ip_address, leads or ()) if one.version == version]
        head = data[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(records), 0, 0)
        body = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 5, len(one.packed)) + one.packed for one in records)
        return head + question + body


def _question(data: bytes) -> tuple[str, int, bytes]:
    labels, place = [], 12
    while size := data[place]:
        labels.append(data[place + 1 : place + 1 + size].decode())
        place += 1 + size
    (kind,) = struct.unpack_from("!H", data, place + 1)
    return ".".join(labels).lower(), kind, data[12 : place + 5]


class Listening:
    """Listeners, and what they were asked."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._servers: list[asyncio.Server] = []
        self.asked: list[dict[str, Any]] = []

    def close(self) -> None:
        for server in self._servers:
            server.close()

    def _context(self, kind: str) -> ssl.SSLContext | None:
        if kind in {"silent", "cut", "plain"}:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        pair = self._folder / ("stranger" if kind == "stranger" else "ready")
        context.load_cert_chain(pair / certificates.CERTIFICATE_FILE, pair / certificates.KEY_FILE)
        # A client that has a certificate would show it.
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(pair / certificates.CA_FILE)
        return context

    async def start(self, address: str, port: int, kind: str) -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            record: dict[str, Any] = {"address": address, "port": port, "headers": {}, "certificate": None}
            self.asked.append(record)
            if kind in {"silent", "cut"}:
                if kind == "silent":
                    await reader.read()
                writer.transport.abort()
                return
            if (tls := writer.get_extra_info("ssl_object")) is not None:
                record["certificate"] = tls.getpeercert()
            if kind == "plain":
                # A hello of TLS has no lines.
                await reader.read(1)
                writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                writer.close()
                return
            lines = []
            with contextlib.suppress(OSError):
                while (line := (await reader.readline()).decode("latin-1").strip()) != "":
                    lines.append(line)
            if lines:
                record["line"] = lines[0]
                record["headers"] = dict(line.split(": ", 1) for line in lines[1:])
                status, body = _REPLIES.get(kind, _REPLIES["ready"])
                writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            with contextlib.suppress(OSError):
                await writer.drain()
            writer.close()

        self._servers.append(await asyncio.start_server(answer, address, port, ssl=self._context(kind)))


_REPLIES = {
    "ready": ("200 OK", "ok"),
    "not-ready": (
        "500 Internal Server Error",
        "[+]ping ok\n[-]etcd failed: \x1b[2Jreason withheld\nreadyz check failed\n",
    ),
    "hidden": ("401 Unauthorized", '{"kind":"Status","message":"Unauthorized"}'),
}


async def _inside(folder: pathlib.Path) -> dict[str, Any]:
    given = json.loads((folder / "network").read_text())
    listeners = [Listener(*one) for one in given["listeners"]]
    _raise_loopback({one.address for one in listeners})
    _mount(folder)
    loop = asyncio.get_running_loop()
    server = NameServer(given["names"])
    await loop.create_datagram_endpoint(lambda: server, (_NAME_SERVER, 53))

    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _joined(reader, writer, await asyncio.open_unix_connection(folder / "api"))

    await asyncio.start_server(leave, "127.0.0.1", given["port"])
    listening = Listening(folder)
    for one in listeners:
        await listening.start(*one)
    environment = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig"), "_": "/usr/bin/oc"}
    command = (sys.executable, "-m", "topology_controller.plugin")
    without = [word for word in given["words"] if word != "--probe"]
    await processes.run(*command, *without, env=environment)
    assert not listening.asked, f"without --probe nothing may be asked: {listening.asked}"
    ended = await processes.run(*command, *given["words"], env=environment)
    return {**ended._asdict(), "asked": listening.asked}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_inside(pathlib.Path(sys.argv[1])))))  # noqa: T201 - the answer of this program
