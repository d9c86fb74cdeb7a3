"""The words that others can see: phases, topologies, checks, conditions, reasons, events, annotations.

Users script against these strings (`oc wait`, alerts, GitOps health checks), so each of them stands here once
and nowhere else, with its meaning below it. docs/api.md is generated from these docstrings, so a word without one is
an error of `make generate`. They cost the operator no memory: the interpreter drops them.
The neighbours: `types` shapes the API object out of these words, `crd` turns both into a schema, `view` is for
operators that react to a topology.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final

OPERATOR_NAME: Final = "cluster-topology-operator"
"""Field manager, user agent and reporting controller."""

CLUSTER_OPERATOR: Final = "topology"
"""Name of the ClusterOperator that speaks for this operator."""

DEFAULT_NAMESPACE: Final = "openshift-topology-operator"
"""Where the operator runs, unless the manifests were printed for another namespace."""

LEASE: Final = "cluster-topology-operator"
"""Name of the leader election Lease in the operator's namespace."""

ACCEPTED_CHECKS: Final = "topology-accepted-checks"
"""ConfigMap in the operator's namespace: which checks of a stuck transition an administrator accepts as they are. A key
is the name of a check, its value JSON: `{"attempt": ..., "reason": ...}`."""

ACCEPTED_REASON_LIMIT: Final = 256
"""Characters that are kept of the reason for accepting a check."""

CHECK_ACCEPTOR: Final = "topology-check-acceptor"
"""Role in the operator's namespace, bound to no user: get and patch of that one ConfigMap."""

CONFIGURATION: Final = "cluster-topology-operator-config"
"""Name of the ConfigMap in the operator's namespace that is mounted as its configuration."""

CONFIGURATION_KEY: Final = "config.yaml"
"""Key of that ConfigMap that holds the file."""

RUNBOOKS_VARIABLE: Final = "TOPOLOGY_RUNBOOKS_URL"
"""Environment variable of both programs: the https address of the folder that serves docs/runbooks."""

DESIRED: Final = "desiredTopology"
"""Field of Infrastructure's spec that says what is wanted."""

NATIVE_DESIRED: Final = "controlPlaneTopology"
"""Field of Infrastructure spec that the native controller reads."""

RECORD: Final = "topologyTransition"
"""Field of Infrastructure's status that this operator writes."""

PAUSED_ANNOTATION: Final = "topology.openshift.io/paused"
"""On ClusterOperator `topology`: no transition begins while it is there with any value but "false"."""

ETCD_BACKUP_ANNOTATION: Final = "topology.openshift.io/etcd-backup-taken"
"""On ClusterOperator `topology`: when an administrator took the last backup of etcd, RFC 3339."""

LOAD_BALANCER_BACKENDS_ANNOTATION: Final = "topology.openshift.io/load-balancer-backends"
"""On ClusterOperator `topology`: the addresses that the load balancer of the control plane leads to, as an
administrator says; separated by commas or blanks, 4 KiB at most."""

ROUTER_DRAIN_ANNOTATION: Final = "topology.openshift.io/router-drain-accepted"
"""On ClusterOperator `topology`: an administrator accepts that the drains after the change evict the only router; any
value but "false"."""

ELSEWHERE_ANNOTATION: Final = "topology.openshift.io/operator-elsewhere"
"""On ClusterOperator `topology`: the operator runs in another cluster, and so does its Lease."""

IMAGE_BASED_INSTALL_LABEL: Final = "topology.openshift.io/image-based-install"
"""On Infrastructure `cluster`: the cluster was installed from an image; its topology is fixed by that image."""

WAVE_LABEL: Final = "topology.openshift.io/wave"
"""On a ManagedCluster of a hub: the cluster takes part in a roll-out; 0 for those that go first."""


