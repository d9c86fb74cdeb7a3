"""What the operator serves over HTTP, and to whom.

* `address`: where to listen, and what may be served there.
* `server`: the listening socket, its limits, and the routes behind one gate.
* `probes`: /healthz, /livez and /readyz, open to everybody.
* `scrape`: /metrics.

The rooms behind it (queue, watches, metrics, board) are asked; nobody here decides anything.
"""
