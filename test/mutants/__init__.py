"""Mutants of the core, made by a generator, and all tests that kill each: `python -m test.mutants`.

Planted faults (test/planted) are chosen by a person and name their test. Mutants are many and nobody chose them: they
say which tests are the only ones to see a line, and where no test looks. mutmut and cosmic-ray stop at the first test
that fails and run either all tests or those of a function, and neither draws a sample; so only cosmic-ray's operators
are used. `making` applies them, `changing` puts a mutant into a process that has imported everything, `visits` records
which test takes which line, `running` runs those tests in forked processes, and `__main__` prints.
"""
