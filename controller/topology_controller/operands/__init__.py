"""The operand matrix: which objects each convergence check looks at, and what a topology implies for them.

`model` has the types, and reads `bindata/operands/*.yaml` and `bindata/startup-readers.yaml` into them.
"""
