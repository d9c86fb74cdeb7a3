"""Strategic merge patches, which built-in kinds take: lists by their keys and as sets, and the directives."""

from __future__ import annotations

from typing import Any

from simulator_tests.parity import samples as s
from simulator_tests.parity import table as t
from simulator_tests.parity.table import first, patch, post, row

CM = s.CONFIG_MAPS + "/one"
NODE = s.NODES + "/{row}"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{row}/deployments"
DEPLOYMENT = DEPLOYMENTS + "/one"


def deployment(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [*containers], **spec}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "one"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }


def container(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": f"image-of-{name}", **more}


def _volume(volume: dict[str, Any]) -> Any:
    return {kind: sorted(part.keys() - {"defaultMode"}) for kind, part in volume.items() if kind != "name"}


def _pods(body: Any) -> Any:
    """Return what a patch could change of a deployment: the real server fills in much else."""
    spec = body["spec"]["template"]["spec"]
    shown = ("name", "image", "env", "ports", "args", "volumeMounts")
    return {
        "containers": [{name: one[name] for name in shown if name in one} for one in spec["containers"]],
        "volumes": {one["name"]: _volume(one) for one in spec.get("volumes", [])},
        "tolerations": spec.get("tolerations"),
        "nodeSelector": spec.get("nodeSelector") or None,
    }


def _patch(change: dict[str, Any], path: str = DEPLOYMENT, view: Any = _pods) -> t.Step:
    if path == DEPLOYMENT:
        change = {"spec": {"template": {"spec": change}}}
    return patch(path, change, t.STRATEGIC, view=view)


ROWS = (
    row(
        "a strategic merge patch of a built-in kind merges",
        first(post(s.CONFIG_MAPS, s.config_map(a="1", b="2"))),
        patch(CM, {"data": {"a": None, "c": "3"}}, t.STRATEGIC),
    ),
    row(
        "a strategic merge patch merges conditions by their type",
        first(post(s.NODES, s.node())),
        _patch({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, NODE + "/status", s.of_node),
        _patch({"status": {"conditions": [{"type": "DiskPressure", "status": "False"}]}}, NODE + "/status", s.of_node),
        _patch({"metadata": {"labels": {"a": "b"}}, "spec": {"unschedulable": True}}, NODE, s.of_node),
        namespace=False,
    ),
    row(
        "a strategic merge patch merges containers by their name",
        first(post(DEPLOYMENTS, deployment(container("x"), container("y"), container("z")))),
        _patch({"containers": [{"name": "y", "image": "other"}]}),
        _patch({"containers": [container("new")]}),
    ),
)
