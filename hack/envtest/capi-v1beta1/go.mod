// Cluster API's own definitions as they were while v1beta1 was all that they served (HyperShift's until 2026-06):
// only downloaded, never compiled. Tests of `oc topology audit --capi` are given them.
module topology.example/capi-v1beta1

go 1.24.0

require sigs.k8s.io/cluster-api v1.10.10
