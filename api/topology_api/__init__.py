"""What everybody may import: the vocabulary, the API types and the CRD made from them. No I/O.

* `vocabulary`: the words that others can see, each with its meaning.
* `types`: `status.topologyTransition` and what it is made of.
* `view`: Infrastructure as an operator that reacts to a topology needs it.
* `shape`: which of the six kinds of cluster that people speak of is this?
* `quantities`: quantities of Kubernetes, such as "32Gi", as numbers.
* `served`: does a cluster serve our fields?
* `crd`, `crd_patch`: the definition of Infrastructure, whole and as a patch.
"""
