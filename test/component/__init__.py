"""The operator as a process, against an API server: behaviour through the API, and nothing else.

`conftest` opens a `World` for each test: an API server, embedded or real (`backend`, `real`), a cluster whose facts are
all good, the two neighbours that a transition cannot do without (`reactors`), and operators (`process`). `phases`
brings a world to a phase and holds it there. A test holds or spoils single facts and says what must be seen; everything
waits with a deadline (`polling`).
"""
