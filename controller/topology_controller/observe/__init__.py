"""Turns what the API server answers into small frozen facts.

`facts` has every fact; missing and unreadable are values (`Unobserved`). `nodes`, `operands` and `record` have those of
their subjects with their readers, `parse` the other readers: raw object in, fact out; `fields` reads what may hold
anything. `catalog` says what is read, when, and which fact it becomes. `watches` keeps facts current, `live` reads the
evidence for the change at once, Infrastructure last; `members` asks etcd itself where there are certificates for it.
"""
