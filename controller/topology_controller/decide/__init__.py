"""Pure: facts, definitions, what this leader knows, and the time go in; one `Decision` comes out.

`state` has the decision, the context that goes in, and what a leader remembers (`leader` changes that). `phases` is the
life of a transition, `applicability` when nothing may be done, `admission` what is before the change and the change
itself, `convergence` what is after it, measured against a `baseline`. `records` and `cadence` are the record, and when
it is written; `assessment` what stands first wherever it is shown, `problems` why an administrator should look.
No clock, no I/O, no logging: `act` performs the steps, and stops at the first that does not hold; `report` shows.
"""
