module topology.example/engines/policies

go 1.26.0

require open-cluster-management.io/governance-policy-propagator v0.18.0
