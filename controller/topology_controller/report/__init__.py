"""What people see: the same facts and the same results as the decision, no second opinion.

* `conditions`: the conditions of ClusterOperator `topology` that follow from a decision (DESIGN section 8).
* `clusteroperator`: the status object around them, and whether it differs from what stands on the server.
* `events`: records events beside Infrastructure, after the writes, without delaying them.
* `log`: what a leader says in the log about its decisions, only when it differs from what it said before.
* `metrics`: everything that Prometheus scrapes.
* `board`: holds the last decision for whoever looks.
* `view`: what the status page shows, in the shape of `state`; nodes, etcd and operands come from `evidence`.
"""
