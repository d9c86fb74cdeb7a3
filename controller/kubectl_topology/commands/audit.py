"""`audit`: which kind of cluster is this, and do status, scheduler and nodes fit together?

The rules are those of `consistency`, the numbers are those that the operator counts. It also audits a cluster that the
operator has never seen, a hosted one, and one whose API lacks our fields. `audit` is pure.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import operator
from typing import TYPE_CHECKING, cast

from topology_api import shape
from topology_api.vocabulary import Topology
from topology_controller import shell
from topology_controller.observe import facts

from .. import cluster, consistency, disruption, errors, optional, sections
from ..document import Row, command
from . import show

if TYPE_CHECKING:
    import argparse

    from topology_controller.definitions import load

    from .. import answers, capi
    from ..document import Document


async def run(connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    """Print what was found."""
    if options.capi:
        from .. import capi  # noqa: PLC0415 - `audit` without it does not need it

        reading = await capi.read(connection)
        owners, code = capi.audit(reading)
        show(options, owners, add_definitions)
        return code
    snapshot = await cluster.census(connection, transitions)
    answer, code = audit(snapshot, transitions)
    since = optional.changed(snapshot)
    if since is not None or snapshot.infrastructure.control_plane == Topology.SINGLE_REPLICA:
        await optional.add(answer, connection, transitions.matrix, since)
    show(options, answer, add_audit)
    return code


def audit(snapshot: cluster.Snapshot, transitions: load.Transitions) -> tuple[consistency.Audit, errors.ExitCode]:
    """The answer, and the exit code: blocked by a disagreement, or on a hosted cluster by what is required."""
    here = snapshot.infrastructure
    workers = control_plane_workers(snapshot.known)
    vector = facts.shape_vector(snapshot.known, here)
    disagreements, unanswered = consistency.compared(vector, workers)
    values = {**dataclasses.asdict(vector), "control_plane_workers": workers}
    named = shape.classify(vector)
    verdict: answers.Consistency = "Inconsistent" if disagreements else "Consistent"
    code = errors.ExitCode.BLOCKED if disagreements else errors.ExitCode.DONE
    asked = ("masters_schedulable", "control_plane_nodes", "dedicated_workers")
    if not disagreements and all(values[name] is None for name in asked):
        verdict, code = "CannotTell", errors.ExitCode.FAILED
    answer: consistency.Audit = {
        **sections.heading("TopologyAudit", here, snapshot.now),  # type: ignore[typeddict-item] # it has no key that may be left out
        "verdict": verdict,
        "phase": snapshot.phase,
        "shape": None if named is None else named.value,
        "candidates": [candidate.value for candidate in shape.candidates(vector)],
        "vector": cast("consistency.Vector", {name: values[field] for field, name in consistency.NAMES.items()}),
        "disagreements": disagreements,
        "open": unanswered,
        "unread": list(snapshot.unread),
    }
    disruption.add_hosted(answer, snapshot.known, here, transitions, snapshot.now)
    return answer, errors.ExitCode.BLOCKED if answer.get("required") else code


def control_plane_workers(known: facts.Facts) -> int | None:
    """How many control-plane nodes have the label node-role.kubernetes.io/worker; None when not known of each."""
    if isinstance(known.control_plane_nodes, facts.Unobserved):
        return None
    nodes = facts.readable(known.control_plane_nodes)
    unread = any(node.master for node in facts.readable(known.other_nodes))
    return None if unread or len(nodes) < len(known.control_plane_nodes) else sum(node.worker for node in nodes)


def add_audit(document: Document, answer: consistency.Audit) -> None:
    """`audit`: the shape, what it is derived from, then what does not fit."""
    vector, disagreements = answer["vector"], answer["disagreements"]
    sure = all(value is not None for name, value in vector.items() if name != "fencing")
    shape = f"{answer['shape']}{'' if sure else ', as far as is known'}"
    several = f"cannot tell: {' or '.join(answer['candidates'])}"
    named = ("Shape", shape if answer["shape"] is not None else several)
    sections.fields(document, [*sections.place(answer["cluster"]), ("Phase", answer["phase"] or ""), named])
    values = {name: json.dumps(value, ensure_ascii=False).strip('"') for name, value in vector.items()}
    document.add("Evidence", [(name, "not known" if value == "null" else value) for name, value in values.items()])
    if disagreements:
        rows: list[Row | tuple[str, str] | str] = []
        if answer["phase"] == "Converging":
            rows.append("The topology has just changed, and the cluster follows: some of this resolves automatically.")
        for item in disagreements:
            *first, last = item["between"]
            rows.append((item["question"], f"Between {', '.join(first)} and {last}" if first else f"Between {last}"))
            parts = (("Found", item["found"]), ("Wanted", item["wanted"]), ("Means", item["meaning"]))
            rows += [Row(part, indent=4) for part in parts]
        document.add("Inconsistencies", rows)
    else:
        agree = "Status, scheduler and nodes do not disagree" + ("." if sure else ", as far as they are known.")
        unknown = "Cannot tell whether status, scheduler and nodes disagree: they could not be read."
        document.add("", [unknown if answer["verdict"] == "CannotTell" else agree])
    unfenced = any("fencing" in item["missing"] for item in answer["open"])
    secrets = "Secrets are not read: those named fencing-credentials-* in namespace openshift-etcd would show it."
    questions = [(item["question"], f"Not known: {', '.join(item['missing'])}") for item in answer["open"]]
    document.add("Not determined", [*questions, secrets] if unfenced else questions)
    optional.show(document, answer.get("optionalOperators", []))
    sections.advised(document, answer.get("advisories", []), answer.get("required", []))
    sections.following(document, answer.get("next", []))
    sections.unread(document, answer["unread"])


def add_definitions(document: Document, answer: capi.Audit) -> None:
    """`audit --capi`: findings first, then a row for each definition."""
    platform, listed = answer["platform"], answer["definitions"]
    sections.fields(document, [*sections.place(answer["cluster"]), ("Platform", _platform(platform))])
    if not listed and not answer["unread"]:
        document.add("", ["No CustomResourceDefinition of *.cluster.x-k8s.io: nothing to look at."])
    for name, group in itertools.groupby(answer["findings"], operator.itemgetter("name")):
        findings = list(group)
        title = f"{name} (for information)" if findings[0]["informational"] else name
        rows: list[Row | tuple[str, ...]] = [(item["definition"], item["message"]) for item in findings]
        explain = shell.command("oc topology explain {}", name)
        document.add(title, [*rows, command(findings[0]["command"], 4), command(explain, 4)])
    if listed and not answer["findings"]:
        far = ", as far as it could be read" if answer["unread"] else ""
        document.add("", [f"No known dead end{far}."])
    head = ("DEFINITION", "SERVED", "STORAGE", "STORED", "UNMANAGED", "OWNERS")
    document.add("", [head, *map(_row, listed)] if listed else [])
    unmet = [(item["name"], each) for item in listed for each in item["incompatible"]]
    whys = [(name, f"of {each['name']} ({each['reason']}): {each['message']}") for name, each in unmet]
    document.add("Requirements that are not met", whys)
    document.add("What could not be read", [(item["what"], item["why"]) for item in answer["unread"]])


def _platform(platform: capi.Platform) -> str:
    if platform["present"] is None:
        return "not known: ClusterAPI cluster could not be read"
    if not platform["present"]:
        return "without ClusterAPI cluster: cluster-capi-operator installs nothing here"
    current, desired, count = platform["currentRevision"], platform["desiredRevision"], len(platform["unmanaged"] or ())
    following = f", wants {desired}" if desired not in {None, current} else ""
    applied = f"cluster-capi-operator has applied {current or 'no revision'}{following}"
    return f"{applied}, and leaves {count} definition{'s' * (count != 1)} alone"


def _row(item: capi.Definition) -> tuple[str, ...]:
    unmanaged = {True: "yes", False: "no", None: "not known"}[item["unmanaged"]]
    owners = [f"{each['name']} ({each['operation']})" for each in item["managers"] if each["party"] is not None]
    versions = (", ".join(item["served"]), item["storage"], ", ".join(item["stored"]))
    return item["name"], *(version or "none" for version in versions), unmanaged, ", ".join(owners) or "not known"