class Topology(StrEnum):
    """Topologies that may be requested (`spec.desiredTopology`); the values are OpenShift's TopologyMode."""

    SINGLE_REPLICA = "SingleReplica"
    """One machine carries the control plane."""
    HIGHLY_AVAILABLE = "HighlyAvailable"
    """Three machines or more carry the control plane."""
    HIGHLY_AVAILABLE_ARBITER = "HighlyAvailableArbiter"
    """Two machines and an arbiter, which carries etcd and little else."""
    DUAL_REPLICA = "DualReplica"
    """Two machines with fencing; etcd runs under pacemaker. Only the installer makes such a cluster."""


NEVER_A_SOURCE: Final[dict[str, str]] = {
    Topology.HIGHLY_AVAILABLE_ARBITER: (
        "what the machine config operator made for the arbiter is never removed, and blocks the next upgrade"
    )
}
"""Why no transition leads away from there; said where the request is refused, unless a definition does.

machine-config-operator pkg/controller/template/render.go, pkg/controller/render/render_controller.go,
manifests/arbiter.machineconfigpool.yaml (release-4.20 to 4.22, main)."""

EXTERNAL: Final = "External"
"""The one known value of `status.controlPlaneTopology` that is not a legal request: a hosted control plane."""


class Phase(StrEnum):
    """Where a transition is."""

    IDLE = "Idle"
    """Nothing is requested, or the cluster has the desired topology."""
    UNSUPPORTED = "Unsupported"
    """No transition leads from here to the request; the message says what would be legal."""
    PENDING = "Pending"
    """Some preflight check is not met; each is published with what was wanted and what was found."""
    ADMITTING = "Admitting"
    """All preflight checks are met; waiting until ClusterVersion blocks upgrades, then everything is read again."""
    CONVERGING = "Converging"
    """The topology has changed and the cluster follows; there is no way back."""
    COMPLETED = "Completed"
    """The cluster has converged. It stays so while the request is unchanged."""

    @property
    def asks(self) -> bool:
        """A request is open, and the topology has not changed yet: it can still be cancelled."""
        return self in {Phase.UNSUPPORTED, Phase.PENDING, Phase.ADMITTING}

    @property
    def changed(self) -> bool:
        """The topology has changed, and there is no way back."""
        return self in {Phase.CONVERGING, Phase.COMPLETED}


class CheckStatus(StrEnum):
    """The answer to a check. Unknown is never treated as Met."""

    MET = "Met"
    """What is wanted was found."""
    UNMET = "Unmet"
    """Something else was found; the message says what."""
    UNKNOWN = "Unknown"
    """It is not known, because an object could not be read or says too little."""


class ProblemReason(StrEnum):
    """Why a person should look (`status.topologyTransition.problem`). What machines go by, so few and lasting."""

    STUCK = "Stuck"
    """Past the deadline, and nothing has progressed for ten minutes. The message names the check that an administrator
    can repair, with the command; else the one that has failed for longest."""
    BLOCKED = "Blocked"
    """Pending or Admitting an hour after the request. The message says what is waited for."""
    EVIDENCE_UNREADABLE = "EvidenceUnreadable"
    """A check has been Unknown for more than five minutes. The message names the object that cannot be read."""
    TWO_VOTERS = "TwoVoters"
    """etcd has had two voting members for 15 minutes while a request is open or the cluster converges, or one while it
    converges: the loss of either stops the cluster. It comes before every other problem."""
    REDUNDANCY_LOST = "RedundancyLost"
    """After the change fewer control-plane nodes can carry a voting member of etcd than at the change: one is gone, not
    Ready without being cordoned, short of memory, disk or PIDs, or has no voter. It is there at once, until a minute
    after they are back, and comes next after TwoVoters. The message names the nodes."""
    TOPOLOGY_OVERWRITTEN = "TopologyOverwritten"
    """The topology was set back after it had changed. The message names the field manager."""
    PAUSED = "Paused"
    """Annotation `topology.openshift.io/paused` is set while a request is open, or all that the cluster still waits for
    is a paused machine config pool. The message has the command that ends the pause."""
    REQUEST_LOST = "RequestLost"
    """The topology has changed and `spec.desiredTopology` is gone: a definition without the field took it along. The
    message has the command that restores it."""


