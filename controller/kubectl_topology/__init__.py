"""`kubectl-topology`: what an administrator asks before, while and after the topology changes, and the request for it.

It reads the same objects through the same sources as the operator (`observe`), and judges them with the same functions
(`checks`, `decide`), so that what `plan` prints and what the operator does cannot differ. No operator need be running.

* `main` dispatches; `arguments`, `completion`: the command line; `errors`: exit codes, and how a command ends.
* `cluster`, or `must_gather` in its place: one consistent snapshot of facts. `manifest`: a request in a file.
* `simulate`: what the operator would decide about a request; `disruption`: what follows from it. Pure.
* `commands`: the verbs, one module each. `set`, `cancel` and `accept` write by `write`.
* `probe`: `plan --probe`; `consistency`, `capi`: `audit`; `progress`: what people read of `status`.
* `live` follows a cluster for `status --watch`, `display` shows it.
* `answers`: the shapes of `-o json`; `document`, `sections`, `naming`: the same for people, as sections of rows.
"""
