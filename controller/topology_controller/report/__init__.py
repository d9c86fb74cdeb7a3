"""What users see: the same facts and the same results as the decision, no second opinion.

* `clusteroperator`: conditions and status of ClusterOperator `topology`, and whether they differ from the server's.
* `events`: records events beside Infrastructure, after the writes, without delaying them.
* `log`: what a leader logs about its decisions, only when it differs from what it logged before.
* `metrics`: everything that Prometheus scrapes, by the table of `families`.
* `view`: what the status page shows, in the shape of `state`, which has nodes, members of etcd and operands.
"""
