"""`audit --capi`: who owns each Cluster API definition of a management cluster, and the dead ends that are known.

Two parties install CustomResourceDefinitions of *.cluster.x-k8s.io on one cluster: the cluster-capi-operator of the
platform, and HyperShift or multicluster engine. Each forces what it applies, so the last one wins. ClusterAPI `cluster`
(openshift/api operator/v1alpha1/types_clusterapi.go, 2026-08) lists the definitions that the platform leaves alone.

An owner is a field manager of what every definition has: group, names, scope or versions. A forced apply of other
versions takes spec.versions from the party before, but not the rest, so two parties are seen also when only one of them
has the versions now. All but `read` is pure, and nothing is written.
"""

from __future__ import annotations

import asyncio
import enum
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypedDict

from topology_controller import shell
from topology_controller.kube import errors as kube
from topology_controller.kube import resource as resources
from topology_controller.observe import catalog, facts, fields, live

from . import answers, cluster, errors, sections

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_CLUSTER_APIS = resources.Resource("operator.openshift.io", "v1alpha1", "clusterapis", "ClusterAPI")
_REQUIREMENTS = resources.Resource(
    "apiextensions.openshift.io", "v1alpha1", "compatibilityrequirements", "CompatibilityRequirement"
)
CORE: Final = "cluster.x-k8s.io"
"""The group that Cluster API itself is: other groups are its providers', with versions of their own."""
NEEDED: Final = "v1beta2"
"""What cluster-capi-operator needs of CORE since OpenShift 4.22 (Cluster API 1.11 and later): without it its
controllers end with `no matches for kind "Cluster" in version "cluster.x-k8s.io/v1beta2"` (hypershift PR 8644)."""
PLATFORM: Final = "the platform"
_PARTIES: Final = {
    **dict.fromkeys(("cluster-version-operator", "cluster-capi-operator", "capi-installer"), PLATFORM),
    **dict.fromkeys(("hypershift", "hypershift-operator"), "HyperShift"),
    "backplane-operator": "multicluster engine",
}
"""Field managers that are one party, which may have written by several names over time. Source: cluster-capi-operator
pkg/operatorstatus, hypershift cmd/install, backplane-operator controllers (2026-08)."""


class DeadEnd(enum.StrEnum):
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


class Manager(TypedDict):
    """A field manager of a definition's spec: which parts it has, and whose it is (None: it owns no definition)."""

    name: str
    operation: str
    parts: list[str]
    party: str | None


class Requirement(TypedDict):
    """A CompatibilityRequirement that is not met."""

    name: str
    reason: str
    message: str


class Definition(TypedDict):
    """A definition. `unmanaged` says whether the platform leaves it alone; None when that could not be read.

    `storage` is the version that objects are stored in, `stored` those that they may be stored in.
    """

    name: str
    group: str
    served: list[str]
    storage: str | None
    stored: list[str]
    managers: list[Manager]
    unmanaged: bool | None
    incompatible: list[Requirement]


class Platform(TypedDict):
    """What the platform's cluster-capi-operator says; `present` is None when it could not be read."""

    present: bool | None
    currentRevision: str | None
    desiredRevision: str | None
    unmanaged: list[str] | None


class Finding(TypedDict):
    """What leads nowhere. One that is `informational` does not change the exit code. `command` shows it, no more."""

    name: Annotated[str, DeadEnd]
    definition: str
    message: str
    command: str
    informational: bool


class Audit(answers.Answer):
    """`audit --capi`: the definitions, who owns them, and what is known to lead nowhere.

    Inconsistent: there is a finding, exit code 3. CannotTell: there is none, and something could not be read; exit
    code 1.
    """

    verdict: answers.Ownership
    platform: Platform
    definitions: list[Definition]
    findings: list[Finding]
    unread: list[answers.Unread]


class Reading(NamedTuple):
    """What was read. Of `requirements` each stands with the name of the definition that it is about."""

    infrastructure: facts.Infrastructure
    names: frozenset[str]
    definitions: tuple[Definition, ...]
    platform: Platform
    requirements: tuple[tuple[str, Requirement], ...]
    unread: tuple[answers.Unread, ...]
    now: datetime


