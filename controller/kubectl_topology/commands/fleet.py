"""`fleet`: what the survey of all clusters says, read on the hub and nowhere else.

The survey (`cluster-topology-operator fleet`) lets the work agent of each cluster say in which state the cluster is;
here it is counted. What keeps a request from being applied stands in the works of the roll-out beside it. A cluster
that the hub cannot reach is counted as such, whatever it said last. `count` is pure.
"""

from __future__ import annotations

import collections
import dataclasses
import sys
import types
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from topology_api.served import mapping
from topology_api.vocabulary import CheckName
from topology_controller import terminal
from topology_controller.kube import errors as kube
from topology_controller.kube.resource import Resource, Selection
from topology_deploy.fleet.meaning import STATE_CONDITION, SURVEY, State
from topology_deploy.fleet.plan import CANARY_WAVE

from .. import answers, arguments, cluster, errors
from . import show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from topology_controller.definitions import load

    from ..document import Document

Raw = dict[str, Any]
WORKS = Resource("work.open-cluster-management.io", "v1", "manifestworks", "ManifestWork", namespaced=True)
CLUSTERS = Resource("cluster.open-cluster-management.io", "v1", "managedclusters", "ManagedCluster")
REPLICA_SET = "work.open-cluster-management.io/manifestworkreplicaset"
"""Label of a work: NAMESPACE.NAME of what made it (open-cluster-management.io/api work/v1alpha1)."""
UNREACHABLE: Final = "Unreachable"
"""The hub does not reach the cluster: what it said last is old."""
UNREPORTED: Final = "Unreported"
"""The agent has not said yet, or not in words that this version knows."""
_WORDS: Final = {
    State.DONE: "done", State.UNDER_WAY: "under way", State.NEEDS_A_PERSON: "need a person", State.READY: "ready",
    State.NOT_READY: "not ready", State.SILENT: "silent", State.NOT_FOR_US: "not for us",
    UNREACHABLE: "unreachable", UNREPORTED: "not reported yet",
}  # fmt: skip
_EXAMPLES: Final = 3


class Work(NamedTuple):
    """What is kept of a ManifestWork: few bytes, since there are thousands."""

    cluster: str
    survey: bool
    message: str
    """Message of the survey's condition; of a roll-out's work why it is not applied, empty where it is."""
    since: str = ""
    disabled: str = ""
    deadline: str = ""


async def run(connection: cluster.Connection, options: argparse.Namespace, _: load.Transitions) -> int:
    """Print what the survey says."""
    client, survey = connection.client, f"{options.namespace}.{SURVEY}"
    selector = f"{REPLICA_SET} in ({survey},{options.namespace}.{options.name})"
    works = Selection(WORKS, label_selector=selector, page=500)
    shortest = dataclasses.replace(works, page=1)
    try:
        await cluster.reached(client, lambda seconds: client.list(shortest, bool, enough=bool, timeout=seconds))
        listed = await client.list(works, lambda raw: _work(raw, survey))
    except kube.NotFound as error:
        raise errors.PluginError(f"{connection.server} does not serve {WORKS.label}: this is no hub") from error
    except kube.KubeError as error:
        raise cluster.explained(connection, error) from error
    try:
        reached = await client.list(Selection(CLUSTERS, page=500), lambda raw: _reached(raw, options.wave_label))
        unreached = frozenset(name for name, answers_, _ in reached.items if not answers_)
        waves = {name: wave for name, _, wave in reached.items if wave is not None}
        unknown = ""
    except kube.KubeError as error:
        unreached, waves = frozenset(), {}
        unknown = connection.lacks(error) if isinstance(error, kube.Forbidden) else str(error)
    if not any(work.survey for work in listed.items):
        hint = "Apply the survey first: cluster-topology-operator fleet work prints it, and --namespace names its place"
        raise errors.PluginError(f"no ManifestWork of {survey} is there", hint)
    answer, code = count(listed.items, unreached, datetime.now(UTC), unknown, waves)
    if options.list is None:
        show(options, answer, table)
    else:
        names = sorted(item["name"] for item in answer["clusters"] if item["state"] == options.list)
        sys.stdout.writelines(f"{terminal.plain(name)}\n" for name in names)
    return code


