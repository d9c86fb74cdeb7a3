"""What a client asks first: the version, the groups, and the kinds of each group version.

Served is the form that every client understands (`/api`, `/apis`, `/apis/GROUP/VERSION`); one that asks for aggregated
discovery first takes this in its place. All of it is computed from the registry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import requests

if TYPE_CHECKING:
    from . import resources

VERSION = {
    "major": "1",
    "minor": "33",
    "gitVersion": "v1.33.0+topology-simulator",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "CPython",
    "platform": "linux/amd64",
}
_VERSIONS = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
_STATUS_VERBS = ["get", "patch", "update"]


def _group_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


class Discovery:
    """Answers the discovery paths."""

    def __init__(self, registry: resources.Registry) -> None:
        self._registry = registry

    def knows(self, request: requests.Request) -> bool:
        """Return whether a path is one of discovery, whatever the method."""
        return self.answer(request) is not None

    def answer(self, request: requests.Request) -> tuple[str, Any] | None:
        """Return content type and value for a discovery path, or None for any other path."""
        parts = [part for part in request.path.split("/") if part]
        if parts and parts[0] in ("api", "apis"):
            requests.negotiate(request.headers.get("Accept", ""))
        if parts == ["version"]:
            return requests.JSON, VERSION
        if not parts:
            return requests.JSON, {"paths": ["/api", "/api/v1", "/apis", "/healthz", "/openapi/v3", "/version"]}
        if parts in (["api"], ["apis"]):
            return requests.JSON, _VERSIONS if parts == ["api"] else self._group_list()
        if parts[0] == "api" and len(parts) == 2:
            return self._resource_list("", parts[1])
        if parts[0] == "apis" and len(parts) == 2:
            versions = self._registry.groups().get(parts[1])
            if versions and parts[1]:
                return requests.JSON, {"kind": "APIGroup", "apiVersion": "v1", **self._group(parts[1], versions)}
        if parts[0] == "apis" and len(parts) == 3:
            return self._resource_list(parts[1], parts[2])
        return None

    def _group(self, group: str, versions: list[str]) -> dict[str, Any]:
        entries = [{"groupVersion": _group_version(group, version), "version": version} for version in versions]
        return {"name": group, "versions": entries, "preferredVersion": entries[0]}

    def _group_list(self) -> dict[str, Any]:
        groups = [self._group(group, versions) for group, versions in self._registry.groups().items() if group]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def _resource_list(self, group: str, version: str) -> tuple[str, Any] | None:
        kinds = self._registry.kinds_of(group, version)
        if not kinds:
            return None
        entries: list[dict[str, Any]] = []
        for kind in kinds:
            where = {"namespaced": kind.namespaced, "kind": kind.kind}
            names = {"name": kind.plural, "singularName": kind.singular}
            entries.append({**names, **where, "verbs": list(kind.verbs), **_further_names(kind)})
            for part in kind.subresources:
                names = {"name": f"{kind.plural}/{part}", "singularName": ""}
                entries.append({**names, **where, "verbs": _STATUS_VERBS})
        head = {"kind": "APIResourceList", **({"apiVersion": "v1"} if group else {})}
        return requests.JSON, {**head, "groupVersion": _group_version(group, version), "resources": entries}


def _further_names(kind: resources.Resource) -> dict[str, Any]:
    lists = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
    return {key: names for key, names in lists.items() if names}
