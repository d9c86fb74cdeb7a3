"""What the operator serves over HTTP, and to whom; nothing here decides about the topology.

* `server`: listens and accepts, bounds each connection; what every request passes, and what every response says.
* `tls`: contexts from certificate, client CA and TLS profile, as they are now.
* `authn`: authentication and authorization of requests.
* `routes`: what is served: probes, metrics, the status page, its state as JSON, and as a stream.
"""
