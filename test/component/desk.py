"""Listeners on addresses and ports as a test says, for `plan --probe`, and what each of them was asked."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import TYPE_CHECKING, Any

from topology_simulator.etcd import certificates

if TYPE_CHECKING:
    import pathlib

API = 6443


def certified(folder: pathlib.Path, host: str) -> bytes:
    """Write certificates of listeners, which are called `host`; return the authority of all but strangers."""
    authority, stranger = certificates.Authority("kube-apiserver-lb-signer"), certificates.Authority("stranger")
    certificates.write(folder / "ready", authority.certificate, authority.member("api", (host,)))
    certificates.write(folder / "stranger", stranger.certificate, stranger.member("api", (host,)))
    return authority.certificate


class Listening:
    """Listeners, and what they were asked. The kind of one is what it does: `ready`, `not-ready`, `hidden` (401),
    `silent` (accepts and says nothing), `stranger` (another CA), `cut` (closes at once) or `plain` (HTTP).
    """

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
