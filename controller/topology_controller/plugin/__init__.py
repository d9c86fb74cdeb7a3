"""`kubectl-topology`: what an administrator asks before, while and after the topology changes. It only reads.

One executable serves `oc topology` and `kubectl topology`. It reads the same objects through the same sources as the
operator (`observe`), and judges them with the same functions (`checks`, `decide`); nothing is judged here, so that what
`plan` prints and what the operator does cannot differ. It needs no operator to be running.

* `main`: the entry point: dispatch, exit codes, one line for whatever goes wrong.
* `arguments`: the command line.
* `errors`: what ends a command early.
* `connection`: reaches the cluster, and says what kind of cluster it is not.
* `reading`: one consistent set of facts, read live, with the rights that are missing named.
* `judging`: from facts to a verdict: what the operator would decide if this were wished for. Pure.
* `expecting`: what a transition disturbs, and what nobody but a person can check. Pure.
* `answers`: the shapes of `-o json` and `-o yaml`.
* `plan`, `status`, `wait`, `graph`: the verbs.
* `paper`, `printing`: text for a terminal of any width, or for a pipe.
"""
