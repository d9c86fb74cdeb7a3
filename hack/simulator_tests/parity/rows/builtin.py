"""Built-in kinds that the operator and its neighbours rely on: leases, events, nodes, namespaces, reviews."""

from __future__ import annotations

from simulator_tests.parity import samples as s
from simulator_tests.parity.table import delete, first, get, patch, post, put, row

LEASE = s.LEASES + "/one"
NODE = s.NODES + "/{row}"

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
        "a lease time is completed to microseconds",
        post(s.LEASES, s.lease(renewTime="2006-01-02T03:04:05Z")),
        patch(LEASE, {"spec": {"renewTime": "2006-01-02T05:04:05.5+02:00"}}),
        patch(LEASE, {"spec": {"renewTime": "2006-01-02T03:04:05.1234567Z"}}),
    ),
    row(
        "a lease has rules",
        post(s.LEASES, s.lease(leaseDurationSeconds=0)),
        post(s.LEASES, s.lease(leaseTransitions=-1)),
        post(s.LEASES, s.lease(leaseDurationSeconds=-5, leaseTransitions=-1)),
        post(s.LEASES, s.lease(holderIdentity="")),
    ),
    row(
        "a lease counts in 32 bits",
        post(s.LEASES, s.lease(leaseTransitions=2**31)),
        post(s.LEASES, s.lease(leaseDurationSeconds=2**31)),
        post(s.LEASES, s.lease(leaseTransitions=-(2**31) - 1)),
        post(s.LEASES, s.lease(leaseTransitions=1.5)),
        post(s.LEASES, s.lease(leaseDurationSeconds=2**31 - 1, leaseTransitions=2**31 - 1)),
    ),
    row(
        "a lease without a spec",
        post(s.LEASES, {"metadata": {"name": "one"}}),
        patch(LEASE, {"spec": {"holderIdentity": "me"}}),
        patch(LEASE, {"spec": {"holderIdentity": None}}),
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
        "an event about a namespaced object belongs in its namespace",
        post(
            s.EVENTS,
            s.meta(
                {**s.event(), "regarding": {"kind": "Widget", "namespace": "{row}", "name": "x"}}, namespace="{row}"
            ),
        ),
        post(s.DEFAULT_EVENTS, {**s.event(), "regarding": {"kind": "Widget", "namespace": "{row}", "name": "x"}}),
    ),
    row(
        "an incomplete event is refused",
        *(
            post(s.DEFAULT_EVENTS, {key: value for key, value in s.event().items() if key != missing})
            for missing in (
                "eventTime",
                "reportingController",
                "reportingInstance",
                "action",
                "reason",
                "type",
                "note",
                "regarding",
            )
        ),
        namespace=False,
    ),
    row(
        "an event's fields have limits",
        post(s.DEFAULT_EVENTS, s.event(note="x" * 1025)),
        post(s.DEFAULT_EVENTS, s.event(reason="x" * 129)),
        post(s.DEFAULT_EVENTS, s.event(action="x" * 129)),
        post(s.DEFAULT_EVENTS, s.event(type="Odd")),
        post(s.DEFAULT_EVENTS, s.event(reportingController="not a name!")),
        post(s.DEFAULT_EVENTS, s.event(deprecatedCount=1)),
        post(s.DEFAULT_EVENTS, s.event(eventTime="2006-01-02T03:04:05Z")),
        namespace=False,
    ),
    row(
        "an event's series is counted",
        first(post(s.DEFAULT_EVENTS, s.event()), "a"),
        patch(s.DEFAULT_EVENTS + "/{row}", {"series": {"count": 2, "lastObservedTime": "2006-01-02T03:05:05.000000Z"}}),
        patch(s.DEFAULT_EVENTS + "/{row}", {"note": "other"}),
        patch(s.DEFAULT_EVENTS + "/{row}", {"series": {"count": 1, "lastObservedTime": "2006-01-02T03:05:05.000000Z"}}),
        namespace=False,
    ),
    row(
        "an event is updated by PUT",
        first(post(s.DEFAULT_EVENTS, s.event()), "a"),
        put(
            s.DEFAULT_EVENTS + "/{row}",
            {**s.event(), "series": {"count": 2, "lastObservedTime": "2006-01-02T03:05:05.000000Z"}},
        ),
        namespace=False,
    ),
    row(
        "events of the older API",
        post(
            s.CORE_EVENTS,
            {
                "metadata": {"name": "one"},
                "involvedObject": {"kind": "Widget", "namespace": "{row}", "name": "x"},
                "reason": "R",
                "message": "m",
                "type": "Normal",
                "source": {"component": "c"},
                "firstTimestamp": "2006-01-02T03:04:05Z",
                "lastTimestamp": "2006-01-02T03:04:05Z",
                "count": 1,
            },
        ),
        get(s.EVENTS + "/one"),
        post(
            s.CORE_EVENTS, {"metadata": {"name": "two"}, "involvedObject": {"kind": "Node", "name": "x"}, "reason": "R"}
        ),
    ),
    row(
        "events are selected by what they are about",
        first(post(s.DEFAULT_EVENTS, s.event())),
        get(s.DEFAULT_EVENTS, fieldSelector="regarding.name={row}", view=lambda body: len(body["items"])),
        get(
            "/api/v1/namespaces/default/events",
            fieldSelector="involvedObject.name={row},involvedObject.kind=Gadget",
            view=lambda body: len(body["items"]),
        ),
        get(s.DEFAULT_EVENTS, fieldSelector="reason=Tested,regarding.name={row}", view=lambda body: len(body["items"])),
        get(s.DEFAULT_EVENTS, fieldSelector="note=a"),
        get(s.DEFAULT_EVENTS, fieldSelector="regarding.name={row}-other", view=lambda body: len(body["items"])),
        get("/api/v1/events", fieldSelector="involvedObject.name={row}", view=lambda body: len(body["items"])),
        namespace=False,
    ),
    row(
        "a new node is tainted until somebody takes the taint away",
        post(s.NODES, s.node()),
        patch(NODE, {"spec": {"taints": None}}),
        namespace=False,
    ),
    row(
        "a node may come with a status",
        post(
            s.NODES,
            {
                **s.node(),
                "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
                "status": {
                    "capacity": {"cpu": "4", "memory": "16Gi"},
                    "conditions": [{"type": "Ready", "status": "False"}],
                },
            },
        ),
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
        ),
        patch(NODE, {"status": {"capacity": {"cpu": "5"}}}),
        namespace=False,
    ),
    row(
        "quantities of a node are normalised",
        first(post(s.NODES, s.node())),
        patch(NODE + "/status", {"status": {"capacity": {"cpu": "4000m", "memory": "16777216Ki", "pods": 250}}}),
        patch(NODE + "/status", {"status": {"capacity": {"cpu": "many"}}}),
        namespace=False,
    ),
    row(
        "a node is cordoned and tainted",
        first(post(s.NODES, s.node())),
        patch(NODE, {"spec": {"unschedulable": True}}),
        patch(NODE, {"spec": {"taints": [{"key": "a", "effect": "Odd"}]}}),
        patch(NODE, {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]}}),
        namespace=False,
    ),
    row(
        "a node's providerID is set once",
        first(post(s.NODES, s.node())),
        patch(NODE, {"spec": {"providerID": "a"}}),
        patch(NODE, {"spec": {"providerID": "b"}}),
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
        "the first namespaces cannot be deleted",
        delete(s.NAMESPACES + "/kube-system"),
        delete(s.NAMESPACES + "/default"),
        delete(s.NAMESPACES),
        namespace=False,
    ),
    row(
        "the first namespaces are there",
        get(
            s.NAMESPACES,
            view=lambda body: [
                one["metadata"]["name"]
                for one in body["items"]
                if one["metadata"]["name"] in ("default", "kube-node-lease", "kube-public", "kube-system")
            ],
        ),
        namespace=False,
    ),
    row(
        "a config map's keys have a form",
        post(s.CONFIG_MAPS, {"metadata": {"name": "one"}, "data": {"a b": "1"}}),
        post(s.CONFIG_MAPS, {"metadata": {"name": "two"}, "binaryData": {"a": "AAECAw=="}}),
        post(s.CONFIG_MAPS, {"metadata": {"name": "three"}, "immutable": True, "data": {"a": "1"}}),
        patch(s.CONFIG_MAPS + "/three", {"data": {"a": "2"}}),
    ),
    row(
        "a secret hides its texts",
        post("/api/v1/namespaces/{row}/secrets", {"metadata": {"name": "one"}, "stringData": {"a": "text"}}),
        post("/api/v1/namespaces/{row}/secrets", {"metadata": {"name": "two"}, "data": {"a": "not base64!"}}),
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
            "/apis/apps/v1/namespaces/{row}/deployments",
            {
                "metadata": {"name": "one"},
                "spec": {
                    "replicas": 2,
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"containers": [{"name": "c", "image": "i"}]},
                    },
                },
            },
            view=lambda body: [body["metadata"]["generation"], body["spec"]["replicas"]],
        ),
        patch(
            "/apis/apps/v1/namespaces/{row}/deployments/one/status",
            {"status": {"availableReplicas": 2, "readyReplicas": 2, "replicas": 2, "observedGeneration": 1}},
            view=lambda body: [body["metadata"]["generation"], body["status"]],
        ),
        patch(
            "/apis/apps/v1/namespaces/{row}/deployments/one",
            {"spec": {"replicas": 3}},
            view=lambda body: [body["metadata"]["generation"], body["status"]],
        ),
    ),
)
