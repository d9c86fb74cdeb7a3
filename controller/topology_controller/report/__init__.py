"""What users see: the same facts and the same results as the decision, no second opinion.

`clusteroperator` has conditions and status of ClusterOperator `topology`, `events` what is recorded beside
Infrastructure, `log` what a leader logs, each only when it differs; `metrics` is what Prometheus scrapes, by the table
of `families`; `view` is what the status page shows, in the shape of `state`, which has nodes, members and operands.
"""
