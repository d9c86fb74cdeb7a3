"""Real etcd members with mutual TLS, for tests and for the cluster in a box.

Everything that is said about membership elsewhere is a claim (a ConfigMap, conditions); here are the processes that
the claims are about. Loopback only, free ports, data in a temporary folder, and gone even when their parent is killed.

    certificates  a CA, certificates of members and clients, and spoilt ones
    gateway       a client of the JSON gateway: members, status, health; add, promote, remove
    keeping       the processes, in a group that ends with its owner
    member        one member: start, kill, pause, resume; ready or why not
    cluster       several: a first one, learners that are added and promoted, members that are taken away

Nothing here knows Kubernetes. Who drives a cluster from the API is `actors.real_etcd_operator`; `test/etcd` holds the
operator's own check against it.
"""


class EtcdError(Exception):
    """Members or their processes did not do what was wanted; the message says what they said last."""
