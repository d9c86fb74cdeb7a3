"""What is refused before anybody looks at an object: paths, methods, media types, bodies, credentials."""

from __future__ import annotations

from simulator_tests.parity import samples as s
from simulator_tests.parity.table import get, post, put, row

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
        "a method that a kind does not have",
        put(s.CONFIG_MAPS, s.config_map()),
        get("/apis/authorization.k8s.io/v1/subjectaccessreviews"),
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
        "bodies of an unknown type",
        post(s.WIDGETS, s.widget(), media="text/plain"),
        post(s.CONFIG_MAPS, s.config_map(), media="text/plain"),
        post(s.WIDGETS, s.widget(), media="application/xml"),
        post(s.WIDGETS, s.widget("two"), media="application/json; charset=utf-8"),
        put(s.WIDGETS + "/one", s.widget(), media="text/plain"),
    ),
    row(
        "without credentials",
        get(s.NODES, headers={"Authorization": "Bearer wrong"}),
        get("/apis", headers={"Authorization": "Bearer wrong"}),
        get("/nothing", headers={"Authorization": "Bearer wrong"}),
        namespace=False,
    ),
)
