"""How fast the simulated cluster lives. Every waiting of an actor is one of these figures, in seconds.

`demo` is for people who watch (a whole transition in half a minute), `fast` is for tests. What takes minutes on a real
cluster has its own figure beside it. A scenario's own durations are given in demo seconds and multiplied by `scale`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds for everything that takes time; `scale` multiplies a scenario's own durations."""

    scale: float = 1.0
    patience: float = 1.0  # how many times as long as a story says is waited for what must come
    retry: float = 0.5  # between two attempts of an actor whose request failed
    boot: float = 2.5  # from a Node's creation to Ready
    between_joins: float = 1.5  # from one node of a `join` to the next
    reboot: float = 1.0  # how long a node is NotReady while its configuration is installed
    heartbeat: float = 10.0  # between two status updates of a node that has no news
    etcd_start: float = 1.0  # from a Ready control-plane node to its etcd member, added as a learner
    etcd_sync: float = 2.0  # from learner to voter
    etcd_settle: float = 0.5  # from the last change of membership to Progressing=False
    inertia: float = 120.0  # how long something must be wrong before the etcd ClusterOperator is Degraded
    lease_renew: float = 10.0  # between two renewals of the etcd operator's lease
    label: float = 0.7  # from a Ready node to its worker label and its place in the pool
    copy: float = 1.0  # from a write of Infrastructure to its copy in ControllerConfig. Measured: 3.3
    operator_sync: float = 2.0  # between two copies, at least: what is written meanwhile is copied as one. Measured: 7
    templates: float = 0.4  # from a new ControllerConfig to TemplateControllerCompleted. Measured: 1.2
    render: float = 1.5  # from templates of a new topology to pools that are pointed at new configurations. Measured: 5
    pool_sync: float = 0.8  # from a change of a pool to its annotations, counts and conditions. Measured: 5
    install: float = 0.7  # for a node to take a rendered configuration, besides its reboot
    router: float = 2.0  # from a wanted router to an available one
    # From a change among ClusterOperators to the version operator's opinion of it, where no release is asked for.
    version_echo: float = 1.5
    # Up to 4.22, at least, between two looks at ClusterOperators; its informers resync after one or two. Really: 120.
    version_throttle: float = 4.0
    version_sync: float = 0.5  # later than 4.22, between two looks. Really: 15
    react: float = 1.0  # until the first operator reacts to a new topology, and between one and the next
    replica: float = 0.8  # from a wanted replica to a ready one
    observe: float = 0.05  # from a change of the console's Deployment to the moment at which its controller has seen it
    static_pod: float = 0.5  # to install a revision on one node
    second_revision: float = 1.2  # from the first revision that a new topology makes to the second. Really: 36
    # From a node that became Ready to the next static pod of kube-apiserver that is installed. Really: 30.
    quiet_pods: float = 1.0
    guard: float = 1.0  # from a topology of several nodes to the budgets of guard pods
    native: float = 4.0  # how long the native controller takes from moving the topology to its end. Measured: 300
    # How long it is away after its gate has changed, until the Lease of its last process has expired. Measured: 329.
    native_away: float = 4.0
    machine: float = 0.8  # from one phase of a Machine to the next
    host: float = 1.0  # from one state of a bare-metal host to the next. Really: minutes
    evicted: float = 1.0  # from the end of an evicted operator to its next start on another node
    # How long the API server is away while etcd is restored from a backup, at least. Really: minutes.
    restored: float = 2.0
    upgrade: float = 20.0  # how long an upgrade takes that nothing delays

    def scaled(self, factor: float) -> Pace:
        """Return the same pace with every figure multiplied, patience apart."""
        values = {field.name: getattr(self, field.name) * factor for field in dataclasses.fields(self)}
        return Pace(**values | {"patience": self.patience})


DEMO = Pace()
FAST = dataclasses.replace(DEMO.scaled(0.01), patience=6.0, heartbeat=0.5, lease_renew=0.1, retry=0.02, inertia=1.0)
PACES = {"demo": DEMO, "fast": FAST}
