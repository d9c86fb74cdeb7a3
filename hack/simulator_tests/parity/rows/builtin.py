"""Built-in kinds that the operator and its neighbours rely on: leases, events, nodes, namespaces, reviews."""

from __future__ import annotations

from simulator_tests.parity import samples as s
from simulator_tests.parity.rows import strategic
from simulator_tests.parity.table import delete, first, get, patch, post, put, row

LEASE = s.LEASES + "/one"
NODE = s.NODES + "/{row}"
_DEPLOYMENT = strategic.deployment(strategic.container("c"))

ROWS = (
    row(
        "a lease keeps microseconds",
        post(
            s.LEASES,
            s.lease(
                holderIdentity="me",
                leaseDurationSeconds=15,
                leaseTransitions=0,
                acquireTime="2006-01-02T03:04:05.678901Z",
                renewTime="2006-01-02T03:04:05.600000Z",
            ),
        ),
        get(LEASE),
    ),
    row(
        "two candidates for a lease: the later is refused",
        first(post(s.LEASES, s.lease(holderIdentity="a")), "a"),
        put(LEASE, s.versioned(s.lease(holderIdentity="b"), "{a.metadata.resourceVersion}")),
        put(LEASE, s.versioned(s.lease(holderIdentity="c"), "{a.metadata.resourceVersion}")),
        put(LEASE, s.lease(holderIdentity="d")),
        post(s.LEASES, s.lease(holderIdentity="e")),
    ),
    row(
        "an event is complete",
        post(s.DEFAULT_EVENTS, s.event()),
        get(s.DEFAULT_EVENTS + "/{row}"),
        get("/api/v1/namespaces/default/events/{row}"),
        namespace=False,
    ),
    row(
        "an event about a cluster-scoped object belongs in namespace default",
        post(s.EVENTS, s.meta(s.event(), namespace="{row}")),
    ),
    row(
        "an incomplete event is refused",
        *(
            post(s.DEFAULT_EVENTS, {key: value for key, value in s.event().items() if key != missing})
            for missing in ("eventTime", "reportingInstance", "action", "reason", "note", "regarding")
        ),
        namespace=False,
    ),
    row(
        "an event's series is counted",
        first(post(s.DEFAULT_EVENTS, s.event()), "a"),
        patch(s.DEFAULT_EVENTS + "/{row}", {"series": {"count": 2, "lastObservedTime": "2006-01-02T03:05:05.000000Z"}}),
        namespace=False,
    ),
    row(
        "a node's status and metadata change through status",
        first(post(s.NODES, s.node())),
        patch(
            NODE + "/status",
            {
                "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
                "spec": {"unschedulable": True},
                "status": {"capacity": {"cpu": "4"}},
            },
            view=s.of_node,
        ),
        patch(NODE, {"status": {"capacity": {"cpu": "5"}}}, view=s.of_node),
        namespace=False,
    ),
    row(
        "a namespace becomes active",
        post(s.NAMESPACES, s.namespace("{row}")),
        get(s.NAMESPACES + "/{row}"),
        get(s.NAMESPACES + "/{row}/status"),
        namespace=False,
    ),
    row(
        "a namespace is emptied before it goes",
        first(post(s.NAMESPACES, s.namespace("{row}"))),
        delete(s.NAMESPACES + "/{row}"),
        post(s.CONFIG_MAPS, s.config_map()),
        namespace=False,
    ),
    row(
        "a token review answers",
        post(
            "/apis/authentication.k8s.io/v1/tokenreviews",
            {"spec": {"token": "admin"}},
            view=lambda body: {
                "kind": body["kind"],
                "ok": body["status"].get("authenticated"),
                "groups": "system:masters" in body["status"]["user"]["groups"],
            },
        ),
        namespace=False,
    ),
    row(
        "an access review answers",
        post(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {
                "spec": {
                    "user": "x",
                    "groups": ["system:masters"],
                    "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
                }
            },
            view=lambda body: body["status"]["allowed"],
        ),
        post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            {"spec": {"resourceAttributes": {"verb": "get", "resource": "nodes"}}},
            view=lambda body: body["status"]["allowed"],
        ),
        post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": {}}),
        namespace=False,
    ),
    row(
        "a deployment is stored with its generation",
        post(
            strategic.DEPLOYMENTS,
            {**_DEPLOYMENT, "spec": {**_DEPLOYMENT["spec"], "replicas": 2}},
            view=lambda body: [body["metadata"]["generation"], body["spec"]["replicas"]],
        ),
        patch(
            strategic.DEPLOYMENT + "/status",
            {"status": {"availableReplicas": 2, "readyReplicas": 2, "replicas": 2, "observedGeneration": 1}},
            view=lambda body: [body["metadata"]["generation"], body["status"]],
        ),
        patch(
            strategic.DEPLOYMENT,
            {"spec": {"replicas": 3}},
            view=lambda body: [body["metadata"]["generation"], body["status"]],
        ),
    ),
)