def _work(raw: Raw, survey: str) -> Work:
    metadata = mapping(raw.get("metadata"))
    where = str(metadata.get("namespace", ""))
    manifests = _entries(mapping(mapping(raw.get("status")).get("resourceStatus")).get("manifests"))
    if mapping(metadata.get("labels")).get(REPLICA_SET) != survey:
        refused = (
            str(condition.get("message", ""))
            for manifest in manifests
            for condition in _entries(manifest.get("conditions"))
            if condition.get("type") == "Applied" and condition.get("status") == "False"
        )
        return Work(where, survey=False, message=next(refused, ""))
    message = since = disabled = deadline = ""
    for manifest in manifests:
        kind = mapping(manifest.get("resourceMeta")).get("kind")
        feedback = _entries(mapping(manifest.get("statusFeedback")).get("values"))
        values = {value.get("name"): str(mapping(value.get("fieldValue")).get("string", "")) for value in feedback}
        if kind == "ClusterOperator":
            disabled = values.get("disabled", "")
        for condition in _entries(manifest.get("conditions")):
            if kind == "Infrastructure" and condition.get("type") == STATE_CONDITION:
                message = str(condition.get("message", ""))
                since = values.get("problemSince") or values.get("since", "")
                deadline = values.get("deadline", "")
    return Work(where, True, *(text[:512] for text in (message, since, disabled, deadline)))  # noqa: FBT003 - in their order


def _reached(raw: Raw, label: str) -> tuple[str, bool, str | None]:
    """The name of a managed cluster, whether the hub reaches it, and its wave where it has one."""
    conditions = _entries(mapping(raw.get("status")).get("conditions"))
    available = [item.get("status") for item in conditions if item.get("type") == "ManagedClusterConditionAvailable"]
    metadata = mapping(raw.get("metadata"))
    wave = mapping(metadata.get("labels")).get(label)
    return str(metadata.get("name", "")), available[:1] == ["True"], wave if isinstance(wave, str) else None


def _entries(listed: object) -> list[Raw]:
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def count(
    works: Sequence[Work],
    unreached: frozenset[str],
    now: datetime,
    unknown: str = "",
    waves: Mapping[str, str] = types.MappingProxyType({}),
) -> tuple[answers.Fleet, errors.ExitCode]:
    """The answer, and the exit code: blocked while a cluster needs a person.

    `unreached` are the clusters that the hub does not reach, `unknown` is why that is not known;
    `waves` has the value of the wave label, by the names of those that have one.
    """
    refused = {work.cluster: work.message for work in works if not work.survey and work.message}
    clusters = [
        _surveyed(work, refused.get(work.cluster, ""), waves.get(work.cluster), reached=work.cluster not in unreached)
        for work in sorted(works, key=lambda work: work.cluster)
        if work.survey
    ]
    counts = collections.Counter(item["state"] for item in clusters)
    blockers: dict[str, list[str]] = {}
    for item in clusters:
        for name in item["blockers"]:
            blockers.setdefault(name, []).append(item["name"])
    code = errors.ExitCode.BLOCKED if counts[State.NEEDS_A_PERSON] else errors.ExitCode.DONE
    return {
        "apiVersion": answers.API_VERSION,
        "kind": "TopologyFleet",
        "evaluated": answers.stamp(now),
        "surveyed": len(clusters),
        "counts": {state: counts[state] for state in arguments.FLEET_STATES},
        "blockers": [
            {"check": name, "clusters": len(names), "examples": names[:_EXAMPLES]}
            for name, names in sorted(blockers.items(), key=lambda entry: (-len(entry[1]), entry[0]))
        ],
        "reachabilityUnknown": unknown or None,
        "clusters": clusters,
    }, code


