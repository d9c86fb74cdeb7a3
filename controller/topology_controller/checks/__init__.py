"""Pure functions of facts: one check, one function, one file per subject.

Each takes a `result.CheckContext` and answers with a `CheckResult`. Unknown is never Met, an empty list is never proof,
and a message says what is wanted, what was found and which object to look at, with no age, counter or time in it, so
that nothing is rewritten without news. `catalog` maps names to functions.

An answer carries its findings: what was found of each operand, node, pool or operator. Everything that others show of
one object (page, metrics, `status`, problems) is such a finding; no check is asked again for it.

After the change most checks are about `operands`. `machine_config` judges the pools, and `operators` sums up which
operators have reacted. `advisories` are what no operator fixes by itself.
"""
