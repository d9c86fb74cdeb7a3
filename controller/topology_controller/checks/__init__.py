"""Pure functions of facts: one check, one function, one file per subject.

Each takes a `result.CheckContext` and answers with a `CheckResult`. Unknown is never Met, an empty list is never proof,
and a message says what is wanted, what was found and which object to look at, with no age, counter or time in it, so
that nothing is rewritten without news. Its findings say what was found of each operand, node, pool or operator;
everything that others show of one object is such a finding. `catalog` maps names to functions; `advisories` are what no
operator fixes by itself.
"""
