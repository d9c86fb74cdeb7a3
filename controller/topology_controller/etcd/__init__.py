"""Talks to etcd itself: who is a member, who leads, who is well. Knows etcd, and no word of topology.

Nothing is imported here, because most clusters never use this room: `observe.members` opens it when the administrator
has given a folder of certificates.

* `endpoint`: what may be asked, spelt in one way.
* `certificate`, `folder`: the administrator's certificates, which change on disk while we run.
* `errors`: what can go wrong, and whether it speaks of the member or of us.
* `answers`: the JSON of etcd's gateway as small frozen values.
* `client`: one question to one endpoint.
* `survey`: all questions to all members at once, within one budget of time.
"""
