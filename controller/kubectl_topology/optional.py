"""Which operators that OLM installed go by the topology, and which of them look once: one verdict about each.

It needs no list of operators. One that may not read Infrastructure does not go by it; a Lease of 270 s shows one that
chose its times on a single node; a process that was started after the change has read the new topology. What none of
this shows is in `bindata/optional-operators.yaml`. All others are not known, and that is never called fine. It is read
with the rights of the caller, and no check waits for any of it.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from topology_api import served
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

_VERSIONS = resources.Resource(
    "operators.coreos.com", "v1alpha1", "clusterserviceversions", "ClusterServiceVersion", namespaced=True
)
_PODS = resources.Resource("", "v1", "pods", "Pod", namespaced=True)
_REVIEWS = resources.Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview")
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
_ORDER: Final = list[answers.Goes](_WORDS)
_IN_ORDER: Final = frozenset({"Follows", "DoesNotRead"})


class Process(NamedTuple):
    """A pod. `started` is when the oldest of its containers was, None where none has been."""

    name: str
    started: datetime | None


@dataclass(slots=True)
class Deployment:
    """A Deployment of an operator. `may_read`: may its ServiceAccount read Infrastructure, as far as that is known?"""

    name: str
    account: str
    selector: str = ""
    may_read: bool = False
    processes: facts.Fact[tuple[facts.Fact[Process], ...]] = facts.NOT_READ


class Operator(NamedTuple):
    """A ClusterServiceVersion, in the namespace that it was installed in."""

    name: str
    namespace: str
    deployments: tuple[Deployment, ...]


def operator(raw: dict[str, Any]) -> Operator:
    """ClusterServiceVersion (operators.coreos.com/v1alpha1): its Deployments, and what their ServiceAccounts may."""
    install = fields.mapping(raw, "spec.install.spec")
    # With an OperatorGroup for all namespaces `permissions` become a ClusterRole too.
    grants = [*fields.items(install, "clusterPermissions"), *fields.items(install, "permissions")]
    grants = [grant for grant in grants if any(map(_reads, fields.items(grant, "rules")))]
    readers = {fields.text(grant, "serviceAccountName") for grant in grants}
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
    """Reads it once, and keeps what could not be read. Pods are read `since` a change only; None: there is none."""

    def __init__(self, connection: cluster.Connection, matrix: matrices.Matrix, since: datetime | None) -> None:
        self._client, self._matrix, self._since, self._now = connection.client, matrix, since, connection.now
        self._lanes = asyncio.Semaphore(4)
        self._refused: kube.KubeError | None = None
        self.unread: dict[str, answers.Unread] = {}

    async def verdicts(self) -> list[answers.OptionalOperator] | None:
        """One verdict about each operator, what is to be done first; None where OLM is not."""
        # Each may have a megabyte.
        selection = resources.Selection(_VERSIONS, label_selector="!olm.copiedFrom", page=10, optional=True)
        versions = await self._list(catalog.Source(selection, operator))
        if isinstance(versions, facts.Unobserved):
            return None if versions.missing else []
        for item in versions:
            if isinstance(item, facts.Unobserved):
                self.unread[item.what] = {"what": item.what, "why": item.why, "right": None}
        operators: list[Operator] = facts.readable(versions)
        wholes = [self._complete(item.namespace, each) for item in operators for each in item.deployments]
        leases, *_ = await asyncio.gather(self._list(catalog.Sources.leader_leases), *wholes)
        if (refused := self._refused) is not None:
            fact = live.unobserved(_REVIEWS.label, refused)
            right = f"create {_REVIEWS.label}" if fact.kind is facts.Kind.FORBIDDEN else None
            self.unread[fact.what] = {"what": fact.what, "why": fact.why, "right": right}
        held = None if isinstance(leases, facts.Unobserved) else advisories.of_single_node(leases, self._now)
        items = [self._verdict(item, held) for item in operators]
        return sorted(items, key=lambda each: (_ORDER.index(each["verdict"]), each["name"]))

    async def _list(self, source: catalog.Source) -> Any:
        async with self._lanes:
            fact = await live.read(self._client, source)
        if isinstance(fact, facts.Unobserved) and not fact.missing:
            self.unread[source.what] = cluster.with_right(fact, source.selection)[1]
        return fact

    async def _complete(self, namespace: str, deployment: Deployment) -> None:
        deployment.may_read = deployment.may_read or await self._may(namespace, deployment.account)
        concerns = deployment.may_read or self._row(deployment) is not None
        if self._since is not None and deployment.selector and concerns:
            selection = resources.Selection(_PODS, namespace, label_selector=deployment.selector)
            deployment.processes = await self._list(catalog.Source(selection, process))

    async def _may(self, namespace: str, account: str) -> bool:
        user, every = f"system:serviceaccount:{namespace}:{account}", "system:serviceaccounts"
        groups = [every, f"{every}:{namespace}", "system:authenticated"]
        for verb in ("get", "list"):
            asked = {"group": catalog.CONFIG, "resource": "infrastructures", "name": "cluster", "verb": verb}
            spec = {"user": user, "groups": groups, "resourceAttributes": asked}
            body = {"apiVersion": _REVIEWS.api_version, "kind": _REVIEWS.kind, "spec": spec}
            async with self._lanes:
                if self._refused is not None:
                    return False
                try:
                    review = await self._client.create(_REVIEWS, body)
                except kube.KubeError as error:
                    self._refused = error
                    return False
            if served.mapping(review.get("status")).get("allowed") is True:
                return True
        return False

    def _row(self, deployment: Deployment) -> matrices.OptionalOperator | None:
        return next((row for row in self._matrix.optional_operators if row.deployment == deployment.name), None)

    def _verdict(self, item: Operator, leases: list[facts.Lease] | None) -> answers.OptionalOperator:
        every = [self._judged(item, each, leases) for each in item.deployments]
        verdict: answers.Goes = min((each[0] for each in every), key=_ORDER.index, default="NotKnown")
        texts = [text for each, text, _ in every if each == verdict] or ["its ClusterServiceVersion has no Deployment"]
        cures = [cure for each, _, cure in every if each == verdict and cure]
        return {
            "name": item.name,
            "namespace": item.namespace,
            "verdict": verdict,
            "message": "; ".join(dict.fromkeys(texts)),
            "command": " && ".join(dict.fromkeys(cures)),
        }

    def _judged(
        self, item: Operator, deployment: Deployment, leases: list[facts.Lease] | None
    ) -> tuple[answers.Goes, str, str]:
        """Verdict, message and command. `leases` None: they could not be read."""
        name, since, row = deployment.name, self._since, self._row(deployment)
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
        for lease in leases or ():
            if lease.namespace == item.namespace and pod.fullmatch(lease.holder.partition("_")[0]):
                until = f"until {name} is started again after the change, a takeover takes up to 330 s instead of 163 s"
                return "Restart", f"Lease {lease.name} lasts 270 s, as on a single node: {until}", cure
        if row is not None:
            return "ReadAtStart", f"{name}: {row.matters}", cure
        if not deployment.may_read:
            alone = "" if self._refused is None else ", by its ClusterServiceVersion alone"
            return "DoesNotRead", f"its ServiceAccounts may not read Infrastructure{alone}", ""
        when = "restart it after the change when it suits"
        if since is not None:
            older = f"{listed(late)} was started before the change"
            older = older if late else "when its pods were started is not known"
            when = f"{older}. Restart it when it suits"
        unseen = ", and Leases could not be read" if leases is None else ""
        return "NotKnown", f"{name} may read Infrastructure{unseen}: {when}", cure


def changed(snapshot: cluster.Snapshot) -> datetime | None:
    """When the topology was changed to what it is now; None where no such change is recorded."""
    record = snapshot.record
    if record is None or record.phase.changed:
        return None if record is None else record.admitted_time
    last = record.last_transition
    return last.admitted_time if last is not None and last.target == records.pair(snapshot.infrastructure) else None


async def add(
    answer: answers.Plan | answers.Status | consistency.Audit,
    connection: cluster.Connection,
    matrix: matrices.Matrix,
    since: datetime | None,
) -> None:
    """Add the verdicts to an answer, and what could not be read. Nothing where OLM is not, or of an archive."""
    if connection.collected is None:
        reader = Reader(connection, matrix, since)
        if (items := await reader.verdicts()) is not None:
            answer["optionalOperators"] = items
            answer["unread"] += [each for each in reader.unread.values() if each not in answer["unread"]]


def show(document: Document, items: list[answers.OptionalOperator], *, brief: bool = False) -> None:
    """Add what is to be done about which operator, then those that are in order; `brief`: a line for each verdict."""
    rows: list[Row] = []
    wide = max((len(_WORDS[item["verdict"]]) for item in items), default=0)
    for verdict, word in _WORDS.items():
        some, in_order = [item for item in items if item["verdict"] == verdict], verdict in _IN_ORDER
        padded, names = f"{word:<{wide}}", [item["name"] for item in some]
        if brief and some and not in_order:
            rows.append(Row((word, listed(names, 3)), lines=1))
        elif not brief and some and in_order and not document.whole:
            rows.append(Row((padded, ", ".join(names))))
        for item in () if brief or (in_order and not document.whole) else some:
            rows.append(Row((padded, f"{item['namespace']}/{item['name']}: {item['message']}")))
            rows += [command(item["command"], 4)] if item["command"] else []
    document.add("Operators installed by OLM", rows)
