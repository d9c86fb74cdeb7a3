"""Ports of loopback for what is started here.

They are taken from below the range that the kernel gives to outgoing connections, or one of those would sit there when
a server that was killed comes back to its port.
"""

import random
import socket

_RANGE = range(20000, 32000)
_TRIES = 200


def free(number: int) -> list[int]:
    """Return ports on which no process listened a moment ago, all different. Raises OSError."""
    ports: list[int] = []
    for port in random.sample(_RANGE, _TRIES):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == number:
            return ports
    raise OSError(f"no {number} free ports between {_RANGE.start} and {_RANGE.stop}")
