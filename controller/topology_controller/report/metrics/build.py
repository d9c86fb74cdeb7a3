"""Which program this is, what its process costs, and whether it is the one that acts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import prometheus_client as prometheus

from ..._version import __version__
from . import family

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client import registry as registries

INFO = family.Family(
    "topology_operator_build_info",
    "gauge",
    "Always 1; the labels tell the version of the operator and of the Python that runs it.",
    {"version": None, "python_version": None},
)
LEADER = family.Family(
    "leader_election_master_status",
    "gauge",
    "1 while this process holds the lease of that name and acts, or acts without an election; 0 while it stands by.",
    {"name": None},
)
FAMILIES = (INFO, LEADER)


class Build:
    """Metrics of the process. `leads` is whether it holds the lease."""

    def __init__(self, registry: registries.CollectorRegistry, lease: str) -> None:
        self.leads = False
        self._lease = lease
        version = (__version__, ".".join(str(part) for part in sys.version_info[:3]))
        INFO.shown(registry, lambda: ((version, 1.0),))
        LEADER.shown(registry, self._leader)
        prometheus.ProcessCollector(registry=registry)

    def _leader(self) -> Iterable[family.Series]:
        return (((self._lease,), float(self.leads)),)
