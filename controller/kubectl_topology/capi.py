"""`audit --capi`: which owner each Cluster API definition has, and the dead ends that are known (`capi_findings`).

Everything is read with the rights of the person who asks, and nothing is written. The list of all definitions is read
as metadata, because a cluster has hundreds and their schemas are megabytes; those of *.cluster.x-k8s.io are then read
whole, a few at a time. Whether ClusterAPI and CompatibilityRequirement are served stands in that list too: a right that
lacks would look the same as a kind that does not exist.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict, TypeVar

from topology_controller.kube import errors as kube
from topology_controller.kube import resource as resources
from topology_controller.observe import catalog, facts, parse

from . import answers, capi_findings, cluster, errors

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from topology_controller.report import state

T = TypeVar("T")
_LANES: Final = 4
_REQUIREMENTS_PAGE: Final = 10
"""A CompatibilityRequirement has a whole definition in it, up to 1.5 MiB."""
_CLUSTER_APIS = resources.Resource("operator.openshift.io", "v1alpha1", "clusterapis", "ClusterAPI")
_REQUIREMENTS = resources.Resource(
    "apiextensions.openshift.io", "v1alpha1", "compatibilityrequirements", "CompatibilityRequirement"
)
_SINGLETON: Final = "cluster"


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

    name: Annotated[str, capi_findings.Finding]
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


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read. `operator` is None where the platform has none, Unobserved where it could not be read."""

    infrastructure: facts.Infrastructure
    names: frozenset[str]
    definitions: tuple[capi_findings.Definition, ...]
    operator: capi_findings.Operator | facts.Unobserved | None
    requirements: tuple[tuple[str, capi_findings.Incompatible], ...]
    unread: tuple[answers.Unread, ...]
    now: datetime


async def read(connection: cluster.Connection) -> Reading:
    """Read everything. Raises PluginError when the cluster, or its list of definitions, cannot be read."""
    try:
        infrastructure = parse.infrastructure(await cluster.infrastructure(connection))
    except ValueError as error:
        raise errors.PluginError(f"Infrastructure cluster makes no sense: {error}") from error
    client = connection.client
    try:
        listing = await client.list(catalog.CRDS, reduce=_name, metadata_only=True, timeout=client.request_timeout)
    except kube.KubeError as error:
        raise cluster.explained(connection, error) from error
    except ValueError as error:
        raise errors.PluginError(f"the list of {catalog.CRDS.label} makes no sense: {error}") from error
    names = frozenset(listing.items)
    unread: list[answers.Unread] = []
    lanes = asyncio.Semaphore(_LANES)

    async def read_definition(name: str) -> capi_findings.Definition | None:
        async with lanes:
            asked = client.get(catalog.CRDS, name)
            what = catalog.CRDS.describe(name)
            fact = await _fact(what, f"get {what}", asked, capi_findings.definition, unread)
        return fact if isinstance(fact, capi_findings.Definition) else None

    wanted = sorted(name for name in names if name.endswith(capi_findings.SUFFIX))
    if not wanted:
        return Reading(infrastructure, names, (), None, (), (), datetime.now(UTC))
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read_definition(name)) for name in wanted]
        operator = group.create_task(_operator(connection, names, unread))
        requirements = group.create_task(_requirements(connection, names, unread))
    definitions = tuple(definition for task in tasks if (definition := task.result()) is not None)
    unread.sort(key=lambda item: item["what"])
    return Reading(
        infrastructure,
        names,
        definitions,
        operator.result(),
        requirements.result(),
        tuple(unread),
        datetime.now(UTC),
    )


def _name(raw: dict[str, Any]) -> str:
    return resources.key_of(raw)[1]


async def _operator(
    connection: cluster.Connection, names: frozenset[str], unread: list[answers.Unread]
) -> capi_findings.Operator | facts.Unobserved | None:
    if _CLUSTER_APIS.label not in names:
        return None
    what = _CLUSTER_APIS.describe(_SINGLETON)
    asked = connection.client.get(_CLUSTER_APIS, _SINGLETON)
    return await _fact(what, f"get {what}", asked, capi_findings.operator, unread)


