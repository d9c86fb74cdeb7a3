"""What the operator serves over HTTP, and to whom; nothing here decides about the topology.

`server` listens, bounds each connection and says what every response says, `tls` makes contexts as they are now,
`authn` asks who may; `routes` has what is served: probes, metrics, the status page, its state as JSON and as a stream.
"""