def definition(raw: Mapping[str, Any]) -> Definition:
    """Reduce a CustomResourceDefinition, of which nothing else is known yet. Raises fields.Malformed."""
    versions = fields.items(raw, "spec.versions")
    return {
        "name": fields.name(raw),
        "group": fields.text(raw, "spec.group") or "",
        "served": [_version(version) for version in versions if fields.flag(version, "served")],
        "storage": next((_version(version) for version in versions if fields.flag(version, "storage")), None),
        "stored": list(fields.items(raw, "status.storedVersions", str)),
        "managers": list(_managers(fields.items(raw, "metadata.managedFields"))),
        "unmanaged": None,
        "incompatible": [],
    }


def _version(raw: object) -> str:
    return fields.text(raw, "name") or "without a name"


def _managers(entries: Iterable[Mapping[str, Any]]) -> Iterator[Manager]:
    for entry in entries:
        owned = fields.mapping(entry, "fieldsV1").get("f:spec")
        if isinstance(owned, dict) and not fields.text(entry, "subresource"):
            parts = sorted(part.removeprefix("f:") for part in owned if part.startswith("f:"))
            name, party = fields.text(entry, "manager") or "unknown", None
            if not {"group", "names", "scope", "versions"}.isdisjoint(parts):
                party = PLATFORM if name.startswith("capi-operator.openshift.io/") else _PARTIES.get(name, name)
            operation = fields.text(entry, "operation") or ""
            yield {"name": name, "operation": operation, "parts": parts, "party": party}


def platform(raw: Mapping[str, Any]) -> Platform:
    """Reduce ClusterAPI `cluster`. Raises fields.Malformed."""
    return {
        "present": True,
        "currentRevision": fields.text(raw, "status.currentRevision"),
        "desiredRevision": fields.text(raw, "status.desiredRevision"),
        "unmanaged": list(fields.items(raw, "spec.unmanagedCustomResourceDefinitions", str)),
    }


def incompatible(raw: Mapping[str, Any]) -> tuple[str, Requirement] | None:
    """The definition that a CompatibilityRequirement is about, and why it is not met; None when it is, or unknown."""
    # Source: openshift/api apiextensions/v1alpha1/types_compatibilityrequirement.go (2026-08).
    name = fields.text(raw, "status.crdName")
    for condition in fields.items(raw, "status.conditions"):
        if name and fields.text(condition, "type") == "Compatible" and fields.text(condition, "status") == "False":
            reason, message = fields.text(condition, "reason") or "", fields.text(condition, "message") or ""
            return name, {"name": fields.name(raw), "reason": reason, "message": message}
    return None


async def read(connection: cluster.Connection) -> Reading:
    """Read everything. Raises PluginError when the cluster, or its list of definitions, cannot be read."""
    infrastructure = await cluster.whole(connection)
    client = connection.client
    try:
        definitions = resources.Selection(catalog.CRDS, metadata_only=True, page=500)
        keys = await client.list(definitions, resources.key_of, timeout=client.request_timeout)
    except kube.KubeError as error:
        raise cluster.explained(connection, error) from error
    except ValueError as error:
        raise errors.PluginError(f"the list of {catalog.CRDS.label} makes no sense: {error}") from error
    names = frozenset(name for _, name in keys.items)
    wanted = sorted(name for name in names if name.endswith(".cluster.x-k8s.io"))
    sources = [catalog.Source(resources.Selection(catalog.CRDS, name=name), definition) for name in wanted]
    served = bool(wanted) and _CLUSTER_APIS.label in names
    sources += [catalog.Source(resources.Selection(_CLUSTER_APIS, name="cluster"), platform)] if served else []
    unread: list[answers.Unread] = []
    lanes = asyncio.Semaphore(4)

    async def read_fact(source: catalog.Source) -> Any:
        async with lanes:
            fact = await live.read(client, source)
        if isinstance(fact, facts.Unobserved) and not fact.missing:
            unread.append(cluster.with_right(fact, source.selection)[1])
        return fact

    answered = await asyncio.gather(*map(read_fact, sources))
    operator = answered.pop() if served else None
    requirements: tuple[tuple[str, Requirement] | None, ...] = ()
    if wanted and _REQUIREMENTS.label in names:
        what, selection = _REQUIREMENTS.describe(), resources.Selection(_REQUIREMENTS, page=10)
        try:
            # Each has a whole definition in it, up to 1.5 MiB.
            requirements = (await client.list(selection, incompatible)).items
        except (kube.KubeError, ValueError) as error:
            fact = live.unobserved(what, error) if isinstance(error, kube.KubeError) else fields.malformed(what, error)
            unread.append(cluster.with_right(fact, selection)[1])
    return Reading(
        infrastructure,
        names,
        tuple(fact for fact in answered if not isinstance(fact, facts.Unobserved)),
        _unread_platform(operator) if operator is None or isinstance(operator, facts.Unobserved) else operator,
        tuple(item for item in requirements if item is not None),
        tuple(sorted(unread, key=lambda item: item["what"])),
        datetime.now(UTC),
    )


