"""What the operator serves over HTTP, and to whom.

* `server`: listens and accepts, as many as there may be; what every request passes; probes and /metrics.
* `connections`: how long and how much one connection may send, and what every response says.
* `tls`: contexts from certificate, client CA and TLS profile, as they are now.
* `authn`: authentication and authorization of requests.
* `page`: the status page, its state as JSON, and as a stream.

What is served is asked of queue, watches, metrics and the latest decision; nothing here decides about the topology.
"""
