"""What the manifests grant, taken apart: one verb on one resource, for one name where it is limited to one.

Read from the rendered manifests and nothing else, so that a rule which is added later is there by itself: the test of
the whole path then asks who uses it, and the test of missing rights what it is for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

import operand_rights
from topology_deploy import manifests

if TYPE_CHECKING:
    from collections.abc import Iterable

    from topology_simulator.envtest import audit

RBAC = "rbac.authorization.k8s.io"
_ROLES = ("ClusterRole", "Role")


@dataclass(frozen=True, slots=True)
class Grant:
    """One verb on one resource. `namespace` "" is the whole cluster, `name` "" is any name."""

    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str

    def __str__(self) -> str:
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        where = f"@{self.namespace}" if self.namespace else ""
        return f"{self.verb} {what}{f'={self.name}' if self.name else ''}{where}"

    @property
    def object(self) -> str:
        """The same without the verb: what it is about."""
        return str(self).partition(" ")[2]

    @property
    def what(self) -> str:
        """How the operator names the object in its messages."""
        text = f"{self._label}/{self.name}" if self.name else self._label
        return f"{text} in namespace {self.namespace}" if self.namespace else text

    @property
    def key(self) -> str:
        """How the operator names it where it speaks of operands."""
        return "/".join(part for part in (self._label, self.namespace, self.name) if part)

    @property
    def _label(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource

    def covers(self, event: audit.Event) -> bool:
        """Is this the right that the request needed?"""
        return (event.verb, event.group, event.resource, event.subresource) == (
            self.verb, self.group, self.resource, self.subresource,
        ) and self.namespace in ("", event.namespace) and self.name in ("", event.name)  # fmt: skip

    def rule(self) -> dict[str, Any]:
        """The rule that grants this and nothing else."""
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        made = {"apiGroups": [self.group], "resources": [resource], "verbs": [self.verb]}
        return {**made, "resourceNames": [self.name]} if self.name else made

    def attributes(self) -> dict[str, str]:
        """The same as the resourceAttributes of a SubjectAccessReview."""
        named = {"group": self.group, "resource": self.resource, "subresource": self.subresource, "name": self.name}
        return {"verb": self.verb, "namespace": self.namespace, **named}


def rendered() -> list[dict[str, Any]]:
    """Every object of the manifests."""
    return [one for one in yaml.load_all(manifests.render(monitoring=False), yaml.CSafeLoader) if one]


def roles() -> list[dict[str, Any]]:
    """The roles among them, in their order; not those for others, which are bound to nobody."""
    found = rendered()
    bound = {_place(one, one["roleRef"]["name"]) for one in found if "roleRef" in one}
    return [one for one in found if one["kind"] in _ROLES and _place(one, one["metadata"]["name"]) in bound]


def _place(one: dict[str, Any], name: str) -> tuple[str, str]:
    return one["metadata"].get("namespace", ""), name


def of(role: dict[str, Any]) -> list[Grant]:
    """Take one role apart."""
    namespace = role["metadata"].get("namespace", "")
    found = []
    for rule in role["rules"] or ():
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                plural, _, subresource = resource.partition("/")
                names = rule.get("resourceNames") or [""]
                found += [
                    Grant(verb, group, plural, subresource, namespace, name) for verb in rule["verbs"] for name in names
                ]
    return found


ALL = tuple(grant for role in roles() for grant in of(role))
OPERANDS = tuple(grant for role in roles() if role["metadata"]["name"] == operand_rights.NAME for grant in of(role))
"""Those that are made from the operand matrix."""


def without(role: dict[str, Any], missing: Iterable[Grant]) -> dict[str, Any]:
    """The same role, less these."""
    gone = set(missing)
    return {**role, "rules": [grant.rule() for grant in of(role) if grant not in gone]}
