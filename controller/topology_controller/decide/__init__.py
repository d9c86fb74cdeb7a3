"""Pure: facts, definitions, what this leader knows, and the time go in; one `Decision` comes out.

* `state`: the decision, the context that goes in, and what a leader remembers (`leader` changes that).
* `phases`: the life of a transition: where `decide` is. `applicability`: when this operator must not act at all.
* `admission`, `convergence`: before the change and the change itself; after it, until it is completed, or stuck.
* `baseline`: what the cluster looks like at the change, as convergence is measured against it.
* `records`, `cadence`: what `status.topologyTransition` holds, and the events of that; when it is written.
* `assessment`, `problems`: what stands first wherever a transition is shown; why an administrator should look.

No clock, no I/O, no logging. `act` performs the steps of a decision in their order and stops at the first that does
not hold; `report` shows what was decided.
"""
