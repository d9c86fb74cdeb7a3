"""Faults that are planted on purpose in a copy of the operator, and the tests that have to catch them.

`faults/*.toml` is the list: what is changed where, which promise that breaks, and who has to notice. `planting` reads
it, copies the source tree and runs those tests there; `python -m test.planted [NAME...]` prints the table. Operators
that decide wrongly in many steps are another list (test/fuzz/mutations.py), as are the admission policies and the
alert rules, which have their faults beside their tests.
"""
