"""Talks to the API server, and knows no word of topology. Import the modules, not names from here.

`resource` is what can be asked for, `errors` a request and each way to fail. `config` says how to reach the cluster,
`credentials` who we are and whom we trust; `transport` sends requests over one pool of connections, `client` has the
verbs, each within one budget of seconds. `watch` lists and watches without end, `reflector` keeps reduced objects from
that, `queue` wakes the reconciler. `lease` is the elector, `placement` a lease elsewhere.
"""
