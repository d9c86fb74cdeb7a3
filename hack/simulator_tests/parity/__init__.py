"""The embedded API server held against a real one: one table of behaviours, asked of both, answers compared.

A table of contents, from the data to the verdict:

* `table`        what a row is: a sentence, and the requests whose answers are compared
* `samples`      the definitions and objects that rows work with
* `rows`         the rows, one module for each subject; `rows.ALL` is the whole table
* `sides`        the two servers, prepared alike
* `asking`       one row asked of one side: real requests, over real sockets, by the same client code
* `normal`       what no two servers can have in common (uids, versions, times) made comparable, its order kept
* `record`       what the real server answered, by row: `recorded.json`
* `verdict`      the two answers side by side: same, differs for a listed reason, or differs
* `differences`  the list of those reasons, held both ways: a difference that is gone must leave the list

`python -m simulator_tests.parity` asks both servers, prints the table, and tells (or with `--record` writes) where the
record is no longer what the real one says. `test_parity.py` asks the embedded server alone, one test for
each row, and holds it against the record.
Where the two differ and no reason is listed, the embedded server is the one that is wrong.
"""
