"""A fleet in a box: a hub and its clusters, each a real kube-apiserver, with the engines that roll a change out there.

The engines are what fleets run: Open Cluster Management's placement and work manager on the hub, its work agent on each
cluster (`engines`; hack/engines builds them). Our part is what they are given (`pack`) and our operator on each
cluster. `chronicle` opens `hub` and `spoke`s and watches; `stories` play what happens (`steps`, `hands`), `verdict` has
what must hold. `make fleet SPOKES=3 STORY=canary-then-wave`.
"""
