"""Pure questions to facts: one check, one function, one file per subject.

Each takes the facts, its own parameters from the definition, and what it is judged against (`result.CheckContext`), and
answers with a `CheckResult`. Unknown is never Met, an empty list is never proof, and a message says what is wanted,
what was found and which object to look at, with no age, counter or time in it, so that nothing is rewritten without
news. `catalog` maps names to functions.

An answer carries its findings: what was found of each operand, node, pool or operator. Everything that others show of
one object (page, metrics, `status`, problems) is such a finding; no check is asked again for it.

After the change most questions are about operands. What the operand matrix wants of them is in `groups`; `workloads`
and `static_pods` judge one operand each, `machine_config` the pools, and `operators` sums up which operators have
reacted. `advisories` are what no operator fixes by itself.
"""
