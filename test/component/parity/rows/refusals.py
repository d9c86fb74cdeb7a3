"""What is refused before anybody looks at an object: paths, methods, media types, bodies, credentials."""

from __future__ import annotations

from test.component.parity import samples as s
from test.component.parity.table import delete, first, get, other, post, put, row

ROWS = (
    row(
        "a path that nothing serves",
        get("/nothing"),
        get("/apis/missing.example.com/v1/things"),
        get("/apis/parity.example.com/v1/missing"),
        get("/api/v1/missing"),
        get("/apis/coordination.k8s.io/v1/missing"),
        get("/apis/parity.example.com/v9/widgets"),
        post("/nothing", {}),
        namespace=False,
    ),
    row(
        "a sub-resource that is not there",
        first(post(s.WIDGETS, s.widget())),
        get(s.WIDGETS + "/one/missing"),
        get(s.WIDGETS + "/one/scale"),
        get(s.CONFIG_MAPS + "/one/status"),
        get(s.WIDGETS + "/one/status/more"),
    ),
    row(
        "the scope of a kind is part of its path",
        get(f"{s.BASE}/widgets/one"),
        get(f"{s.BASE}/namespaces/x/gadgets"),
        get("/api/v1/namespaces/x/nodes"),
        get("/api/v1/configmaps/one"),
        post(f"{s.BASE}/widgets", s.widget()),
        post("/api/v1/configmaps", s.config_map()),
        namespace=False,
    ),
    row(
        "a method that a kind does not have",
        put(s.WIDGETS, s.widget()),
        put(s.CONFIG_MAPS, s.config_map()),
        get("/apis/authorization.k8s.io/v1/subjectaccessreviews"),
        delete("/apis/authorization.k8s.io/v1/subjectaccessreviews/x"),
        other("OPTIONS", s.WIDGETS),
        post(s.NODES + "/x", s.node("x")),
    ),
    row(
        "malformed JSON",
        post(s.WIDGETS, "{not json"),
        post(s.WIDGETS, ""),
        post(s.WIDGETS, "[]"),
        post(s.WIDGETS, "7"),
        post(s.WIDGETS, "null"),
        post(s.WIDGETS, '{"a":1} trailing'),
        post(s.CONFIG_MAPS, "{not json"),
        post(s.CONFIG_MAPS, ""),
        post(s.CONFIG_MAPS, "[]"),
        put(s.CONFIG_MAPS + "/one", "{not json"),
    ),
    row(
        "malformed YAML",
        post(s.WIDGETS, "a: [", media="application/yaml"),
        post(s.CONFIG_MAPS, "a: [", media="application/yaml"),
    ),
    row(
        "bodies of an unknown type",
        post(s.WIDGETS, s.widget(), media="text/plain"),
        post(s.CONFIG_MAPS, s.config_map(), media="text/plain"),
        post(s.WIDGETS, s.widget(), media="application/xml"),
        post(s.WIDGETS, s.widget("two"), media="application/json; charset=utf-8"),
        put(s.WIDGETS + "/one", s.widget(), media="text/plain"),
    ),
    row("a body without a type is JSON", post(s.WIDGETS, s.widget(), media="")),
    row(
        "a body that is too large",
        post(s.WIDGETS, s.widget(free={"a": "x" * 3_200_000})),
        post(s.CONFIG_MAPS, s.config_map(a="x" * 3_200_000)),
    ),
    row(
        "a large object that etcd does not take",
        post(s.CONFIG_MAPS, s.config_map(a="x" * 1_100_000)),
        post(s.WIDGETS, s.widget(free={"a": "x" * 1_600_000})),
    ),
    row(
        "without credentials",
        get(s.NODES, headers={"Authorization": "Bearer wrong"}),
        get("/apis", headers={"Authorization": "Bearer wrong"}),
        get("/nothing", headers={"Authorization": "Bearer wrong"}),
        namespace=False,
    ),
    row(
        "unknown query parameters do not matter",
        get(s.WIDGETS, nonsense="1"),
        post(s.WIDGETS, s.widget(), nonsense="1", pretty="true"),
    ),
    row(
        "a trailing slash",
        get(s.WIDGETS + "/"),
        get("/api/", view=lambda body: body["kind"]),
        get("/apis/", view=lambda body: body["kind"]),
        get("//api/v1/nodes/{row}"),
    ),
    row("an empty name", get("/api/v1/namespaces//configmaps", view=lambda body: body["kind"]), namespace=False),
    row(
        "a name with a strange form",
        get(s.WIDGETS + "/a%20b"),
        get(s.WIDGETS + "/a%2Fb"),
        get(s.CONFIG_MAPS + "/..%2Fx"),
    ),
)
