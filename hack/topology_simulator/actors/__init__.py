"""Who else lives in the cluster: small clients that speak only HTTP, each doing what one OpenShift component does.

`hub` starts and stops all of them, `actor` is what they have in common. `kubelets`, `etcd_operator` (and
`real_etcd_operator`, with real members behind it), `machine_controller`, `bare_metal`, `machine_config`, `static_pods`,
`workloads` (ingress and operators' own pods, too), `console`, `native` (OpenShift's own controller of topologies, while
its gate is on), `version` (the version operator: Upgradeable as an echo of others, and upgrades).
"""
