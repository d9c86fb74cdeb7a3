"""Talks to etcd itself: who is a member, who leads, who is healthy. Knows etcd, and no word of topology.

Nothing is imported here: most clusters never use this package. `observe.members` imports it when the administrator has
given a folder of certificates.

* `client`: one question to one endpoint; endpoints, answers and errors.
* `survey`: all questions to all members at once, within one budget of time.
* `folder`: the administrator's certificates, which change on disk while we run.
"""
