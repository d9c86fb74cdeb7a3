"""An in-memory Kubernetes API server for demos and tests, faithful enough for kubectl and for our own client.

From the wire inwards: `server` (`__main__`: as a process), `faults` (its port, and what can go wrong there on purpose),
`requests` (one, read), `handlers` (who is responsible), `discovery`; `reads`, `streams`, `table`; `writes`, `metadata`,
`patch`; `crds`, which `validation` and `cel` judge by; `resources` and `builtins` (which kinds exist), `storage`
(objects and their log); `statuses` and `field_errors` (every refusal, in the words of the real server).

Compared with kube-apiserver 1.36 by hack/simulator_tests/parity; docs/development/embedded-server.md lists every
difference, and what is not done.
"""
