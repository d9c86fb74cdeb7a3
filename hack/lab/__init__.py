"""What OpenShift's own programs make of this operator: built from their sources by `lab`, beside a cluster in a box.

`printed` collects the commands that pages and programs show, `trials` runs them with the real `oc` in five states of
the cluster, `archives` keeps what `oc adm inspect` collects in each. `real` plays stories with operators of OpenShift
(`operators`) and those who have no machine here (`played`, `services`); `verdict` judges. operators.toml pins programs.
"""
