"""The operand matrix: which operand follows which topology, and what each topology implies for it. Data, not code.

`model` is what the files say, as types; `load` reads `bindata/operands` and `bindata/startup-readers.yaml`.
"""
