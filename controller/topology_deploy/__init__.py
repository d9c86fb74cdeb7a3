"""What is applied to a cluster before the operator runs there, and never runs in it; also what many clusters get.

The contract in pyproject.toml names the modules of the operator that this may use; the operator uses nothing of it.

* `cli`: the installed program `cluster-topology-operator`: the operator's commands, and the three of this package.
* `manifests`: what `oc apply` takes, also for an operator that runs in another cluster, and the script for the fields.
* `render`: an install-config becomes numbers; `install_config`: what the installer makes of these. The second is pure.
* `fleet`: what roll-out engines are given.
"""
