"""What the operator knows from files: transitions, operands, settings. All of it is validated before it is used.

`read` turns a YAML file into a type, or into problems with file and line. `model` is what a transition definition says,
`registry` what is known of a check, `operands` the operand matrix, and `load` reads definitions and matrix and checks
them against each other. `settings` is the configuration file, written into the definitions, and what is in force of it.
"""
