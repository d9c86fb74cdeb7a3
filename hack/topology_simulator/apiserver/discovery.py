"""What a client asks first: the version, the groups, and the kinds of each group version.

Served is the form that every client understands (`/api`, `/apis`, `/apis/GROUP/VERSION`); one that asks for aggregated
discovery first takes this in its place. All of it is computed from the registry.
"""

from __future__ import annotations

from typing import Any

from . import requests, resources

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


def answer(registry: resources.Registry, request: requests.Request) -> Any:
    """Return the value for a discovery path, whatever the method, or None for any other path."""
    parts = [part for part in request.path.split("/") if part]
    if parts and parts[0] in ("api", "apis"):
        requests.negotiate(request.headers.get("Accept", ""))
    if parts == ["version"]:
        return VERSION
    if not parts:
        return {"paths": ["/api", "/api/v1", "/apis", "/healthz", "/openapi/v3", "/version"]}
    if parts == ["api"]:
        return _VERSIONS
    if parts == ["apis"]:
        groups = [_group(group, versions) for group, versions in registry.groups().items() if group]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    if parts[0] == "api" and len(parts) == 2:
        return _resource_list(registry, "", parts[1])
    if parts[0] == "apis" and len(parts) == 2:
        versions = registry.groups().get(parts[1])
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(parts[1], versions)} if versions else None
    if parts[0] == "apis" and len(parts) == 3:
        return _resource_list(registry, parts[1], parts[2])
    return None


def _group(group: str, versions: list[str]) -> dict[str, Any]:
    entries = [{"groupVersion": _group_version(group, version), "version": version} for version in versions]
    return {"name": group, "versions": entries, "preferredVersion": entries[0]}


def _resource_list(registry: resources.Registry, group: str, version: str) -> dict[str, Any] | None:
    kinds = registry.kinds_of(group, version)
    if not kinds:
        return None
    entries: list[dict[str, Any]] = []
    for kind in kinds:
        where = {"namespaced": kind.namespaced, "kind": kind.kind}
        names = {"name": kind.plural, "singularName": kind.singular}
        lists = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
        further = {key: given for key, given in lists.items() if given}
        entries.append({**names, **where, "verbs": list(kind.verbs), **further})
        for part in kind.subresources:
            names = {"name": f"{kind.plural}/{part}", "singularName": ""}
            entries.append({**names, **where, "verbs": _STATUS_VERBS})
    head = {"kind": "APIResourceList", **({"apiVersion": "v1"} if group else {})}
    return {**head, "groupVersion": _group_version(group, version), "resources": entries}
