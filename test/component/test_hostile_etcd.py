"""A member of etcd that answers without an end does not keep the operator from its lease and its probes.

The operator asks it every five seconds while a request is open. What else such a member may send is tried in
`test/unit/etcd/test_hostile_members.py`.
"""

from __future__ import annotations

import itertools
import ssl
import time
from typing import TYPE_CHECKING

from test import polling
from test.component.test_thousands_of_nodes import resident_mib
from test.unit.etcd import hostile
from topology_simulator.etcd import certificates

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Iterator

    from test.component.world import World

_SECONDS = 4.0
_MORE_MIB = 24


def _endless() -> Iterator[bytes]:
    yield from itertools.repeat(b"HTTP/1.1 100 C\r\n\r\n" * 1024)


def _serving(authority: certificates.Authority, folder: pathlib.Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    place = certificates.write(folder, authority.certificate, authority.member("member"))
    context.load_cert_chain(place / "tls.crt", place / "tls.key")
    return context


async def test_the_lease_is_kept_and_probes_are_answered(
    world: World, tmp_path: pathlib.Path, figure: Callable[[str], None]
) -> None:
    authority = certificates.Authority()
    client = certificates.write(tmp_path / "client", authority.certificate, authority.client())
    with hostile.answering(_serving(authority, tmp_path / "member"), _endless) as where:
        operator = await world.idle_operator("operator-a", "--etcd-cert-dir", str(client), "--etcd-endpoints", where)
        await world.ask_for()
        found = await world.until_check("EtcdMembersDirect", "Unknown")
        assert "an answer of more than 65536 bytes" in found["message"], found
        before, slowest, end = resident_mib(operator.process.pid), 0.0, time.monotonic() + _SECONDS
        while time.monotonic() < end:
            began = time.monotonic()
            assert (await operator.ask("/readyz"))[0] == 200
            slowest = max(slowest, time.monotonic() - began)
        after = resident_mib(operator.process.pid)
    figure(f"slowest probe {slowest:.2f} s; {before:.0f} MiB, then {after:.0f}")
    assert slowest < 0.5 * polling.PATIENCE
    assert after - before < _MORE_MIB
    assert await world.holder() == "operator-a"
