"""Talks to etcd itself: who is a member, who leads, who is healthy. Knows etcd, and no word of topology.

`observe.members` imports it when the administrator has given a folder of certificates. `client` sends one request to
one endpoint, with the certificates of the moment; `survey` asks all members everything at once, in one budget of time.
"""
