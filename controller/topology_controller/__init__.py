"""The Cluster Topology Operator: watches one wish, proves it from evidence, moves the topology in one guarded write."""
