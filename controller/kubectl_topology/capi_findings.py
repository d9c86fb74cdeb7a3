"""Who owns the Cluster API definitions of a management cluster, and the dead ends that are known of them. Pure.

Two parties install CustomResourceDefinitions of *.cluster.x-k8s.io on one cluster: the cluster-capi-operator of the
platform, and HyperShift or multicluster engine. Each forces what it applies, so the last one wins. ClusterAPI `cluster`
(operator.openshift.io/v1alpha1, openshift/api operator/v1alpha1/types_clusterapi.go, 2026-08) lists the definitions
that the platform leaves alone; `hypershift install` writes that list, and no item ever leaves it.

An owner is a field manager of what every definition has: group, names, scope or versions. Who injects a certificate
into spec.conversion owns no definition. A forced apply of other versions takes spec.versions from the party before, but
not the rest, so two parties are seen also when only one of them has the versions now.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from topology_controller import shell
from topology_controller.observe import fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SUFFIX: Final = ".cluster.x-k8s.io"
CORE: Final = "cluster.x-k8s.io"
"""The group that Cluster API itself is: other groups are its providers', with versions of their own."""
NEEDED: Final = "v1beta2"
"""What cluster-capi-operator needs of CORE since OpenShift 4.22 (Cluster API 1.11 and later): without it its
controllers end with `no matches for kind "Cluster" in version "cluster.x-k8s.io/v1beta2"` (hypershift PR 8644)."""
PLATFORM: Final = "the platform"
_PARTIES: Final = {
    "cluster-version-operator": PLATFORM,
    "cluster-capi-operator": PLATFORM,
    "capi-installer": PLATFORM,
    "hypershift": "HyperShift",
    "hypershift-operator": "HyperShift",
    "backplane-operator": "multicluster engine",
}
"""Field managers that are one party, which may have written by several names over time.

Source: cluster-capi-operator pkg/operatorstatus, hypershift cmd/install, backplane-operator controllers (2026-08).
"""
_PLATFORM_PREFIX: Final = "capi-operator.openshift.io/"
_OWNED: Final = frozenset({"group", "names", "scope", "versions"})


class Finding(enum.StrEnum):
    """What is known to lead nowhere."""

    VERSION_MISSING = "CAPIVersionMissing"
    """A core definition of Cluster API is on the list of those that the platform leaves alone, and does not serve
    v1beta2, which the controllers of the platform's cluster-capi-operator need. They crash, and neither side repairs
    it: the platform may not touch the definition, and its owner does not know of the need (OCPBUGS-86792)."""

    TWO_OWNERS = "CAPITwoOwners"
    """Two parties apply the same definition, and each forces its own versions over those of the other. Objects that one
    of them has stored may become unreadable for the other."""

    STORED_VERSION_NOT_SERVED = "CAPIStoredVersionNotServed"
    """Objects may be stored in a version that is not served any more. The next update of the definition that leaves
    this version out is refused by the API server, until the objects are written anew and status.storedVersions does not
    list it."""

    UNMANAGED_ABSENT = "CAPIUnmanagedAbsent"
    """The list of those that the platform leaves alone names a definition that does not exist. That is no trouble: it
    may be listed before an upgrade brings it. Until its owner installs it, what needs it does not work."""


class Manager(NamedTuple):
    """A field manager of a definition's spec, and which parts of spec it has."""

    name: str
    operation: str
    parts: tuple[str, ...]

    @property
    def party(self) -> str | None:
        """Whom it belongs to, None when it owns no part that makes a definition."""
        if not _OWNED.intersection(self.parts):
            return None
        return PLATFORM if self.name.startswith(_PLATFORM_PREFIX) else _PARTIES.get(self.name, self.name)


class Incompatible(NamedTuple):
    """A CompatibilityRequirement that the definition does not meet."""

    requirement: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Definition:
    """A CustomResourceDefinition of Cluster API. `stored` is status.storedVersions."""

    name: str
    group: str
    served: tuple[str, ...]
    storage: str | None
    stored: tuple[str, ...]
    managers: tuple[Manager, ...]

    @property
    def parties(self) -> tuple[str, ...]:
        """Who owns it, each once."""
        return tuple(dict.fromkeys(party for manager in self.managers if (party := manager.party) is not None))


@dataclass(frozen=True, slots=True)
class Operator:
    """ClusterAPI `cluster`: what cluster-capi-operator leaves alone, and what it has applied."""

    unmanaged: tuple[str, ...]
    current_revision: str | None = None
    desired_revision: str | None = None


