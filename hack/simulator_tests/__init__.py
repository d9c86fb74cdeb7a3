"""The simulator's own tests: of its actors, of the embedded API server, and of that server against a real one.

Nothing here is about the operator. They run when a file of hack/ or api/ changes, and at night: `passed` has the sum of
these files for which all of them passed. `make test-hack` runs them, and writes it.
"""
