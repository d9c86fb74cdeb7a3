"""A cluster in a box: an embedded API server, the actors of an OpenShift cluster, and scenarios that play on them.

`__main__` has the commands, `demo` and `drill` what they do (`story`, `terminal`). `box` opens server, cluster, actors
and `operator_process` as one; `play` performs a `scenario` (scenarios/), `probes` reads back what came of it. `install`
puts what `cluster` makes of a `shape` (`configured`, `machines`, `operands`) on a server by `client`. `actors` live by
`pace`, `follow` does the same at once. `apiserver` is embedded, `envtest` a real one, `proxy` gives that the same
faults; `etcd` has real members, `fleet` a hub and its clusters with real engines.
"""


class SimulatorError(Exception):
    """What ends a demonstration with a sentence: the message says what is wrong, and what to do where that is known."""
