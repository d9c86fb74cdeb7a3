"""Strategic merge patches, which built-in kinds take: lists by their keys and as sets, and the directives."""

from __future__ import annotations

from typing import Any

from simulator_tests.parity import samples as s
from simulator_tests.parity import table as t
from simulator_tests.parity.table import first, get, patch, post, row

CM = s.CONFIG_MAPS + "/one"
NODE = s.NODES + "/{row}"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{row}/deployments"
DEPLOYMENT = DEPLOYMENTS + "/one"
SERVICES = "/api/v1/namespaces/{row}/services"


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


def _taints(body: Any) -> Any:
    return [body["spec"], body["metadata"].get("finalizers"), body["metadata"].get("ownerReferences")]


def _owners(body: Any) -> Any:
    return [
        {key: part for key, part in one.items() if key != "uid"} for one in body["metadata"].get("ownerReferences", [])
    ]


def _patch(change: dict[str, Any], path: str = DEPLOYMENT, view: Any = _pods) -> t.Step:
    if path == DEPLOYMENT:
        change = {"spec": {"template": {"spec": change}}}
    return patch(path, change, t.STRATEGIC, view=view)


def _owner(uid: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}


def _port(number: int, **more: Any) -> dict[str, Any]:
    return {"containerPort": number, "protocol": "TCP", **more}


