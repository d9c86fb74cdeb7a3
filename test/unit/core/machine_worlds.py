"""Machines and hosts under the nodes of `worlds`: each test changes what it is about and leaves the rest."""

from __future__ import annotations

import dataclasses
from typing import Any

from topology_controller.observe import facts

from . import worlds


def machine(index: int = 0, **changes: Any) -> facts.Machine:
    """The Machine of a control-plane node, as the etcd operator wants it."""
    made = facts.Machine(
        name=f"machine-{index}",
        phase="Running",
        addresses=(worlds.ADDRESSES[index],),
        node=worlds.NAMES[index],
        guarded=True,
    )
    return dataclasses.replace(made, **changes)


def on_hosts(*changed: facts.Machine) -> tuple[facts.Machine, ...]:
    """The same Machines, each on a host of its own."""
    return tuple(dataclasses.replace(one, host=one.name.replace("machine", "host")) for one in changed)


def host(index: int = 0, **changes: Any) -> facts.Host:
    """A host that carries a Machine."""
    made = facts.Host(name=f"host-{index}", state="provisioned", consumer=f"machine-{index}")
    return dataclasses.replace(made, **changes)


def three(**changes: Any) -> tuple[facts.Machine, ...]:
    """A Machine for each of the three nodes; the changes are those of the last."""
    return machine(0), machine(1), machine(2, **changes)


def known(*listed: facts.Machine | facts.Unobserved, **changes: Any) -> facts.Facts:
    """The healthy cluster with these Machines."""
    return dataclasses.replace(worlds.healthy(), machines=listed, **changes)


def two_voters(*listed: facts.Machine | facts.Unobserved, **changes: Any) -> facts.Facts:
    """The same, where etcd has no voter on the third node."""
    entries = tuple(zip(worlds.MEMBERS, worlds.ADDRESSES, strict=True))[:2]
    return known(*listed, etcd_endpoints=facts.EtcdEndpoints(entries), **changes)
