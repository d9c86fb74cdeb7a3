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
    row("a refusal is no table", get(s.WIDGETS + "/missing", accept=t.TABLE)),
)
