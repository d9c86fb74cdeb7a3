"""What an administrator may configure, in a file that is followed at run time.

`model` has its types, reads it, and writes it into the transition definitions; `current` keeps what is in force while
the file changes. `reconcile` takes the definitions from `current` between two decisions, `plugin` judges by the same
ones.
"""
