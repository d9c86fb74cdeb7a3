"""`kubectl-topology`: what an administrator asks before, while and after the topology changes, and the wish for it.

One executable serves `oc topology` and `kubectl topology`. It reads the same objects through the same sources as the
operator (`observe`), and judges them with the same functions (`checks`, `decide`); nothing is judged here, so that what
`plan` prints and what the operator does cannot differ. It needs no operator to be running.

* `main`: the entry point: dispatch, exit codes, one line for whatever goes wrong.
* `arguments`: the command line.
* `errors`: what ends a command early.
* `connection`: reaches the cluster, and says what kind of cluster it is not.
* `configured`: the definitions as the operator is configured to ask them.
* `reading`: one consistent set of facts, read live, with the rights that are missing named.
* `judging`: from facts to a verdict: what the operator would decide if this were wished for. Pure.
* `expecting`: what a transition disturbs, and what nobody but a person can check. Pure.
* `answers`: the shapes of `-o json` and `-o yaml`.
* `plan`, `status`, `wait`, `graph`, `audit`: the verbs that only read.
* `document`, `printing`: what the verbs print, as sections of rows; and their text, for a terminal or for a pipe.
* `live`: `status --watch`: the answer of `status` as often as there is news. `live_lines` prints it line by line;
  `live_screen` draws on a terminal what `status` prints. Only that imports rich.
* `completion`: the executable `kubectl_complete-topology`: what may come next on the command line.
* `manifest`, `manifest_files`: what the manifests of a repository ask for, in the place of a target.
* `svg`, `layout`: the graph as a picture.
* `setting`, `cancelling`: the verbs `set` and `cancel`: may the wish be made, or withdrawn?
* `writing`: the one write of both, and what became of it. `answering`: has the operator heard it?
* `interruption`: what is said when Ctrl-C ends a command.
* `accepting`, `asking`: the verb `accept`: a check that will not come, and a person's consent.
"""
