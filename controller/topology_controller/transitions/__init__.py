"""Transitions are data: one file each in `bindata/transitions/`, validated before anything is contacted.

`model` is what a definition says, as types; `load` reads the files and names file and line of what is wrong.
"""
