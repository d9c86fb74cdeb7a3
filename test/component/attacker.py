"""Attacks on the port of an operator, each a process of its own: `python -m test.component.attacker KIND PORT ...`.

    connects PORT RATE SECONDS SOURCE    TCP connects that send nothing; the last few hundred stay open
    hellos PORT RATE SECONDS SOURCE      the same, each with the first bytes of a TLS handshake that never goes on
    tokens PORT RATE SECONDS SOURCE      requests over TLS for /metrics, each with another made-up token

Prints how many a second there were. RATE 0 is as many as it can.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import json
import socket
import ssl
import struct
import sys
import time

_OPEN = 300
"""Connections of one attacker that stay open: more than there is room for."""
_STEP = 0.002
_AT_ONCE = struct.pack("ii", 1, 0)
_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
_CONNECTIONS = 3


def connects(port: int, rate: int, seconds: float, source: str, first: bytes = b"") -> int:
    """Connect for so long, from one address; return how often that was."""
    opened: collections.deque[socket.socket] = collections.deque()
    began = time.monotonic()
    number = 0
    while (spent := time.monotonic() - began) < seconds:
        due = int(spent * rate) if rate else number + 64
        if due <= number:
            time.sleep(_STEP)
        for _ in range(min(due - number, 256)):
            one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            one.setblocking(False)  # noqa: FBT003 - the name of a method of the standard library
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            with contextlib.suppress(OSError):
                one.bind((source, 0))
                one.connect_ex(("127.0.0.1", port))
                if first:
                    one.send(first)
            number += 1
            opened.append(one)
            if len(opened) > _OPEN:
                opened.popleft().close()
    return number


async def tokens(port: int, rate: int, seconds: float, source: str) -> tuple[int, collections.Counter[str]]:
    """Ask with made-up tokens; return how often, and the codes of the answers."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    codes: collections.Counter[str] = collections.Counter()
    ends = time.monotonic() + seconds

    async def ask(which: int) -> None:
        number = 0
        while time.monotonic() < ends:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, local_addr=(source, 0))
                while time.monotonic() < ends:
                    number += 1
                    token = f"made-up-{which}-{number}-{time.monotonic_ns()}"
                    head = f"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
                    writer.write(head.encode())
                    answer = await reader.readuntil(b"\r\n\r\n")
                    length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length"))
                    await reader.readexactly(int(length.partition(b":")[2]))
                    codes[answer[9:12].decode()] += 1
                    await asyncio.sleep(_CONNECTIONS / rate if rate else 0)
            await asyncio.sleep(0.01)

    await asyncio.gather(*(ask(which) for which in range(_CONNECTIONS)))
    return codes.total(), codes


def main(kind: str, port: str, rate: str, seconds: str, source: str) -> None:
    """Attack, and print a line of JSON."""
    numbers = int(port), int(rate), float(seconds)
    codes: collections.Counter[str] = collections.Counter()
    if kind == "tokens":
        number, codes = asyncio.run(tokens(*numbers, source))
    else:
        number = connects(*numbers, source, _HELLO if kind == "hellos" else b"")
    sys.stdout.write(json.dumps({"rate": round(number / numbers[2]), "codes": codes}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