def _unread_platform(fact: facts.Unobserved | None) -> Platform:
    """The platform without its object, which is missing or could not be read; None: its kind is not served."""
    absent = fact is None or fact.missing
    listed: list[str] | None = [] if absent else None
    return {"present": False if absent else None, "currentRevision": None, "desiredRevision": None, "unmanaged": listed}


def audit(reading: Reading) -> tuple[Audit, errors.ExitCode]:
    """The answer, and the exit code: blocked with a finding, an error when none was found and something was unread."""
    listed = reading.platform["unmanaged"]
    definitions: list[Definition] = []
    for each in reading.definitions:
        unmanaged = None if listed is None else each["name"] in listed
        unmet = [requirement for name, requirement in reading.requirements if name == each["name"]]
        definitions.append({**each, "unmanaged": unmanaged, "incompatible": unmet})
    findings = [item for each in definitions for item in _findings(each)]
    show, absent = "oc get clusterapis.operator.openshift.io cluster -o yaml", DeadEnd.UNMANAGED_ABSENT
    message = "is listed in ClusterAPI cluster and does not exist"
    findings += [_finding(absent, name, message, show) for name in listed or () if name not in reading.names]
    findings.sort(key=lambda item: [*DeadEnd].index(DeadEnd(item["name"])))
    verdict: answers.Ownership = "Consistent"
    code = errors.ExitCode.DONE
    if not all(item["informational"] for item in findings):
        verdict, code = "Inconsistent", errors.ExitCode.BLOCKED
    elif reading.unread:
        verdict, code = "CannotTell", errors.ExitCode.FAILED
    elif not definitions:
        verdict = "NothingToLookAt"
    return {
        **sections.heading("CAPIAudit", reading.infrastructure, reading.now),
        "verdict": verdict,
        "platform": reading.platform,
        "definitions": definitions,
        "findings": findings,
        "unread": list(reading.unread),
    }, code


def _findings(each: Definition) -> Iterator[Finding]:
    """What is found in one definition. Where it is not known what is listed, only what holds either way."""
    name, served = each["name"], ", ".join(each["served"]) or "no version"
    show = shell.command("oc get crd {} -o yaml --show-managed-fields", name)
    if each["unmanaged"] and each["group"] == CORE and NEEDED not in each["served"]:
        needs = f"the platform needs {NEEDED} and may not add it, because ClusterAPI cluster lists it as unmanaged"
        yield _finding(DeadEnd.VERSION_MISSING, name, f"serves {served}; {needs}", show)
    # What the platform once applied to a definition that it leaves alone now counts no more.
    owners = dict.fromkeys(manager["party"] for manager in each["managers"])
    parties = [party for party in owners if party and (party != PLATFORM or each["unmanaged"] is False)]
    if len(parties) > 1:
        yield _finding(DeadEnd.TWO_OWNERS, name, f"is applied by {' and by '.join(parties)}", show)
    lost = [version for version in each["stored"] if version not in each["served"]]
    if lost:
        message = f"has {', '.join(lost)} in status.storedVersions and serves {served}"
        show = shell.command("oc get crd {} -o jsonpath='{.status.storedVersions}'", name)
        yield _finding(DeadEnd.STORED_VERSION_NOT_SERVED, name, message, show)


def _finding(finding: DeadEnd, definition: str, message: str, command: str) -> Finding:
    known = finding is DeadEnd.UNMANAGED_ABSENT
    return Finding(name=finding.value, definition=definition, message=message, command=command, informational=known)
