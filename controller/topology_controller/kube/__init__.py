"""Talks to the API server, and knows no word of topology. Import the modules, not names from here.

* `resource`: what can be asked for (`Resource`) and which part of it (`Selection`).
* `errors`: a request, and what its response is: an object, or one class per way to fail.
* `config`: how to reach the cluster: a kubeconfig, or the service account of a pod.
* `credentials`: who we are: token files, credential plugins, certificates in memory, impersonation; and whom we trust.
* `transport`: requests over one pool of connections with TLS, keep-alive and credentials.
* `client`: the verbs, each within one budget of seconds.
* `watch`: list, then watch from there, without end: a state machine that yields events.
* `reflector`: keeps reduced objects from those events, and knows whether they are current.
* `queue`: one key, coalescing: what wakes the reconciler; and the backoff after failures.
* `lease`: the elector: who may write, and for how long; and times as the API writes them.
* `placement`: the lease in one cluster, the work in another: may that be written to now?
"""
