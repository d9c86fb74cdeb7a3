"""A real kube-apiserver with a real etcd for tests and demonstrations: the truth that `apiserver` is compared with.

Loopback only, TLS, RBAC, tokens, audit log, all data in a temporary folder that goes with it. `server` has it, `audit`
reads its log back, `openshift` has OpenShift's definitions.
"""
