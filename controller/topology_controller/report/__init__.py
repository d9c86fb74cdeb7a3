"""What users see: the same facts and the same results as the decision, no second opinion.

* `conditions`: the conditions of ClusterOperator `topology` that follow from a decision.
* `clusteroperator`: the status object around them, and whether it differs from the one on the server.
* `events`: records events beside Infrastructure, after the writes, without delaying them.
* `log`: what a leader logs about its decisions, only when it differs from what it logged before.
* `metrics`: everything that Prometheus scrapes.
* `latest`: the last decision, for those who show it.
* `view`: what the status page shows, in the shape of `state`; nodes, etcd and operands come from `evidence`.
"""
