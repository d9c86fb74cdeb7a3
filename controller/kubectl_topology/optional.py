"""Which operators that OLM installed go by the topology, and which of them look once: one verdict about each.

It needs no list of operators. One that may not read Infrastructure does not go by it; a Lease of 270 s shows one that
chose its times on a single node; a process that was started after the change has read the new topology. What none of
this shows is in `bindata/optional-operators.yaml`. All others are not known, and that is never called fine. `Reader`
asks with the rights of the caller; `verdicts` is pure. No check waits for any of it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from topology_controller import shell
from topology_controller.checks import advisories
from topology_controller.checks.result import listed
from topology_controller.decide import records
from topology_controller.kube import errors as kube
from topology_controller.kube import resource as resources
from topology_controller.observe import catalog, facts, fields, live

from . import answers, cluster
from .document import Row, command

if TYPE_CHECKING:
    from datetime import datetime

    from topology_controller.definitions import operands as matrices

    from . import consistency
    from .document import Document

_GROUP: Final = "operators.coreos.com"
_VERSIONS = resources.Resource(_GROUP, "v1alpha1", "clusterserviceversions", "ClusterServiceVersion", namespaced=True)
_PODS = resources.Resource("", "v1", "pods", "Pod", namespaced=True)
_REVIEWS = resources.Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview")
_ACCOUNTS: Final = "system:serviceaccounts"
_AT_ONCE: Final = 4
_PAGE: Final = 10
"""ClusterServiceVersions in one answer: each may have a megabyte."""
_SKEW: Final = timedelta(seconds=30)
"""By how much the clock of a node may be ahead: what was started just after the change may be older."""
_WORDS: Final[dict[answers.Goes, str]] = {
    "Restart": "Restart",
    "ReadAtStart": "Read at start",
    "OneNodeOnly": "One node only",
    "NotKnown": "Not known",
    "Follows": "Follows",
    "DoesNotRead": "Does not read",
}
"""Verdicts as people read them. The first that holds for a Deployment of an operator is that of the operator."""
_IN_ORDER: Final = frozenset({"Follows", "DoesNotRead"})


@dataclass(frozen=True, slots=True)
class Process:
    """A pod. `started` is when the oldest of its containers was, None where none has been."""

    name: str
    started: datetime | None


@dataclass(frozen=True, slots=True)
class Deployment:
    """A Deployment of an operator. `may_read`: may its ServiceAccount read Infrastructure, as far as that is known?"""

    name: str
    account: str
    selector: str = ""
    may_read: bool = False
    processes: facts.Fact[tuple[facts.Fact[Process], ...]] = facts.NOT_READ


@dataclass(frozen=True, slots=True)
class Operator:
    """A ClusterServiceVersion, in the namespace that it was installed in."""

    name: str
    namespace: str
    deployments: tuple[Deployment, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read. `asked`: has the API server said what ServiceAccounts may, or is only their bundle known?"""

    operators: tuple[facts.Fact[Operator], ...]
    leases: facts.Fact[tuple[facts.Fact[facts.LeaderLease], ...]] = facts.NOT_READ
    asked: bool = True
    unread: list[answers.Unread] = field(default_factory=list)


def operator(raw: dict[str, Any]) -> Operator:
    """ClusterServiceVersion (operators.coreos.com/v1alpha1): its Deployments, and what their ServiceAccounts may."""
    install = fields.mapping(raw, "spec.install.spec")
    # With an OperatorGroup for all namespaces `permissions` become a ClusterRole too.
    grants = [*fields.items(install, "clusterPermissions"), *fields.items(install, "permissions")]
    readers = {
        fields.text(grant, "serviceAccountName") for grant in grants if any(map(_reads, fields.items(grant, "rules")))
    }
    deployments = []
    for item in fields.items(install, "deployments"):
        account = fields.text(item, "spec.template.spec.serviceAccountName") or "default"
        labels = fields.mapping(item, "spec.selector.matchLabels")
        selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        deployments.append(Deployment(fields.text(item, "name") or "", account, selector, account in readers))
    return Operator(fields.name(raw), fields.text(raw, "metadata.namespace") or "", tuple(deployments))


def _reads(rule: dict[str, Any]) -> bool:
    """May Infrastructure `cluster` be read by this rule? Source: kubernetes pkg/apis/rbac/v1/evaluation_helpers.go."""
    wanted = {"apiGroups": {catalog.CONFIG}, "resources": {"infrastructures"}, "verbs": {"get", "list", "watch"}}
    names = fields.items(rule, "resourceNames", str)
    fits = all(not {"*", *words}.isdisjoint(fields.items(rule, key, str)) for key, words in wanted.items())
    return fits and (not names or "cluster" in names)


