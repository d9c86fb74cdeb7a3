"""The Cluster Topology Operator: reads one request, proves it, and changes the topology in one guarded write."""