class Stage(StrEnum):
    """When a check is asked: before the change, or after it."""

    PREFLIGHT = "Preflight"
    """Before the topology changes."""
    CONVERGENCE = "Convergence"
    """After it has changed."""


class CheckName(StrEnum):
    """Every check that a transition definition may name, and `UpgradesBlocked`, which every admission implies."""

    CLUSTER_OPERATORS_STABLE = "ClusterOperatorsStable"
    """Every ClusterOperator but `topology` is Available, not Progressing, not Degraded. Convergence asks more: no
    upgrade is under way, none of the operators that reported at the change is gone (unless the cluster was upgraded
    since), and each whose operands have to follow has been seen to react, or needs nothing."""
    NO_UPGRADE_IN_PROGRESS = "NoUpgradeInProgress"
    """ClusterVersion `version` has Progressing=False."""
    CONTROL_PLANE_NODES = "ControlPlaneNodes"
    """Enough nodes that each pass everything: labels (`node-role.kubernetes.io/master` with an empty value), Ready, not
    cordoned, not being deleted, no pressure (memory, disk, PIDs, network), no taint `node.kubernetes.io/*` (NoSchedule,
    NoExecute), one kubelet minor version, 4 CPUs and 14.5 GiB, allocatable 2834 MiB and 8 GiB of ephemeral storage,
    a voting etcd member; for a compact target also the worker label and no other such taint."""
    CONTROL_PLANE_MACHINES = "ControlPlaneMachines"
    """No Machine of a control-plane node, and no BareMetalHost below it, is on its way out: neither is being deleted,
    and no host is deprovisioning, deleting or powering off before that. Unknown while such a Machine is Migrating. Met
    where the Machine API is not served, or none of its Machines with role master or arbiter is Running. A Machine that
    is missing or has failed is no reason."""
    DEDICATED_WORKERS = "DedicatedWorkers"
    """The number of nodes that only carry workloads fits the definition."""
    ELIGIBLE_WORKERS = "EligibleWorkers"
    """Enough nodes with the worker label, dedicated or control-plane, that can carry infrastructure pods: Ready, not
    cordoned, not being deleted, not under pressure, without a taint NoSchedule or NoExecute. A tainted node counts
    where IngressController `default` tolerates all its taints and selects it (`spec.nodePlacement`); taints
    `node.kubernetes.io/*` never count as tolerated."""
    MASTERS_SCHEDULABLE = "MastersSchedulable"
    """Scheduler `cluster` has `mastersSchedulable` as the target needs it."""
    ETCD_VOTING_MEMBERS = "EtcdVotingMembers"
    """Enough voters in ConfigMap openshift-etcd/etcd-endpoints, each at an address of a control-plane node, and none
    elsewhere."""
    ETCD_HEALTHY = "EtcdHealthy"
    """Etcd `cluster`: EtcdMembersAvailable=True, EtcdMembersDegraded=False, EtcdMembersProgressing=False."""
    ETCD_OPERATOR_ALIVE = "EtcdOperatorAlive"
    """The etcd operator renews its lease."""
    ETCD_SCALING_SAFE = "EtcdScalingSafe"
    """Etcd `cluster` has no override that keeps the rules for one voter whatever the topology is
    (`unsupportedConfigOverrides.useUnsupportedUnsafeNonHANonProductionUnstableEtcd`): with it the etcd operator holds
    nothing back for want of a quorum. Unknown where the etcd operator cannot read the override either."""
    ETCD_MEMBERS_DIRECT = "EtcdMembersDirect"
    """The members of etcd say so themselves: enough voters that each answer, healthy, with one leader in one term, the
    same member list from all of them through the quorum, no other member, no alarm, and the same voters as ConfigMap
    openshift-etcd/etcd-endpoints. Asked only where certificates are given."""
    LOAD_BALANCER_BACKENDS = "LoadBalancerBackends"
    """Where the cluster does not manage the load balancer of its control plane, annotation
    `topology.openshift.io/load-balancer-backends` of ClusterOperator `topology` lists an InternalIP of every
    control-plane node, and nothing that is no address. Asked where the configuration has
    `requireLoadBalancerBackends: true`."""
    ROUTER_SURVIVES_DRAINS = "RouterSurvivesDrains"
    """The default IngressController asks for two replicas before the change, and has them: the drains that follow it
    evict a single router, and ingress is gone for about half a minute each time. Or an administrator accepts that, by
    annotation `topology.openshift.io/router-drain-accepted` of ClusterOperator `topology`. Asked where the
    configuration has `requireRouterSurvivesDrains: true`."""
    UPGRADES_BLOCKED = "UpgradesBlocked"
    """ClusterVersion echoes our Upgradeable=False. Shown when an admission ran out of time waiting for it; no
    definition asks it."""
    MACHINE_CONFIG_POOLS_READY = "MachineConfigPoolsReady"
    """Every machine config pool is unpaused, neither Degraded nor RenderDegraded, has the same configuration in spec
    and status, and all its machines are updated and ready. A pool that is paused or behind before the change can never
    follow after it."""
    MACHINE_CONFIG_CONTROLLER_OBSERVED = "MachineConfigControllerObserved"
    """ControllerConfig `machine-config-controller` carries the target's control plane topology, its templates have not
    been failing for more than a minute, and no control-plane node has annotation
    `machineconfiguration.openshift.io/controlPlaneTopology` with SingleReplica. Its generation and
    TemplateControllerCompleted are not asked: every write to Infrastructure changes both."""
    MACHINE_CONFIG_POOLS_ROLLED_OUT = "MachineConfigPoolsRolledOut"
    """After `MachineConfigControllerObserved`: every pool has rolled out (the same configuration in spec and status,
    all machines updated and ready, neither Degraded nor RenderDegraded), and every pool with machines is at another
    configuration than when the topology changed. It may stay where both topologies have the same configuration, or
    where the controller worked with the target already. A paused pool is named with the command that unpauses it."""
    KUBE_API_SERVER_REVISION = "KubeAPIServerRevision"
    """Every control-plane node is at the newest revision of its static pods and on its way to no other, and that
    revision is above the one at the change where the topologies differ in configuration. A failed revision counts only
    while it is the one being tried."""
    KUBE_CONTROLLER_MANAGER_REVISION = "KubeControllerManagerRevision"
    """Every control-plane node is at the newest revision of its static pods and on its way to no other. No topology
    makes a new revision."""
    KUBE_SCHEDULER_REVISION = "KubeSchedulerRevision"
    """Every control-plane node is at the newest revision of its static pods and on its way to no other. No topology
    makes a new revision."""
    ETCD_REVISION = "EtcdRevision"
    """Every control-plane node is at the newest revision of its static pods and on its way to no other. No topology
    makes a new revision."""
    API_SERVER_REPLICAS = "APIServerReplicas"
    """openshift-apiserver and oauth-apiserver run on every control-plane node."""
    ROUTER_REPLICAS = "RouterReplicas"
    """The default IngressController asks for at least the replicas that the target implies, its controller has seen
    that, and as many are available. An explicit `spec.replicas` wins."""
    CONSOLE_REPLICAS = "ConsoleReplicas"
    """console and downloads ask for at least the replicas that the target implies, and as many are available, where
    capability `Console` is enabled."""
    OAUTH_REPLICAS = "OAuthReplicas"
    """oauth-openshift runs on every control-plane node, unless an external OpenID provider signs users in."""
    MONITORING_REPLICAS = "MonitoringReplicas"
    """prometheus-k8s, alertmanager-main, thanos-querier, metrics-server, the admission webhook of prometheus-operator
    and the console plugin of monitoring ask for at least the replicas that the target implies, and as many are
    available."""
    IMAGE_REGISTRY_REPLICAS = "ImageRegistryReplicas"
    """image-registry has the replicas that its configuration asks for, where it is managed. The topology implies no
    number; see advisory `ImageRegistryReplicasFixed`."""
    PACKAGE_SERVER_REPLICAS = "PackageServerReplicas"
    """packageserver asks for at least the replicas that the target implies, and as many are available."""
    MULTUS_ADMISSION_REPLICAS = "MultusAdmissionReplicas"
    """multus-admission-controller asks for at least the replicas that the target implies, and as many are available."""
    GUARD_POD_DISRUPTION_BUDGETS = "GuardPodDisruptionBudgets"
    """The PodDisruptionBudgets of the guard pods exist, with minAvailable one less than there are control-plane
    nodes. Their controllers wait for the next event of a Node, Pod or ServiceAccount, not for Infrastructure."""


