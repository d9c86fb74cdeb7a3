"""Turns what the API server answers into small frozen facts.

* `facts`: every fact; missing and unreadable are values (`Unobserved`), not exceptions. `nodes`, `operands`, `record`
  hold the facts of their subjects with their readers, `parse` the other readers: raw object in, fact out.
* `fields`: typed access into raw objects, which may hold anything.
* `catalog`: which objects are read, when, and which fact each becomes; partly derived from the operand matrix.
* `watches`: keeps the facts current; `live`: reads the evidence for the change, all at once, Infrastructure last.
* `members`: asks etcd itself, where the administrator has given certificates for it; imported only then.
"""
