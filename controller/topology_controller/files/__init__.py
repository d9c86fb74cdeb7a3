"""Reads the YAML files that say what the operator knows, and says exactly where one is wrong.

`read` turns a file into a type, and what does not fit into problems with file and line. `operands`, `transitions` and
`configuration` say what their files may hold.
"""