async def _requirements(
    connection: cluster.Connection, names: frozenset[str], unread: list[answers.Unread]
) -> tuple[tuple[str, capi_findings.Incompatible], ...]:
    if _REQUIREMENTS.label not in names:
        return ()
    asked = connection.client.list(_REQUIREMENTS, reduce=capi_findings.incompatible, page=_REQUIREMENTS_PAGE)
    what = _REQUIREMENTS.describe()
    listing = await _fact(what, f"list {what}", asked, lambda whole: whole.items, unread)
    return tuple(item for item in listing if item is not None) if isinstance(listing, tuple) else ()


async def _fact(
    what: str, right: str, asked: Awaitable[Any], reduce: Callable[[Any], T], unread: list[answers.Unread]
) -> T | facts.Unobserved | None:
    """The fact of a read; None for an object that does not exist. What cannot be read is noted in `unread`."""
    try:
        return reduce(await asked)
    except kube.NotFound:
        return None
    except kube.Forbidden:
        why, lacks = f"forbidden: you need permission to {right}", right
    except kube.KubeError as error:
        why, lacks = str(error), ""
    except ValueError as error:
        why, lacks = f"malformed: {error}", ""
    unread.append({"what": what, "why": why, "right": lacks or None})
    return facts.Unobserved(what, why)


def audit(reading: Reading) -> tuple[Audit, errors.ExitCode]:
    """The answer, and the exit code: blocked with a finding, an error when none was found and something was unread."""
    operator = reading.operator
    capi = operator if isinstance(operator, capi_findings.Operator) else None
    is_known = not isinstance(operator, facts.Unobserved)
    listed = () if capi is None else capi.unmanaged
    absent = [name for name in listed if name not in reading.names]
    every = capi_findings.findings(reading.definitions, capi, absent, known=is_known)
    blocking = [item for item in every if item.finding is not capi_findings.Finding.UNMANAGED_ABSENT]
    verdict: answers.Ownership = "Consistent"
    code = errors.ExitCode.DONE
    if blocking:
        verdict, code = "Inconsistent", errors.ExitCode.BLOCKED
    elif reading.unread:
        verdict, code = "CannotTell", errors.ExitCode.FAILED
    elif not reading.definitions:
        verdict = "NothingToLookAt"
    by_name: dict[str, list[Requirement]] = {}
    for name, item in reading.requirements:
        requirement: Requirement = {"name": item.requirement, "reason": item.reason, "message": item.message}
        by_name.setdefault(name, []).append(requirement)
    here = reading.infrastructure
    place: state.Cluster = {
        "name": here.cluster_name,
        "platform": here.platform,
        "topology": {"controlPlane": here.control_plane, "infrastructure": here.infrastructure},
    }
    answer: Audit = {
        "apiVersion": answers.API_VERSION,
        "kind": "CAPIAudit",
        "evaluated": answers.stamp(reading.now),
        "cluster": place,
        "verdict": verdict,
        "platform": {
            "present": capi is not None if is_known else None,
            "currentRevision": None if capi is None else capi.current_revision,
            "desiredRevision": None if capi is None else capi.desired_revision,
            "unmanaged": list(listed) if is_known else None,
        },
        "definitions": [_definition(each, listed if is_known else None, by_name) for each in reading.definitions],
        "findings": [
            {
                "name": item.finding.value,
                "definition": item.definition,
                "message": item.message,
                "command": item.command,
                "informational": item not in blocking,
            }
            for item in every
        ],
        "unread": list(reading.unread),
    }
    return answer, code


def _definition(
    each: capi_findings.Definition, listed: tuple[str, ...] | None, by_name: Mapping[str, list[Requirement]]
) -> Definition:
    unmanaged = None if listed is None else each.name in listed
    return {
        "name": each.name,
        "group": each.group,
        "served": list(each.served),
        "storage": each.storage,
        "stored": list(each.stored),
        "managers": [
            {"name": item.name, "operation": item.operation, "parts": list(item.parts), "party": item.party}
            for item in each.managers
        ],
        "unmanaged": unmanaged,
        "incompatible": by_name.get(each.name, []),
    }
