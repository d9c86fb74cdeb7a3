"""A real kube-apiserver with a real etcd, started for tests and demonstrations, and gone without leftovers.

The embedded server (`apiserver`, next door) is ours; this one is the truth that it is compared with. Loopback only,
TLS, RBAC, tokens, audit log, all data in a temporary folder.

    binaries   where kube-apiserver, etcd and kubectl are; finding and building is what hack/envtest does
    server     `RealServer`: start, wait until ready, restart, stop; kubeconfigs for its users
    audit      the audit log, read back
"""
