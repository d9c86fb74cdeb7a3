"""What can be asked for: a `Resource` (a kind of object), and a `Selection` (which of them). Nothing is discovered.

Names may come from an object that others write, so every part of a path is checked and quoted here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib import parse

# The API server's own rule for a path segment: not empty, not "." or "..", no "/" and no "%"; no name is longer.
_SEGMENT = re.compile(r"(?!\.{1,2}\Z)[^/%?#\\\x00-\x20\x7f]{1,253}\Z")


def _quoted(text: str, what: str) -> str:
    if not _SEGMENT.match(text):
        raise ValueError(f"{what} {text[:60]!r} cannot be part of a path")
    return parse.quote(text, safe=":")


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object as the API serves it; `group` is "" for the core group."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = False

    @property
    def api_version(self) -> str:
        """What objects carry as `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def label(self) -> str:
        """`plural.group`, or `plural` in the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def version_path(self) -> str:
        """Where discovery lists the kinds of its group and version."""
        version = _quoted(self.version, "version")
        return f"/apis/{_quoted(self.group, 'group')}/{version}" if self.group else f"/api/{version}"

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """Return the quoted path on the server; raises ValueError for what cannot be in it, and a wrong namespace."""
        parts = [self.version_path]
        if namespace is not None:
            if not self.namespaced:
                raise ValueError(f"{self.label} has no namespaces, but {namespace!r} was given")
            parts.append(f"namespaces/{_quoted(namespace, 'namespace')}")
        elif self.namespaced and name is not None:
            raise ValueError(f"{self.label}/{name}: a namespace is needed")
        named = (("plural", self.plural), ("name", name), ("subresource", subresource))
        return "/".join((*parts, *(_quoted(text, what) for what, text in named if text is not None)))

    def describe(self, name: str | None = None, namespace: str | None = None) -> str:
        """Name the resource, or one object of it: `infrastructures.config.openshift.io/cluster`."""
        text = f"{self.label}/{name}" if name else self.label
        return f"{text} in namespace {namespace}" if namespace else text


@dataclass(frozen=True, slots=True)
class Selection:
    """What a list or a watch is about; `name` is a field selector, which access rules with resource names allow."""

    resource: Resource
    namespace: str | None = None
    name: str | None = None
    label_selector: str | None = None
    metadata_only: bool = False  # asks for PartialObjectMetadata
    page: int = 100  # objects
    optional: bool = False  # a server without this kind has none of these objects

    def describe(self) -> str:
        """Name the selection: `nodes (node-role.kubernetes.io/master=)`."""
        text = self.resource.describe(self.name, self.namespace)
        return f"{text} ({self.label_selector})" if self.label_selector else text

    __str__ = describe


def key_of(raw: object) -> tuple[str | None, str]:
    """Return (namespace, name) of a raw object; raises ValueError when it has no proper name."""
    metadata = raw.get("metadata") if isinstance(raw, dict) else None
    if not isinstance(metadata, dict):
        raise ValueError("an object without metadata")  # noqa: TRY004 - a wrong value from outside, not a wrong type in our code
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str) or not name:
        raise ValueError("an object without a name")
    if namespace is not None and not isinstance(namespace, str):
        raise ValueError(f"object {name!r} has a namespace that is not text")
    return namespace or None, name


def version_of(raw: object) -> str:
    """Return the resourceVersion of a raw object or list; raises ValueError when it has none."""
    metadata = raw.get("metadata") if isinstance(raw, dict) else None
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    if not isinstance(version, str) or not version:
        raise ValueError("no resourceVersion")
    return version


def is_older(version: str, than: str) -> bool:
    """Return whether one resourceVersion is older than another: they compare as integers (Kubernetes KEP-5504)."""
    if not (version.isascii() and version.isdigit() and than.isascii() and than.isdigit()):
        return False
    # As text: Python makes no number of more than 4,300 digits, and a server may send as many as it likes.
    mine, other = version.lstrip("0"), than.lstrip("0")
    return (len(mine), mine) < (len(other), other)
