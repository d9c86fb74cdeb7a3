"""What clients ask before anything else: discovery, OpenAPI, version, health."""

from __future__ import annotations

from typing import Any

from simulator_tests.parity.table import get, row


def _resources(*names: str) -> Any:
    def view(body: dict[str, Any]) -> dict[str, Any]:
        found = {one["name"]: {k: v for k, v in one.items() if k != "storageVersionHash"} for one in body["resources"]}
        wanted = [name for name in found if not names or name.partition("/")[0] in names]
        kept = {name: found[name] for name in wanted if "/" not in name or name.endswith("/status")}
        return {**body, "resources": {name: {**one, "verbs": sorted(one["verbs"])} for name, one in kept.items()}}

    return view


def _group(name: str) -> Any:
    return lambda body: {
        "kind": body["kind"],
        "apiVersion": body["apiVersion"],
        "found": [one for one in body["groups"] if one["name"] == name],
    }


ROWS = (
    row(
        "the groups",
        get("/apis", view=_group("parity.example.com")),
        get("/apis", view=_group("coordination.k8s.io")),
        namespace=False,
    ),
    row(
        "the kinds of a custom group",
        get("/apis/parity.example.com/v1", view=_resources("widgets", "gadgets")),
        namespace=False,
    ),
    row(
        "a group version that is not there",
        get("/apis/parity.example.com/v9"),
        get("/apis/missing.example.com/v1"),
        get("/api/v9"),
        namespace=False,
    ),
    row(
        "the version",
        get(
            "/version",
            view=lambda body: [
                body["major"],
                sorted(body.keys() & {"major", "minor", "gitVersion", "platform", "goVersion"}),
            ],
        ),
        namespace=False,
    ),
)
