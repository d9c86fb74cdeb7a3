"""Turns what the API server says into small frozen facts.

* `facts`: the facts themselves; missing and unreadable are values (`Unobserved`), not exceptions.
* `fields`: typed access into raw objects, which may hold anything.
* `parse`, `parse_operands`: one function per kind, raw object in, fact out; the second is about what others run.
* `catalog`: which objects are looked at, when, and which fact each becomes; partly derived from the operand matrix.
* `watches`: keeps them current; opens the idle watches always, the others while a wish is open.
* `members`: asks etcd itself, where the administrator has given certificates for it; imported only then.
* `census`: how many nodes there are of which role, for the shape of a cluster.
* `live`: reads the evidence for the flip, all at once, Infrastructure last.
"""
