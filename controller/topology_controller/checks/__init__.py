"""Pure questions to facts: one check, one function, one file per subject.

Each takes the facts, its own parameters from the definition, and what it is judged against (`result.Question`), and
answers with a `CheckResult`. Unknown is never Met, an empty list is never proof, and a message says what is wanted,
what was found and which object to look at, with no age, counter or time in it, so that nothing is rewritten without
news. `catalog` maps names to functions.

After the flip most questions are about operands. What the operand matrix wants of them, and how several findings become
one answer, is in `groups`; `replicas`, `static_pods` and `budgets` judge one kind of operand each, `machine_config` the
pools, and `reactions` whether an operator has looked at all. `advisories` tells what nobody fixes by itself.
"""
