// Cluster API's definitions that serve v1beta2 as well, and those that OpenShift's cluster-capi-operator goes by:
// only downloaded, never compiled. Tests of `oc topology audit --capi` are given them.
module topology.example/capi-v1beta2

go 1.24.0

require sigs.k8s.io/cluster-api v1.12.10

require github.com/openshift/api v0.0.0-20260805160557-b61243060d5f
