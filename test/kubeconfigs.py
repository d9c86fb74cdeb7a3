"""Writes kubeconfigs for tests: one cluster, one user, one context."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pathlib


def written(path: pathlib.Path, server: str, user: dict[str, Any] | None = None, **cluster: Any) -> pathlib.Path:
    """Write a kubeconfig for this server and user, and return its path. `cluster` are more fields of the cluster."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user or {}}],
    }
    path.write_text(json.dumps(content))
    return path
