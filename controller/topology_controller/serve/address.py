"""Where to listen.

Without a serving certificate only a loopback address is accepted: what is served tells who runs what where.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. Raises ValueError for what is not HOST:PORT."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read HOST:PORT, with brackets around an IPv6 address; no HOST is every address of this machine."""
        host, separator, port = text.rpartition(":")
        if not separator or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"{text!r} is not HOST:PORT")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Is it reachable from this machine only?"""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def refuse_open_http(address: Address, certificates: object) -> None:
    """Raise ValueError for an address that others can reach while there is no certificate (None)."""
    if certificates is None and not address.loopback:
        raise ValueError(
            f"--bind-address {address} is not a loopback address and needs --serving-cert-dir: "
            "without certificates metrics are served on loopback only"
        )
