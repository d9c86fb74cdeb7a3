"""What an administrator may say about this operator, in a file that is followed at run time.

`model` is what the file says, as types, and what that makes of the transition definitions; `understand` turns bytes
into it, or into file, line, what was found and what is wanted; `current` keeps what is in force while the file changes.
`reconcile` takes the definitions from `current` between two decisions, `plugin` judges by the same ones.
"""
