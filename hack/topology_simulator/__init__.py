"""A cluster in a box: an embedded API server, the actors of an OpenShift cluster, and scenarios that play on them.

A table of contents, from what a newcomer runs to what it stands on:

* `__main__`            `python -m topology_simulator demo | cluster | scenarios`
* `demo`                plays and proves, or keeps a cluster running; `story`, `check_progress`, `terminal` show it,
                        `invitation` says what to try
* `box`                 server, cluster, actors and `operator_process`, opened and closed as one
* `play`                performs a `scenario` (files in scenarios/); `probes` reads back what came of it, `commands`
                        does what the operator has printed
* `actors`              the rest of the cluster, each a client that speaks HTTP; `pace` is how fast it lives
* `follow`              the same without actors: every operand follows at once, for tests
* `serving`             the certificates that the operator serves HTTPS with, and that others come in with
* `install`, `cluster`  what a cluster of a `shape` consists of (`configured`: its configuration and ClusterOperators;
                        `machines`: its nodes; `operands`: what its operators deploy; crds/: its kinds)
* `client`, `mirror`    how an actor talks to a server and what it knows; `kinds`, `kubeconfig`, `conditions`
* `opened`, `ports`     what several of these parts are made of
* `apiserver`           the embedded API server
* `fleet`               a hub and its clusters with real engines: `python -m topology_simulator.fleet`
* `envtest`             a real kube-apiserver with its etcd; `proxy` gives it the faults and records of the embedded one

Files are written to a temporary folder (`demo`) or below build of the current directory (`cluster`).
"""
