"""Who else lives in the cluster: small clients that speak only HTTP, each doing what one OpenShift component does.

A table of contents:

* `hub`                `Actors`: starts all of them, stops all of them, hands out those that take orders
* `actor`              what they have in common: look at the mirror, do the next thing, wait for news
* `kubelets`           nodes become Ready, beat, reboot, and can be taken down; some wait for their certificates
* `etcd_operator`      unstarted → learner → voter, one at a time, as Machines allow; endpoints, conditions, lease
* `real_etcd_operator` the same with real members behind it
* `machine_controller` Machines get a host and a node, and give both back when they are deleted
* `bare_metal`         hosts are registered, inspected, deployed and wiped
* `machine_config`     worker labels, pools, and the node-by-node roll-out after a topology change
* `static_pods`        revisions on every control-plane node, and the budgets of their guards
* `workloads`          monitoring and the others that deploy something, each in its turn; routers; operators' own pods
* `console`            the same for the console, whose pods every write of Infrastructure restarts
* `native`             OpenShift's own controller of topologies, while its feature gate is on
* `version`            the version operator: Upgradeable as an echo of others, and upgrades
"""
