"""Tables: what `kubectl get` prints."""

from __future__ import annotations

from typing import Any

from simulator_tests.parity import samples as s
from simulator_tests.parity import table as t
from simulator_tests.parity.table import delete, first, get, patch, post, row

MADE = (
    first(post(s.WIDGETS, s.widget("a", size=3, ratio=0.5, on=True, moment="{long_ago}", tags=["x", "y"]))),
    first(patch(s.WIDGETS + "/a/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})),
    first(post(s.WIDGETS, s.widget("b"))),
)
NODE = {
    **s.node(**{"node-role.kubernetes.io/control-plane": "", "node-role.kubernetes.io/master": "", "parity": "{row}"})
}
READY = {
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
        "nodeInfo": {
            "kubeletVersion": "v1.33.0",
            "osImage": "OS",
            "kernelVersion": "6",
            "containerRuntimeVersion": "cri-o://1",
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    }
}


def _cells(body: dict[str, Any]) -> list[Any]:
    return [one["cells"] for one in body["rows"]]


def _headers(body: dict[str, Any]) -> list[Any]:
    return [{name: one[name] for name in ("name", "type", "format", "priority")} for one in body["columnDefinitions"]]


def _plain(body: dict[str, Any]) -> dict[str, Any]:
    """Return a table without what its columns are described by: prose."""
    headers = body["columnDefinitions"] or []
    return {**body, "columnDefinitions": [{**one, "description": bool(one["description"])} for one in headers]}


def _both(body: dict[str, Any]) -> dict[str, Any]:
    return {"headers": _headers(body), "cells": _cells(body), "kind": body["kind"]}


ROWS = (
    row("the columns of a definition make a table", *MADE, get(s.WIDGETS, accept=t.TABLE, view=_plain)),
    row("one object makes a table of one row", *MADE, get(s.WIDGETS + "/a", accept=t.TABLE, view=_plain)),
    row(
        "a table's rows carry what includeObject says",
        *MADE,
        get(s.WIDGETS + "/b", accept=t.TABLE, includeObject="None", view=_plain),
        get(s.WIDGETS + "/b", accept=t.TABLE, includeObject="Object", view=_plain),
        get(s.WIDGETS + "/b", accept=t.TABLE, includeObject="Wrong"),
    ),
    row(
        "without columns there are name and age",
        first(post(s.GADGETS, s.gadget())),
        get(s.GADGETS + "/{row}", accept=t.TABLE, view=_plain),
        namespace=False,
    ),
    row(
        "a table in pages",
        *MADE,
        get(
            s.WIDGETS,
            accept=t.TABLE,
            limit=1,
            view=lambda body: {"kind": "Table", "metadata": body["metadata"], "cells": _cells(body)},
        ),
    ),
    row(
        "the columns of nodes",
        first(post(s.NODES, NODE)),
        first(patch(s.NODES + "/{row}/status", READY)),
        get(s.NODES, accept=t.TABLE, labelSelector="parity={row}", view=_both),
        first(patch(s.NODES + "/{row}", {"spec": {"unschedulable": True}})),
        get(s.NODES + "/{row}", accept=t.TABLE, view=_both),
        first(delete(s.NODES + "/{row}")),
        namespace=False,
    ),
    row("the columns of namespaces", get(s.NAMESPACES + "/{row}", accept=t.TABLE, view=_both)),
    row(
        "the columns of config maps",
        first(post(s.CONFIG_MAPS, s.config_map(a="1", b="2"))),
        get(s.CONFIG_MAPS + "/one", accept=t.TABLE, view=_both),
    ),
    row(
        "the columns of secrets",
        first(post("/api/v1/namespaces/{row}/secrets", {"metadata": {"name": "one"}, "stringData": {"a": "1"}})),
        get("/api/v1/namespaces/{row}/secrets/one", accept=t.TABLE, view=_both),
    ),
    row(
        "the columns of leases",
        first(post(s.LEASES, s.lease(holderIdentity="me"))),
        get(s.LEASES + "/one", accept=t.TABLE, view=_both),
    ),
    row(
        "the columns of events",
        first(post(s.DEFAULT_EVENTS, s.event())),
        get(s.DEFAULT_EVENTS + "/{row}", accept=t.TABLE, view=_headers),
        get("/api/v1/namespaces/default/events/{row}", accept=t.TABLE, view=_headers),
        get(s.DEFAULT_EVENTS + "/{row}", accept=t.TABLE, view=lambda body: body["rows"][0]["cells"][1:7]),
    ),
    row(
        "the columns of definitions",
        get(s.DEFINITIONS + "/widgets.parity.example.com", accept=t.TABLE, view=_both),
        namespace=False,
    ),
    row("the columns of deployments", get("/apis/apps/v1/namespaces/{row}/deployments", accept=t.TABLE, view=_both)),
    row("the columns of pods", get("/api/v1/namespaces/{row}/pods", accept=t.TABLE, view=_both)),
    row("a refusal is no table", get(s.WIDGETS + "/missing", accept=t.TABLE)),
)
