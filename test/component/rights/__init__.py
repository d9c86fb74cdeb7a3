"""The rights of the operator's ServiceAccount, held against a kube-apiserver with RBAC.

grants            every single right that the manifests grant, one verb on one resource (and one name) each
restricted_world  a cluster on the real server in which the operator runs as its ServiceAccount, by a token of its own
pod               the operator as it runs in a pod: service account folder, token swapped as a kubelet does it
"""
