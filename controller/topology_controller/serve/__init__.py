"""What the operator serves over HTTP, and to whom.

* `address`: where to listen, and what may be served there.
* `server`: the routes behind one gate, and everything below put together.
* `listener`: accepts, each connection with the TLS context that is the newest then.
* `connections`: how many, how long, and who has to go when there is no room.
* `answers`: the time and the answer of every request. `headers`: what tells a browser to be careful.
* `security`: what serving to others needs. `tls`: contexts from certificate, client CA and profile. `profile`: which
  TLS the administrator wants. `settings`: watches what the cluster says about it.
* `gate`: who is it, and may they. `access`: which path asks for which right. `reviews`: asks the API server. `memory`:
  remembers for a while. `signing_in` and `sessions`: the way in for a browser.
* `probes`: /healthz, /livez and /readyz, open to everybody.
* `scrape`: /metrics.
* `page`: the status page, its state as JSON, and as a stream.

The rooms behind it (queue, watches, metrics, board) are asked; nobody here decides anything.
"""
