"""An endpoint of an etcd member, `https://host:port`, spelt in one way so that two spellings are one endpoint.

Read from the command line, from published addresses and from what members advertise themselves. Only https: what is
asked over plain HTTP could be answered by anybody. Imported by the command line, so it imports nothing heavy.
"""

from __future__ import annotations

import ipaddress
import urllib.parse

PORT = 2379


def parse(text: str) -> str:
    """Return the endpoint in its one spelling; ValueError says what is wrong with it."""
    try:
        parts = urllib.parse.urlsplit(text.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"{text!r} is not a URL: {error}") from None
    if parts.scheme != "https" or not host:
        raise ValueError(f"{text!r} is not https://HOST:PORT")
    if parts.username is not None or parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError(f"{text!r} has more than https://HOST:PORT")
    return of(host, PORT if port is None else port)


def of(host: str, port: int = PORT) -> str:
    """Return the endpoint at a host name or an IP address without brackets."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"https://{host.lower()}:{port}"
    return f"https://[{address}]:{port}" if address.version == 6 else f"https://{address}:{port}"