class Found(NamedTuple):
    """One finding about one definition. `command` shows it; nothing is changed by it."""

    finding: Finding
    definition: str
    message: str
    command: str


def definition(raw: Mapping[str, Any]) -> Definition:
    """Reduce a CustomResourceDefinition. Raises fields.Malformed."""
    versions = fields.items(raw, "spec.versions")
    return Definition(
        name=fields.name(raw),
        group=fields.text(raw, "spec.group") or "",
        served=tuple(_version(version) for version in versions if fields.flag(version, "served")),
        storage=next((_version(version) for version in versions if fields.flag(version, "storage")), None),
        stored=tuple(fields.items(raw, "status.storedVersions", str)),
        managers=tuple(_managers(fields.items(raw, "metadata.managedFields"))),
    )


def _version(raw: object) -> str:
    return fields.text(raw, "name") or "without a name"


def _managers(entries: Iterable[Mapping[str, Any]]) -> Iterator[Manager]:
    for entry in entries:
        owned = fields.mapping(entry, "fieldsV1").get("f:spec")
        if isinstance(owned, dict) and not fields.text(entry, "subresource"):
            parts = tuple(sorted(part.removeprefix("f:") for part in owned if part.startswith("f:")))
            yield Manager(fields.text(entry, "manager") or "unknown", fields.text(entry, "operation") or "", parts)


def operator(raw: Mapping[str, Any]) -> Operator:
    """Reduce ClusterAPI `cluster`. Raises fields.Malformed."""
    return Operator(
        unmanaged=tuple(fields.items(raw, "spec.unmanagedCustomResourceDefinitions", str)),
        current_revision=fields.text(raw, "status.currentRevision"),
        desired_revision=fields.text(raw, "status.desiredRevision"),
    )


def incompatible(raw: Mapping[str, Any]) -> tuple[str, Incompatible] | None:
    """The definition that a CompatibilityRequirement is about, and why it is not met; None when it is, or unknown.

    Source: openshift/api apiextensions/v1alpha1/types_compatibilityrequirement.go (2026-08). Raises fields.Malformed.
    """
    name = fields.text(raw, "status.crdName")
    for condition in fields.items(raw, "status.conditions"):
        if name and fields.text(condition, "type") == "Compatible" and fields.text(condition, "status") == "False":
            reason, message = fields.text(condition, "reason"), fields.text(condition, "message")
            return name, Incompatible(fields.name(raw), reason or "", message or "")
    return None


def findings(
    definitions: Iterable[Definition], capi: Operator | None, absent: Iterable[str], *, known: bool = True
) -> tuple[Found, ...]:
    """Every finding, in the order of `Finding`. `absent` are listed definitions that do not exist.

    `capi` is None where the platform has no such operator. With `known` false it is not known what is listed: then only
    what holds either way is found.
    """
    unmanaged = frozenset(() if capi is None else capi.unmanaged)
    every = [
        *(item for each in definitions for item in _about(each, unmanaged, known=known)),
        *(
            Found(
                Finding.UNMANAGED_ABSENT,
                name,
                "is listed in ClusterAPI cluster and does not exist",
                "oc get clusterapis.operator.openshift.io cluster -o yaml",
            )
            for name in absent
        ),
    ]
    order = list(Finding)
    return tuple(sorted(every, key=lambda item: order.index(item.finding)))


def _about(each: Definition, unmanaged: frozenset[str], *, known: bool) -> Iterator[Found]:
    show = shell.command("oc get crd {} -o yaml --show-managed-fields", each.name)
    is_listed = each.name in unmanaged
    if is_listed and each.group == CORE and NEEDED not in each.served:
        yield Found(
            Finding.VERSION_MISSING,
            each.name,
            f"serves {', '.join(each.served) or 'no version'}; the platform needs {NEEDED} and may not add it, because "
            "ClusterAPI cluster lists it as unmanaged",
            show,
        )
    # What the platform once applied to a definition that it leaves alone now counts no more.
    parties = [party for party in each.parties if party != PLATFORM or (known and not is_listed)]
    if len(parties) > 1:
        yield Found(Finding.TWO_OWNERS, each.name, f"is applied by {' and by '.join(parties)}", show)
    lost = [version for version in each.stored if version not in each.served]
    if lost:
        yield Found(
            Finding.STORED_VERSION_NOT_SERVED,
            each.name,
            f"has {', '.join(lost)} in status.storedVersions and serves {', '.join(each.served) or 'no version'}",
            shell.command("oc get crd {} -o jsonpath='{.status.storedVersions}'", each.name),
        )
