"""`kubectl-topology`: what an administrator asks before, while and after the topology changes, and the request for it.

One executable serves `oc topology` and `kubectl topology`. It reads the same objects through the same sources as the
operator (`observe`), and judges them with the same functions (`checks`, `decide`); nothing is judged here, so that what
`plan` prints and what the operator does cannot differ. It needs no operator to be running. The contract in
pyproject.toml names the modules of the operator that it may use.

* `main`: the entry point: dispatch. `errors`: exit codes, and the line that is printed for an error or Ctrl-C.
* `arguments`: the command line. `completion`: the executable `kubectl_complete-topology`.
* `cluster`: the connection, one consistent snapshot of facts, and the definitions as the operator asks them.
* `simulate`: what the operator would decide if a topology were requested; `disruption`: what that disturbs. Pure.
* `commands`: the verbs, one module each. `set`, `cancel` and `accept` write by `write`.
* `must_gather`: what was collected of a cluster, in place of the connection.
* `probe`: what `plan --probe` asks of names and addresses; `front`: which, and what follows. The second is pure.
* `manifest`: what a manifest asks for, in the place of a target.
* `naming`: what the program and the cluster's client are called in all that is printed.
* `consistency`: do status, scheduler and nodes of a cluster fit together? Pure.
* `recorded`: the answer of `status`; `progress`: what people read of it. Pure.
* `answers`: the shapes of `-o json` and `-o yaml`. A verb prints the same for people, by its function `add_...`.
* `document`, `sections`: what is printed, as sections of rows; their text, for a terminal or for a pipe.
* `live`: `status --watch`: the answer of `status` as often as there is news. `live_lines` prints it line by line;
  `live_screen` draws on a terminal what `status` prints.
"""
