// OpenShift's own definitions, for `envtest`: only downloaded, never compiled. A module of its own, so that another
// version of it does not build the servers anew.
module topology.example/openshift

go 1.24.0

require github.com/openshift/api v0.0.0-20251125174858-5cf710f68a92
