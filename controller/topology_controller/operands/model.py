"""What the operand matrix says, as types.

OpenShift's operators react to a topology on their own; what each of them makes of it is knowledge, not logic, so it
stands in `bindata/operands/*.yaml`, one file for each convergence check that is about operands. Adding an operand is
adding lines there. `observe` derives from it which objects are read, `checks` what is wanted of them, and the manifests
which rights that takes. `bindata/startup-readers.yaml` lists the operators that read the topology only at their start.

Sources of the figures: the operators' own code, as told in docs/reference.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from topology_api.vocabulary import CheckName, Topology

if TYPE_CHECKING:
    from topology_api.types import TopologyPair

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$", max_length=253)]
Kind = Literal["Deployment", "StatefulSet", "StaticPods", "PodDisruptionBudget", "IngressController"]
Replicas = dict[Topology, Annotated[int, Field(ge=0, le=16)]] | Literal["perControlPlaneNode"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=False)


class Operand(_Strict):
    """One object whose state shows whether its operator has followed."""

    kind: Kind
    resource: Name | None = None
    """For StaticPods: plural of the operator.openshift.io resource whose status.nodeStatuses tells the revisions."""
    namespace: Name | None = None
    name: Name
    replicas: Replicas | None = None
    """Ready replicas that each topology implies; of Deployment, StatefulSet and IngressController only."""
    variant: dict[Topology, Annotated[str, Field(min_length=1, max_length=32)]] | None = None
    """For StaticPods: topologies with different words need a new revision; none means that no topology does."""
    optional: bool = False
    """May be missing by configuration: where it was missing at the flip, nothing has to follow."""

    @property
    def plural(self) -> str:
        """Resource and group as kubectl spells them."""
        if self.kind == "StaticPods":
            return f"{self.resource}.operator.openshift.io"
        return {
            "Deployment": "deployments.apps",
            "StatefulSet": "statefulsets.apps",
            "PodDisruptionBudget": "poddisruptionbudgets.policy",
            "IngressController": "ingresscontrollers.operator.openshift.io",
        }[self.kind]

    @property
    def key(self) -> str:
        """What `Facts.operand` and the baseline know it by."""
        return "/".join(part for part in (self.plural, self.namespace, self.name) if part)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        counted = self.kind in {"Deployment", "StatefulSet", "IngressController"}
        if counted is (self.replicas is None):
            raise ValueError(f"{self.kind} {self.name} {'needs' if counted else 'does not take'} replicas")
        if (self.kind == "StaticPods") is (self.resource is None):
            raise ValueError(
                f"{self.kind} {self.name} {'needs' if self.resource is None else 'does not take'} resource"
            )
        if self.variant is not None and self.kind != "StaticPods":
            raise ValueError(f"{self.kind} {self.name} does not take variant; StaticPods do")
        if (self.kind == "StaticPods") is (self.namespace is not None):
            raise ValueError(f"{self.kind} {self.name} {'has no' if self.namespace else 'needs a'} namespace")
        return self


class ManagedBy(_Strict):
    """Configuration object of the operator: with managementState Removed there is no operand."""

    resource: Name
    """Plural and group, such as consoles.operator.openshift.io."""
    name: Name

    @property
    def key(self) -> str:
        """What `Facts.operand` knows it by."""
        return f"{self.resource}/{self.name}"


class Group(_Strict):
    """The operands of one convergence check."""

    kind: ClassVar[str] = "operand file"

    check: CheckName
    operator: Name
    """ClusterOperator that answers for them."""
    follows: Literal["controlPlane", "infrastructure"]
    """Which of the two topologies the operator reads."""
    capability: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """ClusterVersion capability without which they do not exist."""
    managed_by: ManagedBy | None = None
    operands: Annotated[tuple[Operand, ...], Field(min_length=1)]

    def topology(self, pair: TopologyPair) -> str:
        """The one of the two topologies that the operator goes by."""
        return pair.control_plane if self.follows == "controlPlane" else pair.infrastructure


class StartupReader(_Strict):
    """An operator that reads the topology only when it starts."""

    operator: Name
    """ClusterOperator that it reports through."""
    namespace: Name
    selector: Annotated[str, Field(pattern=r"^[-a-zA-Z0-9./]+=[-a-zA-Z0-9.]+$")]
    """Label that its pods carry, as key=value."""
    matters: Annotated[str, Field(min_length=1, max_length=256)]
    """What stays as it was until it is started again."""

    @property
    def key(self) -> str:
        """What `Facts.operand` knows its pods by."""
        return f"pods/{self.namespace}/{self.selector}"

    @property
    def command(self) -> str:
        """What starts it again."""
        return f"oc -n {self.namespace} delete pod -l {self.selector}"


class Matrix(_Strict):
    """Everything that `bindata` says about operands."""

    groups: tuple[Group, ...] = ()
    startup_readers: tuple[StartupReader, ...] = ()

    def group(self, check: CheckName) -> Group | None:
        """The operands of a check, None for a check that is about something else."""
        return next((group for group in self.groups if group.check is check), None)
