"""What an installation of the simulated cluster may differ in. `cluster` makes its objects from it."""

from __future__ import annotations

from dataclasses import dataclass

VERSION = "4.21.7"
INSTALLED_AGO = 40 * 86400.0
"""Seconds since the installation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomPool:
    """A machine config pool besides master and worker, with workers of its own: they carry its name as a role."""

    name: str
    machines: int = 0
    paused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What an installation may differ in.

    `masters` and `workers` are the nodes there are, besides those of custom `pools`; masters carry workloads too unless
    `schedulable` is false.
    `router_replicas` pins the default router, `registry` is the managementState of the image registry and
    `registry_replicas` what was written there when it was installed. `without` are capabilities that are disabled.
    """

    hosted: bool = False
    control_plane: str = "SingleReplica"
    infrastructure: str = "SingleReplica"
    masters: int = 1
    workers: int = 0
    schedulable: bool = True
    router_replicas: int | None = None
    registry: str = "Removed"
    registry_replicas: int = 1
    without: tuple[str, ...] = ()
    platform: str = "None"
    version: str = VERSION
    pools: tuple[CustomPool, ...] = ()

    @property
    def topology(self) -> dict[str, str]:
        """What Infrastructure says."""
        names = ("External", "HighlyAvailable") if self.hosted else (self.control_plane, self.infrastructure)
        return dict(zip(("controlPlaneTopology", "infrastructureTopology"), names, strict=True))

    @property
    def names(self) -> list[str]:
        """Names of the control-plane nodes."""
        return [] if self.hosted else [f"master-{number}" for number in range(self.masters)]