def process(raw: dict[str, Any]) -> Process:
    """Pod (v1): a container that is started again in it reads the topology again."""
    containers = fields.items(raw, "status.containerStatuses")
    begun = [fields.time(fields.text(each, "state.running.startedAt")) for each in containers]
    first = None if containers else fields.time(fields.text(raw, "status.startTime"))
    return Process(fields.name(raw), min((time for time in begun if time is not None), default=first))


class Reader:
    """Reads it once. Pods are read `after` a change only."""

    def __init__(self, connection: cluster.Connection, matrix: matrices.Matrix, *, after: bool) -> None:
        self._client = connection.client
        self._matrix = matrix
        self._after = after
        self._lanes = asyncio.Semaphore(_AT_ONCE)
        self._refused: kube.KubeError | None = None
        self._unread: dict[str, answers.Unread] = {}

    async def read(self) -> Reading | None:
        """Read everything; None where OLM is not."""
        selection = resources.Selection(_VERSIONS, label_selector="!olm.copiedFrom", page=_PAGE, optional=True)
        versions = await self._list(catalog.Source(selection, operator))
        if isinstance(versions, facts.Unobserved):
            return None if versions.missing else Reading((), unread=list(self._unread.values()))
        leases, *operators = await asyncio.gather(
            self._list(catalog.Sources.leader_leases), *map(self._whole, versions)
        )
        if (refused := self._refused) is not None:
            fact = live.unobserved(_REVIEWS.label, refused)
            right = f"create {_REVIEWS.label}" if fact.kind is facts.Kind.FORBIDDEN else None
            self._unread[fact.what] = {"what": fact.what, "why": fact.why, "right": right}
        return Reading(tuple(operators), leases, refused is None, list(self._unread.values()))

    async def _list(self, source: catalog.Source) -> Any:
        async with self._lanes:
            fact = await live.read(self._client, source)
        if isinstance(fact, facts.Unobserved) and not fact.missing:
            self._unread[source.what] = cluster.with_right(fact, source.selection)[1]
        return fact

    async def _whole(self, item: facts.Fact[Operator]) -> facts.Fact[Operator]:
        if isinstance(item, facts.Unobserved):
            self._unread[item.what] = {"what": item.what, "why": item.why, "right": None}
            return item
        every = await asyncio.gather(*(self._deployment(item, each) for each in item.deployments))
        return dataclasses.replace(item, deployments=tuple(every))

    async def _deployment(self, item: Operator, deployment: Deployment) -> Deployment:
        allowed = deployment.may_read or await self._may(item.namespace, deployment.account)
        deployment = dataclasses.replace(deployment, may_read=allowed)
        if not self._after or not deployment.selector or not (allowed or _row(self._matrix, deployment)):
            return deployment
        selection = resources.Selection(_PODS, item.namespace, label_selector=deployment.selector)
        return dataclasses.replace(deployment, processes=await self._list(catalog.Source(selection, process)))

    async def _may(self, namespace: str, account: str) -> bool:
        for verb in ("get", "list"):
            async with self._lanes:
                if self._refused is not None:
                    return False
                try:
                    review = await self._client.create(_REVIEWS, _review(namespace, account, verb))
                except kube.KubeError as error:
                    self._refused = error
                    return False
            status = review.get("status")
            if isinstance(status, dict) and status.get("allowed") is True:
                return True
        return False


def _review(namespace: str, account: str, verb: str) -> dict[str, Any]:
    attributes = {"group": catalog.CONFIG, "resource": "infrastructures", "name": "cluster", "verb": verb}
    spec = {
        "user": f"system:serviceaccount:{namespace}:{account}",
        "groups": [_ACCOUNTS, f"{_ACCOUNTS}:{namespace}", "system:authenticated"],
        "resourceAttributes": attributes,
    }
    return {"apiVersion": _REVIEWS.api_version, "kind": _REVIEWS.kind, "spec": spec}


def _row(matrix: matrices.Matrix, deployment: Deployment) -> matrices.OptionalOperator | None:
    return next((row for row in matrix.optional_operators if row.deployment == deployment.name), None)


def changed(snapshot: cluster.Snapshot) -> datetime | None:
    """When the topology was changed to what it is now; None where no such change is recorded."""
    record = snapshot.record
    if record is None or record.phase.changed:
        return None if record is None else record.admitted_time
    last = record.last_transition
    return last.admitted_time if last is not None and last.target == records.pair(snapshot.infrastructure) else None