class AdvisoryName(StrEnum):
    """What no operator fixes by itself."""

    ROUTER_REPLICAS_PINNED = "RouterReplicasPinned"
    """Before and after the change: the default IngressController asks explicitly for fewer routers than the target
    implies, and the ingress operator keeps that number; `RouterReplicas` waits. The command patches
    `spec.replicas`."""
    DNSMASQ_CONFIGURATION_LEFT = "DnsmasqConfigurationLeft"
    """Before and after: MachineConfig `50-master-dnsmasq-configuration`, which the assisted installer makes for a
    single node, is still there, so every master resolves the names of the API to the first node. The command deletes
    it, once DNS has these names; pool `master` rolls out."""
    IMAGE_REGISTRY_REPLICAS_FIXED = "ImageRegistryReplicasFixed"
    """Before and after, where several nodes carry infrastructure: the managed registry is configured with one replica,
    which is no redundancy. Nothing waits for it. The command patches `spec.replicas` to 2, which needs storage that
    several nodes can mount: an object store, or a volume with ReadWriteMany."""
    TOPOLOGY_READ_AT_START = "TopologyReadAtStart"
    """After, where the topology of the control plane changed: operators that were started before it, by a Lease with
    the duration of a single node (270 s), or by a Deployment (`bindata/optional-operators.yaml`). Until they are
    started again a takeover takes longer, and some derive more from the topology (`bindata/startup-readers.yaml`). The
    command deletes their pods. A restart of their node does it too, so it is shown once machine config pools have
    rolled out, or past the deadline; Leases are then listed every ten minutes until none is left."""
    ETCD_BACKUP_OUTDATED = "EtcdBackupOutdated"
    """After: the newest known etcd backup is older than the change, or none is known; a restored one
    would bring the old topology back. The command takes one with cluster-backup.sh on a control-plane node, and records
    it."""
    LOAD_BALANCER_BACKENDS_UNCONFIRMED = "LoadBalancerBackendsUnconfirmed"
    """Before and after, where the control plane changes and the cluster does not manage its load balancer: nothing in
    the cluster can see where api and api-int lead. The command records the addresses of all control-plane nodes in
    annotation `topology.openshift.io/load-balancer-backends`; run it once the load balancer leads to them."""
    SINGLE_NODE_SETTINGS = "SingleNodeSettings"
    """Before in `oc topology plan`, and after: settings of `bindata/single-node-settings.yaml` that are right for one
    node only are there, and no operator takes them back. The command sets them back; run it after the change."""
    LIFECYCLE_AGENT_PRESENT = "LifecycleAgentPresent"
    """Before: the lifecycle agent runs here, and the label that marks an image-based install is not set. The command
    sets the label; only for a cluster that was installed from an image."""
    CONTROL_PLANE_MACHINE_MISSING = "ControlPlaneMachineMissing"
    """Before and after, where Machines are in use: no Machine has the address of a control-plane node, so the etcd
    operator adds no member there. The command shows the Machines with their addresses."""
    CONTROL_PLANE_HOST_TROUBLE = "ControlPlaneHostTrouble"
    """Before and after, where Machines are in use: under a control-plane node a Machine has failed, a BareMetalHost is
    in error, or it is powered off although the node is Ready. The command describes the object."""
    ETCD_REPLICAS_BEHIND = "EtcdReplicasBehind"
    """Before and after, where Machines are in use: the etcd operator wants fewer members than the target has, so it
    removes the member of a deleted Machine at once. The command shows where the number comes from."""
    NATIVE_CONDITIONS_LEFT = "NativeConditionsLeft"
    """At any time: feature gate `MutableTopology` is off, and conditions of the native controller are still there, so
    ClusterOperator `config-operator` blocks minor upgrades. The command removes these conditions."""


