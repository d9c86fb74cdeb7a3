"""What people see: the same facts and the same results as the decision, no second opinion.

* `conditions`: the conditions of ClusterOperator `topology` that follow from a decision (DESIGN section 8).
* `clusteroperator`: the status object around them, and whether it differs from what stands on the server.
* `events`: tells happenings beside Infrastructure, after the writes, without delaying them.
* `metrics`: everything that Prometheus scrapes.
"""