def verdicts(
    reading: Reading, matrix: matrices.Matrix, since: datetime | None, now: datetime
) -> list[answers.OptionalOperator]:
    """One verdict about each operator, what is to be done first. `since`: when the topology changed; None: not yet."""
    leases = [] if isinstance(reading.leases, facts.Unobserved) else advisories.of_single_node(reading.leases, now)
    order, items = list[answers.Goes](_WORDS), list[answers.OptionalOperator]()
    for item in facts.readable(reading.operators):
        every = [_judged(item, each, reading, leases, _row(matrix, each), since) for each in item.deployments]
        verdict: answers.Goes = min((each[0] for each in every), key=order.index, default="NotKnown")
        texts = [text for each, text, _ in every if each == verdict] or ["its ClusterServiceVersion has no Deployment"]
        cures = [cure for each, _, cure in every if each == verdict and cure]
        items.append({
            "name": item.name,
            "namespace": item.namespace,
            "verdict": verdict,
            "message": "; ".join(dict.fromkeys(texts)),
            "command": " && ".join(dict.fromkeys(cures)),
        })  # fmt: skip
    return sorted(items, key=lambda each: (order.index(each["verdict"]), each["name"]))


def _judged(  # noqa: PLR0913, PLR0917 - everything that there is to go by
    item: Operator,
    deployment: Deployment,
    reading: Reading,
    leases: list[facts.LeaderLease],
    row: matrices.OptionalOperator | None,
    since: datetime | None,
) -> tuple[answers.Goes, str, str]:
    """Verdict, message and command."""
    name = deployment.name
    every = deployment.processes if isinstance(deployment.processes, tuple) else ()
    processes = facts.readable(every)
    cure = shell.command("oc -n {} get deployment {} -o yaml", item.namespace, name)
    if deployment.selector:
        cure = shell.command("oc -n {} delete pod -l {}", item.namespace, deployment.selector)
    if row is not None and row.reads == "oneNode":
        return "OneNodeOnly", f"{name}: {row.matters}", row.cure(item.namespace)
    late = [each.name for each in processes if each.started and since and each.started <= since + _SKEW]
    if since is not None and processes and not late and len(processes) == len(every):
        return "Follows", "its pods were started after the change", ""
    pod = re.compile(rf"{re.escape(name)}-[a-z0-9]+-[a-z0-9]+")
    for lease in leases:
        if lease.namespace == item.namespace and pod.fullmatch(lease.holder.partition("_")[0]):
            until = f"until {name} is started again after the change, a takeover takes up to 330 s instead of 163 s"
            return "Restart", f"Lease {lease.name} lasts 270 s, as on a single node: {until}", cure
    if row is not None:
        return "ReadAtStart", f"{name}: {row.matters}", cure
    if not deployment.may_read:
        alone = "" if reading.asked else ", by its ClusterServiceVersion alone"
        return "DoesNotRead", f"its ServiceAccounts may not read Infrastructure{alone}", ""
    when = "restart it after the change when it suits"
    if since is not None:
        older = f"{listed(late)} was started before the change" if late else "when its pods were started is not known"
        when = f"{older}. Restart it when it suits"
    unseen = ", and Leases could not be read" if isinstance(reading.leases, facts.Unobserved) else ""
    return "NotKnown", f"{name} may read Infrastructure{unseen}: {when}", cure


async def add(
    answer: answers.Plan | answers.Status | consistency.Audit,
    connection: cluster.Connection,
    matrix: matrices.Matrix,
    since: datetime | None,
) -> None:
    """Add the verdicts to an answer, and what could not be read. Nothing where OLM is not, or of an archive."""
    if connection.collected is None:
        reading = await Reader(connection, matrix, after=since is not None).read()
        if reading is not None:
            answer["optionalOperators"] = verdicts(reading, matrix, since, connection.now)
            answer["unread"] = [*answer["unread"], *(each for each in reading.unread if each not in answer["unread"])]


def show(document: Document, items: list[answers.OptionalOperator], *, brief: bool = False) -> None:
    """Add what is to be done about which operator, then those that are in order; `brief`: a line for each verdict."""
    rows: list[Row] = []
    wide = max((len(_WORDS[item["verdict"]]) for item in items), default=0)
    for verdict, word in _WORDS.items():
        some = [item for item in items if item["verdict"] == verdict]
        names = [item["name"] for item in some]
        if brief or (verdict in _IN_ORDER and not document.whole):
            if some and not (brief and verdict in _IN_ORDER):
                rows.append(
                    Row(
                        (word if brief else f"{word:<{wide}}", listed(names, 3 if brief else len(names))),
                        lines=1 if brief else None,
                    )
                )
            continue
        for item in some:
            rows.append(Row((f"{word:<{wide}}", f"{item['namespace']}/{item['name']}: {item['message']}")))
            rows += [command(item["command"], 4)] if item["command"] else []
    document.add("Operators installed by OLM", rows)
