"""What an installation of the simulated cluster may differ in. `cluster` makes its objects from it."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

VERSION = "4.21.7"
INSTALLED_AGO = 40 * 86400.0
"""Seconds since the installation."""
Capability = Literal[
    "Build", "CSISnapshot", "CloudControllerManager", "CloudCredential", "Console", "DeploymentConfig", "ImageRegistry",
    "Ingress", "Insights", "MachineAPI", "NodeTuning", "OperatorLifecycleManager", "OperatorLifecycleManagerV1",
    "Storage", "baremetal", "marketplace", "openshift-samples",
]  # fmt: skip
"""What a release may lack: openshift/api config/v1/types_cluster_version.go, KnownClusterVersionCapabilities (4.21)."""
Name = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", max_length=63)]


def kebab(name: str) -> str:
    """Return a field's name as scenario files spell it."""
    return name.rstrip("_").replace("_", "-")


class Part(BaseModel):
    """A part of a scenario file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, alias_generator=kebab)


class CustomPool(Part):
    """A machine config pool besides master and worker, with workers of its own: they carry its name as a role."""

    model_config = ConfigDict(populate_by_name=True)

    name: Name
    machines: int = Field(default=0, ge=0, le=9)
    paused: bool = False


class Shape(Part):
    """What an installation may differ in; also the words in which a scenario says it.

    `masters` and `workers` are the nodes there are, besides those of custom `pools`; masters carry workloads too unless
    `schedulable` is false. `router_replicas` pins the default router, `registry` is the managementState of the image
    registry and `registry_replicas` what was written there when it was installed. `without` are capabilities that are
    disabled. The first `machines` masters have a Machine that runs, with a host below it on platform BareMetal.
    `control_plane` and `infrastructure` may be empty, as before there was an enum. `alertmanager` false turns it off
    in the monitoring configuration. `objects` are what a site has besides; of one that is there anyway, a merge patch.
    """

    model_config = ConfigDict(populate_by_name=True)

    hosted: bool = False
    control_plane: str = "SingleReplica"
    infrastructure: str = "SingleReplica"
    masters: int = Field(default=1, ge=1, le=7)
    machines: int = Field(default=0, ge=0, le=7)
    workers: int = Field(default=0, ge=0, le=9)
    schedulable: bool = True
    router_replicas: int | None = Field(default=None, ge=0)
    registry: Literal["Managed", "Removed"] = "Removed"
    registry_replicas: int = Field(default=1, ge=0)
    without: tuple[Capability, ...] = Field(default=(), strict=False)
    alertmanager: bool = True
    platform: str = "None"
    version: str = VERSION
    pools: tuple[CustomPool, ...] = Field(default=(), strict=False)
    objects: tuple[dict[str, Any], ...] = Field(default=(), strict=False)

    @property
    def topology(self) -> dict[str, str]:
        """What Infrastructure says."""
        names = ("External", "HighlyAvailable") if self.hosted else (self.control_plane, self.infrastructure)
        return dict(zip(("controlPlaneTopology", "infrastructureTopology"), names, strict=True))

    @property
    def install_replicas(self) -> int:
        """Control-plane machines that the install-config asked for, an arbiter among them."""
        return 1 if self.control_plane in ("SingleReplica", "") else 3

    @property
    def names(self) -> list[str]:
        """Names of the control-plane nodes."""
        return [] if self.hosted else [f"master-{number}" for number in range(self.masters)]
