"""Turns what the API server answers into small frozen facts.

* `facts`: the facts themselves; missing and unreadable are values (`Unobserved`), not exceptions.
* `fields`: typed access into raw objects, which may hold anything.
* `parse`: one function per kind, raw object in, fact out; `record` reads our own record.
* `catalog`: which objects are read, when, and which fact each becomes; partly derived from the operand matrix.
* `watches`: keeps the facts current; opens the idle watches always, the others while a request is open.
* `live`: reads the evidence for the change, all at once, Infrastructure last; names why a read failed.
* `members`: asks etcd itself, where the administrator has given certificates for it; imported only then.
"""
