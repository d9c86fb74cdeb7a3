"""Reads the YAML files that say what the operator knows, and says exactly where one is wrong.

`nodes` reads YAML with line numbers, `read` turns a file into a type and explains what does not fit, `problems` is what
whoever wrote it is told; `follow` looks at one file again and again. `operands`, `transitions` and
`configuration`, the rooms above, say what their files may hold.
"""