class ConditionType(StrEnum):
    """Condition types of ClusterOperator `topology`, in the order in which they are written."""

    AVAILABLE = "Available"
    """Always True: the operator watches. The Lease and the alerts show when it does not."""
    PROGRESSING = "Progressing"
    """True while a transition is Admitting or the cluster converges. The message says how far it is, what is waited
    for, and the next action if there is one."""
    DEGRADED = "Degraded"
    """True while a person has to look. The message says what is wrong and often how to put it right."""
    UPGRADEABLE = "Upgradeable"
    """False from an open request until its transition is completed or cancelled: minor upgrades are blocked."""
    DISABLED = "Disabled"
    """True where this operator must not act. The message says who does."""


class ConditionStatus(StrEnum):
    """Status of a Kubernetes condition."""

    TRUE = "True"
    """It holds."""
    FALSE = "False"
    """It does not hold."""
    UNKNOWN = "Unknown"
    """Never written by this operator."""


class Reason(StrEnum):
    """Reasons of the conditions of ClusterOperator `topology`."""

    AS_EXPECTED = "AsExpected"
    """All is well."""
    UNSUPPORTED_TRANSITION = "UnsupportedTransition"
    """No transition leads from here to the request; the message lists what would be legal. Change or cancel it."""
    PREFLIGHT_UNMET = "PreflightUnmet"
    """Some preflight check is not met; the message names them, `status.topologyTransition.checks` explains them."""
    TRANSITION_PENDING = "TransitionPending"
    """A request is open; minor upgrades are blocked until it is completed or cancelled."""
    TRANSITION_ADMITTING = "TransitionAdmitting"
    """All checks are met; waiting for ClusterVersion."""
    TRANSITION_IN_PROGRESS = "TransitionInProgress"
    """The topology is about to change, or has changed."""
    TRANSITION_CONVERGING = "TransitionConverging"
    """The topology has changed; the message names what is waited for."""
    TRANSITION_COMPLETED = "TransitionCompleted"
    """The cluster has converged."""
    TRANSITION_STUCK = "TransitionStuck"
    """Past the deadline, and nothing has progressed for ten minutes; the message names the check that an administrator
    can repair, with the command, else the one that has been failing longest. Nothing is rolled back."""
    REDUNDANCY_LOST = "RedundancyLost"
    """The topology has changed, and fewer control-plane nodes can carry a voting member of etcd than at the change; the
    message names them. Nothing is rolled back."""
    HOSTED_CONTROL_PLANE = "HostedControlPlane"
    """The control plane is hosted; its availability is set on the HostedCluster."""
    UNKNOWN_TOPOLOGY = "UnknownTopology"
    """A topology value is missing, or this version does not know it."""
    NATIVE_CONTROLLER_ACTIVE = "NativeControllerActive"
    """cluster-config-operator changes the topology of this cluster; the message has the command that hands the request
    over."""
    IMAGE_BASED_INSTALL = "ImageBasedInstall"
    """Infrastructure carries the label of an image-based install."""
    INFRASTRUCTURE_MISSING = "InfrastructureMissing"
    """There is no Infrastructure `cluster`."""
    API_NOT_INSTALLED = "APINotInstalled"
    """The served CRD lacks our fields; the message has the command that installs them."""
    TOPOLOGY_OVERWRITTEN = "TopologyOverwritten"
    """Another client set the topology back; the message names its field manager. Remove the request and make it
    again."""
    EVIDENCE_UNREADABLE = "EvidenceUnreadable"
    """A fact has been unknown for more than five minutes, or a newer version has written what this one cannot read;
    the message names the object."""
    CONFIGURATION_INVALID = "ConfigurationInvalid"
    """The configuration file cannot be used; the message has file, line, what was found and what is wanted. The last
    good one stays in force."""


