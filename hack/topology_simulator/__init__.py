"""A cluster in a box: an embedded API server, the actors of an OpenShift cluster, and scenarios that play on them."""
