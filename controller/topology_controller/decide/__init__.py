"""Pure: facts, definitions, what this leader knows, and the time go in; one `Decision` comes out.

* `decision`: the `Decision` and its steps.
* `state`: what this leader remembers between two decisions; `leader`: how looks, decisions and writes change it.
* `applicability`: when this operator must not act at all.
* `records`: builds `status.topologyTransition`, and recovers it when it was lost.
* `phases`: the life of a transition: where `decide` is.
* `context`: what one decision looks at, and what all decisions have in common.
* `assessment`: what stands first wherever a transition is shown.
* `cadence`: when the record is written.
* `admission`: before the change: Pending, Admitting, and the change itself.
* `baseline`: what the cluster looks like at the change, as convergence is measured against it.
* `convergence`: after the change: until it is completed, or stuck.
* `acceptance`: what an administrator accepts not to wait for, past the deadline.
* `native_controller`: while the native controller is in charge: where its transition is.
* `discovery`: what could be asked for now.
* `events`: the events of a change of phase.

No clock, no I/O, no logging. `act` performs the steps of a decision in their order and stops at the first that does
not hold; `report` shows what was decided.
"""