class EventReason(StrEnum):
    """Reasons of the events about Infrastructure `cluster`."""

    TRANSITION_REQUESTED = "TransitionRequested"
    """A request is seen for the first time."""
    TRANSITION_BLOCKED = "TransitionBlocked"
    """The request waits, or leads nowhere; the note names each check that is not met, with how far it is. Once for
    every time that it comes to wait."""
    TRANSITION_ADMITTED = "TransitionAdmitted"
    """All preflight checks passed, live. Sent after the change."""
    TOPOLOGY_CHANGED = "TopologyChanged"
    """The one write has changed the topology."""
    TRANSITION_COMPLETED = "TransitionCompleted"
    """The cluster has converged."""
    TRANSITION_CANCELLED = "TransitionCancelled"
    """The request was cancelled before the topology changed."""
    TRANSITION_STUCK = "TransitionStuck"
    """Past the deadline, and nothing progresses. Once for each attempt."""


REASON_CONDITIONS: Final[dict[Reason, tuple[ConditionType, ...]]] = {
    Reason.AS_EXPECTED: tuple(ConditionType),
    Reason.UNSUPPORTED_TRANSITION: (ConditionType.PROGRESSING, ConditionType.UPGRADEABLE),
    Reason.PREFLIGHT_UNMET: (ConditionType.PROGRESSING,),
    Reason.TRANSITION_PENDING: (ConditionType.UPGRADEABLE,),
    Reason.TRANSITION_ADMITTING: (ConditionType.PROGRESSING,),
    Reason.TRANSITION_IN_PROGRESS: (ConditionType.UPGRADEABLE,),
    Reason.TRANSITION_CONVERGING: (ConditionType.PROGRESSING,),
    Reason.TRANSITION_COMPLETED: (ConditionType.PROGRESSING,),
    Reason.TRANSITION_STUCK: (ConditionType.DEGRADED,),
    Reason.REDUNDANCY_LOST: (ConditionType.DEGRADED,),
    Reason.HOSTED_CONTROL_PLANE: (ConditionType.DISABLED,),
    Reason.UNKNOWN_TOPOLOGY: (ConditionType.DISABLED,),
    Reason.NATIVE_CONTROLLER_ACTIVE: (ConditionType.DISABLED,),
    Reason.IMAGE_BASED_INSTALL: (ConditionType.DISABLED,),
    Reason.INFRASTRUCTURE_MISSING: (ConditionType.DEGRADED,),
    Reason.API_NOT_INSTALLED: (ConditionType.DEGRADED,),
    Reason.TOPOLOGY_OVERWRITTEN: (ConditionType.DEGRADED,),
    Reason.EVIDENCE_UNREADABLE: (ConditionType.DEGRADED,),
    Reason.CONFIGURATION_INVALID: (ConditionType.DEGRADED,),
}
"""On which conditions each reason may stand."""


class ExitCode(IntEnum):
    """How `cluster-topology-operator` ends."""

    OK = 0
    """Done, or stopped on request."""
    FAILED = 1
    """It could not do its work; the last line says why."""
    USAGE = 2
    """Bad usage, lease timings that can never work, or a bad transition file; nothing was contacted."""
    LOST_LEASE = 3
    """The lease was lost; all work had stopped before. Another operator may lead."""
