"""Talks to etcd itself: who is a member, who leads, who is healthy. Knows etcd, and no word of topology.

`observe.members` imports it when the administrator has given a folder of certificates.

* `client`: one request to one endpoint; endpoints, responses and errors.
* `survey`: all requests to all members at once, within one budget of time.
* `folder`: the administrator's certificates, which change on disk while we run.
"""
