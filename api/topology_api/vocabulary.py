"""The words that others can see: phases, topologies, checks, conditions, reasons, events, annotations.

Users script against these strings (`oc wait`, alerts, GitOps health checks), so each of them stands here once
and nowhere else. Every value is documented in docs/reference.md; a test holds the two against each other.
The neighbours: `types` shapes the API object out of these words, `crd` turns both into a schema.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

OPERATOR_NAME: Final = "cluster-topology-operator"
"""Field manager, user agent and reporting controller."""

CLUSTER_OPERATOR: Final = "topology"
"""Name of the ClusterOperator that speaks for this operator."""

DEFAULT_NAMESPACE: Final = "openshift-topology-operator"

LEASE: Final = "cluster-topology-operator"
"""Name of the leader election Lease in the operator's namespace."""

PAUSED_ANNOTATION: Final = "topology.openshift.io/paused"
"""On ClusterOperator `topology`: nothing new is admitted while it is there with any value but "false"."""

ETCD_BACKUP_ANNOTATION: Final = "topology.openshift.io/etcd-backup-taken"
"""On ClusterOperator `topology`: when an administrator took the last backup of etcd, RFC 3339."""

IMAGE_BASED_INSTALL_LABEL: Final = "topology.openshift.io/image-based-install"
"""On Infrastructure `cluster`: the cluster was installed from an image; its topology is fixed by that image."""


class Topology(StrEnum):
    """Topologies that may be wished for (`spec.desiredTopology`); the values are OpenShift's TopologyMode."""

    SINGLE_REPLICA = "SingleReplica"
    HIGHLY_AVAILABLE = "HighlyAvailable"
    HIGHLY_AVAILABLE_ARBITER = "HighlyAvailableArbiter"
    DUAL_REPLICA = "DualReplica"


EXTERNAL: Final = "External"
"""The one value of `status.controlPlaneTopology` that we know and that is not a legal wish: a hosted control plane."""


class Phase(StrEnum):
    """Where a transition is (DESIGN section 4)."""

    IDLE = "Idle"
    UNSUPPORTED = "Unsupported"
    PENDING = "Pending"
    ADMITTING = "Admitting"
    CONVERGING = "Converging"
    COMPLETED = "Completed"


class CheckStatus(StrEnum):
    """The answer to a check. Unknown is never treated as Met."""

    MET = "Met"
    UNMET = "Unmet"
    UNKNOWN = "Unknown"


class Stage(StrEnum):
    """When a check is asked: before the flip, or after it."""

    PREFLIGHT = "Preflight"
    CONVERGENCE = "Convergence"


class CheckName(StrEnum):
    """Every check that a transition definition may name, and `UpgradesBlocked`, which every admission implies."""

    CLUSTER_OPERATORS_STABLE = "ClusterOperatorsStable"
    NO_UPGRADE_IN_PROGRESS = "NoUpgradeInProgress"
    CONTROL_PLANE_NODES = "ControlPlaneNodes"
    DEDICATED_WORKERS = "DedicatedWorkers"
    ELIGIBLE_WORKERS = "EligibleWorkers"
    MASTERS_SCHEDULABLE = "MastersSchedulable"
    ETCD_VOTING_MEMBERS = "EtcdVotingMembers"
    ETCD_HEALTHY = "EtcdHealthy"
    ETCD_OPERATOR_ALIVE = "EtcdOperatorAlive"
    ETCD_MEMBERS_DIRECT = "EtcdMembersDirect"
    UPGRADES_BLOCKED = "UpgradesBlocked"
    MACHINE_CONFIG_CONTROLLER_OBSERVED = "MachineConfigControllerObserved"
    MACHINE_CONFIG_POOLS_ROLLED_OUT = "MachineConfigPoolsRolledOut"
    KUBE_API_SERVER_REVISION = "KubeAPIServerRevision"
    KUBE_CONTROLLER_MANAGER_REVISION = "KubeControllerManagerRevision"
    KUBE_SCHEDULER_REVISION = "KubeSchedulerRevision"
    ETCD_REVISION = "EtcdRevision"
    API_SERVER_REPLICAS = "APIServerReplicas"
    ROUTER_REPLICAS = "RouterReplicas"
    CONSOLE_REPLICAS = "ConsoleReplicas"
    OAUTH_REPLICAS = "OAuthReplicas"
    MONITORING_REPLICAS = "MonitoringReplicas"
    IMAGE_REGISTRY_REPLICAS = "ImageRegistryReplicas"
    PACKAGE_SERVER_REPLICAS = "PackageServerReplicas"
    MULTUS_ADMISSION_REPLICAS = "MultusAdmissionReplicas"
    GUARD_POD_DISRUPTION_BUDGETS = "GuardPodDisruptionBudgets"


class AdvisoryName(StrEnum):
    """What nobody fixes by itself (DESIGN section 7)."""

    ROUTER_REPLICAS_PINNED = "RouterReplicasPinned"
    DNSMASQ_CONFIGURATION_LEFT = "DnsmasqConfigurationLeft"
    IMAGE_REGISTRY_REPLICAS_FIXED = "ImageRegistryReplicasFixed"
    TOPOLOGY_READ_AT_START = "TopologyReadAtStart"
    ETCD_BACKUP_OUTDATED = "EtcdBackupOutdated"
    LIFECYCLE_AGENT_PRESENT = "LifecycleAgentPresent"


class ConditionType(StrEnum):
    """Condition types of ClusterOperator `topology`, in the order in which they are written."""

    AVAILABLE = "Available"
    PROGRESSING = "Progressing"
    DEGRADED = "Degraded"
    UPGRADEABLE = "Upgradeable"
    DISABLED = "Disabled"


class ConditionStatus(StrEnum):
    """Status of a Kubernetes condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Reason(StrEnum):
    """Reasons of the conditions of ClusterOperator `topology` (DESIGN section 8)."""

    AS_EXPECTED = "AsExpected"
    UNSUPPORTED_TRANSITION = "UnsupportedTransition"
    PREFLIGHT_UNMET = "PreflightUnmet"
    TRANSITION_PENDING = "TransitionPending"
    TRANSITION_ADMITTING = "TransitionAdmitting"
    TRANSITION_IN_PROGRESS = "TransitionInProgress"
    TRANSITION_CONVERGING = "TransitionConverging"
    TRANSITION_COMPLETED = "TransitionCompleted"
    TRANSITION_STUCK = "TransitionStuck"
    HOSTED_CONTROL_PLANE = "HostedControlPlane"
    UNKNOWN_TOPOLOGY = "UnknownTopology"
    NATIVE_CONTROLLER_ACTIVE = "NativeControllerActive"
    IMAGE_BASED_INSTALL = "ImageBasedInstall"
    INFRASTRUCTURE_MISSING = "InfrastructureMissing"
    API_NOT_INSTALLED = "APINotInstalled"
    TOPOLOGY_OVERWRITTEN = "TopologyOverwritten"
    EVIDENCE_UNREADABLE = "EvidenceUnreadable"


class EventReason(StrEnum):
    """Reasons of the events about Infrastructure `cluster`."""

    TRANSITION_REQUESTED = "TransitionRequested"
    TRANSITION_BLOCKED = "TransitionBlocked"
    TRANSITION_ADMITTED = "TransitionAdmitted"
    TOPOLOGY_CHANGED = "TopologyChanged"
    TRANSITION_COMPLETED = "TransitionCompleted"
    TRANSITION_CANCELLED = "TransitionCancelled"
    TRANSITION_STUCK = "TransitionStuck"
