"""The scale sub-resource of a custom kind: how many replicas an object asks for, in the form of autoscaling/v1.

A definition says in which fields of its objects the numbers stand (`subresources.scale`). A Scale is made from an
object when it is read; a write of one is an update of that object which touches one field. Source:
apiextensions-apiserver pkg/registry/customresource/etcd.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

API_VERSION, KIND = "autoscaling/v1", "Scale"
_IDENTITY = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_LEAST = -(1 << 31)


class ScaleError(ValueError):
    """An object that does not say how many it asks for, or a body that is no Scale of it."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """Where the numbers of a kind stand: simple JSON paths, such as `.spec.replicas`; no selector is an empty path."""

    wanted: str
    present: str
    selector: str = ""

    def read(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return the Scale of an object. Raises ScaleError where it does not say how many it asks for."""
        wanted = _at(obj, self.wanted)
        if wanted is None:
            raise ScaleError(f'the spec replicas field "{self.wanted}" does not exist')
        return self._scale(obj, wanted)

    def write(self, obj: dict[str, Any], scale: Any) -> dict[str, Any]:
        """Return the object with the number of replicas that a Scale asks for. Raises ScaleError."""
        if not isinstance(scale, dict) or (scale.get("apiVersion"), scale.get("kind")) != (API_VERSION, KIND):
            raise ScaleError(f"the body is not a {KIND} of {API_VERSION}")
        wanted = (scale.get("spec") or {}).get("replicas", 0)
        if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted == _LEAST:
            raise ScaleError(f'the spec replicas field "{self.wanted}" cannot be empty')
        version = (scale.get("metadata") or {}).get("resourceVersion")
        meta = {**obj["metadata"], **({"resourceVersion": version} if version else {})}
        return _with({**obj, "metadata": meta}, self.wanted.split(".")[1:], wanted)

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


def scaling(version: dict[str, Any]) -> Scaling | None:
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
