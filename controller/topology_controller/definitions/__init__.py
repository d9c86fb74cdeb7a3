"""What the operator knows from files: transitions, operands, settings. All of it is validated before it is used.

`read` turns a YAML file into a type, or into problems with file and line. `model` is what a transition definition says,
`operands` is the operand matrix, and `load` reads both from `bindata` and checks them against each other. `settings` is
the configuration file, written into the definitions; `current` follows that file and keeps what is in force.
"""
