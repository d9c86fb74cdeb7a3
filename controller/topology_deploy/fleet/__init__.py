"""What roll-out engines are given, so that one cluster becomes thousands.

`meaning` says once what an Infrastructure object means to a roll-out, `languages` says it in CEL, in Lua and as a Go
template, and `pack` with its neighbours puts that into the objects of each engine. All of it is pure: values in, text
out, and no cluster is asked. We have no roll-out driver of our own.
"""