ROWS = (
    row(
        "a strategic merge patch of a built-in kind merges",
        first(post(s.CONFIG_MAPS, s.config_map(a="1", b="2"))),
        patch(CM, {"data": {"a": None, "c": "3"}}, t.STRATEGIC),
    ),
    row(
        "a strategic merge patch merges conditions by their type",
        first(post(s.NODES, s.node())),
        patch(NODE + "/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, t.STRATEGIC),
        patch(NODE + "/status", {"status": {"conditions": [{"type": "DiskPressure", "status": "False"}]}}, t.STRATEGIC),
        patch(NODE, {"metadata": {"labels": {"a": "b"}}, "spec": {"unschedulable": True}}, t.STRATEGIC),
        namespace=False,
    ),
    row(
        "a strategic merge patch merges containers by their name",
        first(post(DEPLOYMENTS, deployment(container("x"), container("y"), container("z")))),
        _patch({"containers": [{"name": "y", "image": "other"}]}),
        _patch({"containers": [container("new")]}),
        _patch({"containers": [{"name": "z", "args": ["1"]}, {"name": "x", "args": ["2"]}]}),
        _patch({"containers": [container("last"), {"name": "y", "image": "again", "args": None}]}),
        _patch({"containers": [{"name": "new", "$patch": "delete"}, {"name": "missing", "$patch": "delete"}]}),
    ),
    row(
        "a strategic merge patch orders a list",
        first(post(DEPLOYMENTS, deployment(*(container(name) for name in "vwxyz")))),
        _patch({"$setElementOrder/containers": [{"name": "z"}, {"name": "v"}]}),
        _patch(
            {
                "$setElementOrder/containers": [{"name": "y"}, {"name": "new"}, {"name": "w"}],
                "containers": [container("new"), {"name": "w", "args": ["1"]}],
            }
        ),
        _patch({"$setElementOrder/volumes": [{"name": "x"}]}),
        _patch({"$setElementOrder/containers": [{"name": "x"}], "containers": [{"name": "x", "$patch": "delete"}]}),
    ),
    row(
        "a strategic merge patch replaces a list where it is told so",
        first(post(DEPLOYMENTS, deployment(container("x"), container("y")))),
        _patch({"containers": [{"$patch": "replace"}, container("new")]}),
        _patch(
            {"containers": [{"name": "new", "ports": [_port(80), _port(81)], "env": [{"name": "A", "value": "1"}]}]}
        ),
        _patch({"containers": [{"name": "new", "ports": [_port(81, name="p")], "env": [{"name": "B", "value": "2"}]}]}),
        _patch({"containers": [{"name": "new", "env": [{"$patch": "replace"}, {"name": "C", "value": "3"}]}]}),
        _patch({"containers": [{"name": "new", "env": None}]}),
    ),
    row(
        "a strategic merge patch replaces lists that have no key",
        first(post(DEPLOYMENTS, deployment(container("x", args=["1", "2"]), tolerations=[{"key": "a"}, {"key": "b"}]))),
        _patch({"containers": [{"name": "x", "args": ["3"]}], "tolerations": [{"key": "c", "operator": "Exists"}]}),
    ),
    row(
        "a strategic merge patch keeps the keys that it names of a volume",
        first(post(DEPLOYMENTS, deployment(container("x"), volumes=[{"name": "v", "emptyDir": {}}]))),
        _patch({"volumes": [{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c"}}]}),
        _patch({"volumes": [{"name": "v", "$retainKeys": ["name"], "emptyDir": {}}]}, view=lambda body: body),
    ),
    row(
        "a strategic merge patch replaces or empties an object",
        first(post(DEPLOYMENTS, deployment(container("x"), nodeSelector={"a": "1", "b": "2"}))),
        _patch({"nodeSelector": {"c": "3", "a": None}}),
        _patch({"nodeSelector": {"$patch": "replace", "d": "4"}}),
        _patch({"nodeSelector": {"$patch": "delete"}}),
    ),
    row(
        "a strategic merge patch merges plain values as a set",
        first(post(s.NODES, s.meta(s.node(), finalizers=["example.com/a", "example.com/b"]))),
        _patch({"metadata": {"finalizers": ["example.com/c", "example.com/a"]}}, NODE, _taints),
        _patch({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}, NODE, _taints),
        _patch(
            {
                "metadata": {
                    "$deleteFromPrimitiveList/finalizers": ["example.com/b"],
                    "$setElementOrder/finalizers": ["example.com/d", "example.com/c"],
                    "finalizers": ["example.com/d"],
                }
            },
            NODE,
            _taints,
        ),
        _patch({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, NODE, _taints),
        _patch({"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}}, NODE, _taints),
        _patch({"spec": {"taints": None, "unschedulable": True}}, NODE, _taints),
        _patch({"metadata": {"finalizers": None}}, NODE, _taints),
        namespace=False,
    ),
    row(
        "a strategic merge patch merges owners by their uid",
        first(post(s.CONFIG_MAPS, s.config_map("owner")), "o"),
        first(post(s.CONFIG_MAPS, s.config_map())),
        _patch({"metadata": {"ownerReferences": [_owner("{o.metadata.uid}", "owner")]}}, CM, _owners),
        _patch({"metadata": {"ownerReferences": [{"uid": "{o.metadata.uid}", "controller": True}]}}, CM, _owners),
        _patch({"metadata": {"ownerReferences": [{"uid": "{o.metadata.uid}", "$patch": "delete"}]}}, CM, _owners),
    ),
    row(
        "a strategic merge patch that is no object is refused",
        first(post(s.CONFIG_MAPS, s.config_map())),
        patch(CM, [1], t.STRATEGIC),
        patch(CM, "7", t.STRATEGIC),
        patch(CM, {"metadata": {"$deleteFromPrimitiveList/finalizers": "a"}}, t.STRATEGIC, view=lambda body: body),
        patch(CM, {"nothing": {"a": 1}, "data": {"a": "1"}}, t.STRATEGIC),
        get(CM),
    ),
    row(
        "a strategic merge patch with an old resourceVersion is a conflict",
        first(post(s.CONFIG_MAPS, s.config_map(a="1")), "c"),
        first(patch(CM, {"data": {"a": "2"}})),
        patch(CM, {"metadata": {"resourceVersion": "{c.metadata.resourceVersion}"}, "data": {"a": "3"}}, t.STRATEGIC),
        patch(CM, {"data": {"a": "4"}}, t.STRATEGIC, dryRun="All"),
        get(CM),
    ),
    row(
        "a strategic merge patch of a definition",
        patch(
            s.DEFINITIONS + "/" + s.WIDGET["metadata"]["name"],
            {"metadata": {"annotations": {"a": None}}},
            t.STRATEGIC,
            view=lambda body: body["kind"],
        ),
        namespace=False,
    ),
)
