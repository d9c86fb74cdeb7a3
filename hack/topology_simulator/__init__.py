"""A cluster in a box: an embedded API server, the actors of an OpenShift cluster, and scenarios that play on them.

* `__main__`            `python -m topology_simulator demo | cluster | drill | scenarios`
* `demo`, `drill`       play and prove, keep a cluster, or let an alert fire; `story` and `terminal` show it
* `box`                 server, cluster, actors and `operator_process`, opened and closed as one
* `play`                performs a `scenario` (files in scenarios/); `probes` reads back what came of it,
                        and does what the operator has printed
* `actors`              the rest of the cluster, each a client that speaks HTTP; `pace` is how fast it lives
* `follow`              the same without actors: every operand follows at once, for tests
* `install`, `cluster`  what a cluster of a `shape` consists of (`configured`, `machines`, `operands`; crds/: its kinds)
* `client`              how an actor talks to a server
* `apiserver`           the embedded API server; `envtest` a real one, `proxy` gives that the same faults and records
* `etcd`, `fleet`       real members; a hub and its clusters with real engines

Files are written to a temporary folder (`demo`) or below build of the current directory (`cluster`).
"""
