"""What a release's version operator compares in each of our objects, at every look, with what the server has.

Where the two differ it writes its own again, and if that is for ever, it writes for ever. Sources, all
cluster-version-operator (release-4.22): kinds that it does not know by type are compared whole but for metadata and
status (pkg/cvo/internal/generic.go, applyUnstructured); the others by the parts below, after the defaults in `_filled`
(lib/resourceapply, lib/resourcemerge).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOT_COMPARED = {"apiVersion", "kind", "metadata", "status"}
_MERGED = {"Namespace", "ServiceAccount", "ConfigMap", "ClusterOperator"}
"""Of these only what we write has to be there."""
_PARTS = {
    "ClusterRole": ("rules", "aggregationRule"),
    "Role": ("rules",),
    "ClusterRoleBinding": ("subjects", "roleRef"),
    "RoleBinding": ("subjects", "roleRef"),
}
_OF_CONTAINER = ("command", "args", "env", "envFrom", "ports", "volumeMounts", "livenessProbe", "readinessProbe")
_OF_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def differences(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return where the server has something else than we wrote, and what the version operator would write again."""
    ours = {key: value for key, value in wanted.items() if key != "status"}
    return [*_differ(ours, found, wanted["kind"], exact=False), *_undone(wanted, found)]


def _undone(wanted: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    kind = wanted["kind"]
    if kind in _MERGED:
        return
    first, second = _compared(wanted), _compared(found)
    yield from _differ(first, second, kind, exact=True)


def _compared(one: dict[str, Any]) -> dict[str, Any]:
    kind = one["kind"]
    if kind in _PARTS:
        return {part: one.get(part) or [] for part in _PARTS[kind]}
    if kind == "Service":
        return {"ports": one["spec"]["ports"], "selector": one["spec"]["selector"]}
    if kind == "Deployment":
        return _of_deployment(_filled(one))
    return {key: value for key, value in one.items() if key not in _NOT_COMPARED}


def _of_deployment(one: dict[str, Any]) -> dict[str, Any]:
    spec = one["spec"]
    pod = spec["template"]["spec"]
    containers = {
        each["name"]: {part: each[part] for part in _OF_CONTAINER if part in each} for each in pod["containers"]
    }
    return {
        **{part: spec[part] for part in ("replicas", "selector", "strategy")},
        **{part: pod.get(part) or [] for part in ("volumes", "tolerations", "nodeSelector")},
        "containers": containers,
    }


def _filled(deployment: dict[str, Any]) -> dict[str, Any]:
    """Put in what the version operator itself puts in before it compares."""
    made = copy.deepcopy(deployment)
    pod = made["spec"]["template"]["spec"]
    for container in pod["containers"]:
        for variable in container["env"]:
            if field := variable.get("valueFrom", {}).get("fieldRef"):
                field.setdefault("apiVersion", "v1")
        for probe in ("livenessProbe", "readinessProbe"):
            container[probe] = {**_OF_PROBE, **container[probe]}
    for volume in pod["volumes"]:
        for source in ("secret", "configMap"):
            if source in volume:
                volume[source].setdefault("defaultMode", 0o644)
    return made


def _differ(wanted: Any, found: Any, path: str, *, exact: bool) -> Iterator[str]:
    """Say where they differ; with `exact` also what is found and not wanted."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in wanted:
            if key in found:
                yield from _differ(wanted[key], found[key], f"{path}.{key}", exact=exact)
            else:
                yield f"{path}.{key} is gone"
        if exact:
            yield from (f"{path}.{key} is added" for key in found if key not in wanted)
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for place, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from _differ(one, other, f"{path}[{place}]", exact=exact)
    elif wanted != found:
        yield f"{path} is {found!r}, not {wanted!r}"
