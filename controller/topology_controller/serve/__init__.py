"""What the operator serves over HTTP, and to whom.

* `server`: listens and accepts; what every request passes.
* `connections`: how many, how long, and which one ends when there is no place left.
* `tls`: contexts from certificate, client CA and TLS profile, as they are now.
* `authn`: who asks, and whether they may. `sign_in`: the way in for a browser.
* `routes`: probes, open to everybody, and /metrics.
* `page`: the status page, its state as JSON, and as a stream.

What is served is asked of queue, watches, metrics and the latest decision; nothing here decides about the topology.
"""
