"""The scale sub-resource of a custom kind: how many replicas an object asks for, in the form of autoscaling/v1.

A definition says in which fields of its objects the numbers stand (`subresources.scale`). A Scale is made from an
object when it is read; a write of one is an update of that object which touches one field. Source:
apiextensions-apiserver pkg/registry/customresource/etcd.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import statuses

API_VERSION, KIND = "autoscaling/v1", "Scale"
_IDENTITY = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_LEAST = -(1 << 31)
_ANOTHER_KIND = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'


@dataclass(frozen=True, slots=True)
class Scaling:
    """Where the numbers of a kind stand: simple JSON paths, such as `.spec.replicas`; no selector is an empty path."""

    wanted: str
    present: str
    selector: str = ""

    def read(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return the Scale of an object. Raises StatusError 500 where it does not say how many it asks for."""
        wanted = _at(obj, self.wanted)
        if wanted is None:
            raise statuses.internal(f'the spec replicas field "{self.wanted}" does not exist')
        return self._scale(obj, wanted)

    def write(self, obj: dict[str, Any], scale: Any) -> dict[str, Any]:
        """Return the object with the number of replicas that a Scale asks for. Raises StatusError 400."""
        if not isinstance(scale, dict) or (scale.get("apiVersion"), scale.get("kind")) != (API_VERSION, KIND):
            raise statuses.bad_request(_ANOTHER_KIND)
        meta, name = scale.get("metadata") or {}, obj["metadata"]["name"]
        if meta.get("name", name) != name:
            raise statuses.bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
            )
        wanted = (scale.get("spec") or {}).get("replicas", 0)
        if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted == _LEAST:
            raise statuses.bad_request(f'the spec replicas field "{self.wanted}" cannot be empty')
        version = {"resourceVersion": meta["resourceVersion"]} if meta.get("resourceVersion") else {}
        return _with({**obj, "metadata": {**obj["metadata"], **version}}, self.wanted.split(".")[1:], wanted)

    def patchable(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return the Scale that a patch starts from; an object that asks for nothing yet has the least number."""
        wanted = _at(obj, self.wanted)
        return self._scale(obj, _LEAST if wanted is None else wanted)

    def _scale(self, obj: dict[str, Any], wanted: Any) -> dict[str, Any]:
        meta = {key: obj["metadata"][key] for key in _IDENTITY if key in obj["metadata"]}
        status = {"replicas": _at(obj, self.present) or 0}
        selector = _at(obj, self.selector) if self.selector else None
        if selector:
            status["selector"] = selector
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": meta,
            "spec": {"replicas": wanted},
            "status": status,
        }


def of(version: dict[str, Any]) -> Scaling | None:
    """Return where the numbers stand in the objects of one version of a definition; None: it is not scaled."""
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return None
    return Scaling(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath") or "")


def _at(obj: Any, path: str) -> Any:
    for name in path.split(".")[1:]:
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def _with(obj: dict[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    name, *rest = path
    return {**obj, name: _with(obj.get(name) or {}, rest, value) if rest else value}
