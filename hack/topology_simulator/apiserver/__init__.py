"""An in-memory Kubernetes API server for demos and tests, faithful enough for kubectl and for our own client.

A table of contents, from the wire inwards:

* `server`       `ApiServer(crds=[...])`: `start`, `stop`, `kubeconfig`, `faults`, `requests`
* `__main__`     the same as a process: `python -m topology_simulator.apiserver`
* `requests`     a request as verb, kind, object and wanted form, and as a record
* `faults`       its port, what can go wrong there on purpose, and hooks between two requests
* `handlers`     who is responsible; `discovery` tells clients what there is
* `reads`        get, list, watch; `streams` carry one; `table`
* `writes`       create, update, patch, delete; `metadata`, `patch`
* `crds`         definitions; `validation` and `cel` judge objects
* `resources`    which kinds exist; `builtins` are those of every cluster
* `storage`      objects, the log, one global resourceVersion
* `statuses`     every refusal, in the words of the real server; `field_errors` are the causes of a 422

Compared with kube-apiserver 1.36 by hack/simulator_tests/parity; docs/development/embedded-server.md lists every
difference, and what is not done.
"""
