"""A fleet in a box: a hub and its clusters, each a real kube-apiserver, with the engines that roll a change out there.

The engines are what fleets run: Open Cluster Management's placement and work manager on the hub, its work agent on each
cluster (hack/engines builds them from Go modules). Our part is what they are given (`pack`) and our operator on each
cluster. `make fleet SPOKES=3 STORY=canary-then-wave` plays a story and ends with a verdict.

    engines    where the programs are, and how they are started; the definitions of their kinds
    pack       what the engines are given, and without one of its safeguards; the kinds of a hub
    hub        the hub: API server, placement, work manager, and what a registration would have made
    spoke      a cluster of the fleet: `box` with a real API server, and the work agent as its restricted identity
    chronicle  what happened where, and when, from watches
    running    hub and clusters, opened and closed as one; logs are kept
    stories    what happens, and what must hold at the end
    steps      what several of them do, wait for, and claim; `hands` are manifests that are wrong
    verdict    the claims of a story, and how they are printed
"""
