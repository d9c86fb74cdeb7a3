"""Real etcd members with mutual TLS: the processes that ConfigMap and conditions make claims about.

Loopback only, free ports, data in a temporary folder, and gone even when their parent is killed (`keeping`). `cluster`
has several `member`s, by a `gateway` to their JSON API and with `certificates`, spoilt ones on demand. Nothing here
knows Kubernetes: `actors.real_etcd_operator` drives a cluster from the API, test/etcd has the operator's own check.
"""

from .. import SimulatorError


class EtcdError(SimulatorError):
    """Members or their processes did not do what was wanted; the message says what they said last."""