def _surveyed(work: Work, refused: str, wave: str | None, *, reached: bool) -> answers.Surveyed:
    state, _, detail = work.message.partition(": ")
    if not reached:
        state, detail = UNREACHABLE, work.message
    elif state not in set(State):
        state, detail = UNREPORTED, work.message
    elif state == State.SILENT and work.disabled:
        # An operator that does not act has no record; its ClusterOperator says why.
        state, detail = State.NOT_FOR_US.value, work.disabled
    elif refused and state != State.DONE:
        state, detail = State.NEEDS_A_PERSON.value, refused
    under_way = state in {State.NEEDS_A_PERSON, State.UNDER_WAY}
    return {
        "name": work.cluster,
        "state": state,
        "detail": detail,
        "blockers": _fewest(detail) if state == State.NOT_READY else [],
        "since": work.since if under_way and work.since else None,
        "deadline": work.deadline if under_way and work.deadline else None,
        "wave": wave,
    }


def _fewest(detail: str) -> list[str]:
    """Of `NAME: CHECK, CHECK; NAME: CHECK` the checks of the transition that least is missing for."""
    # The number of dedicated workers tells such transitions apart.
    ways = [way.partition(": ")[2].split(", ") for way in detail.split("; ") if way.partition(": ")[2]]
    return min(ways, key=lambda checks: (CheckName.DEDICATED_WORKERS in checks, len(checks)), default=[])


def table(document: Document, answer: answers.Fleet) -> None:
    """The counts, why clusters are not ready, and who needs a person; where all is wanted also what is under way."""
    words = _WORDS | ({State.NEEDS_A_PERSON: "needs a person"} if answer["counts"][State.NEEDS_A_PERSON] == 1 else {})
    counted = ", ".join(f"{number} {words[state]}" for state, number in answer["counts"].items() if number)
    document.add("", [f"{answer['surveyed']} surveyed: {counted}"])
    if answer["reachabilityUnknown"]:
        document.add("", [("Unknown", f"whether the hub reaches them: {answer['reachabilityUnknown']}")])
    rows = [("NOT READY BECAUSE", "CLUSTERS", "E.G.")]
    for blocker in answer["blockers"]:
        more = ", ..." if blocker["clusters"] > _EXAMPLES else ""
        rows.append((blocker["check"], str(blocker["clusters"]), ", ".join(blocker["examples"]) + more))
    document.add("", rows if answer["blockers"] else [])
    troubled = [item for item in answer["clusters"] if item["state"] == State.NEEDS_A_PERSON]
    shown = len(troubled) if document.whole else 20
    rows = [("NEEDS A PERSON", "SINCE", "WHY")]
    for item in troubled[:shown]:
        rows.append((item["name"], item["since"] or "", item["detail"] if document.whole else _first(item["detail"])))
    document.add("", rows if troubled else [])
    under_way = [item for item in answer["clusters"] if item["state"] == State.UNDER_WAY]
    if document.whole and under_way:
        columns = ("UNDER WAY", "WAVE", "PHASE", "SINCE", "DEADLINE", "WAITS FOR")
        document.add("", [columns, *(_moving(item, answer["evaluated"]) for item in under_way)])
    if len(troubled) > shown:
        document.add("", [f"{len(troubled) - shown} more: oc topology fleet --list {State.NEEDS_A_PERSON}"])


def _first(detail: str) -> str:
    """The first checks of `REASON: CHECK, CHECK`, and how many more there are. Other texts stay as they are."""
    reason, _, waiting = detail.partition(": ")
    checks = waiting.split(", ")
    if len(checks) <= _EXAMPLES or not all(check.isalnum() for check in checks):
        return detail
    return f"{reason}: {', '.join(checks[:_EXAMPLES])}, {len(checks) - _EXAMPLES} more"


def _moving(item: answers.Surveyed, now: str) -> tuple[str, ...]:
    (phase, _, checks), deadline = item["detail"].partition(": "), item["deadline"] or ""
    # Both are times in UTC as RFC 3339 has them, to the second.
    overdue = f"{deadline} (overdue)" if deadline and deadline < now else deadline
    wave = "0 (canary)" if item["wave"] == CANARY_WAVE else item["wave"] or ""
    return item["name"], wave, phase, item["since"] or "", overdue, checks
