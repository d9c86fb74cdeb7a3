"""The sections that several answers have: how they begin, checks, steps, and what could not be read. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from topology_api import vocabulary
from topology_controller import shell
from topology_controller.checks import etcd
from topology_controller.checks import machines as checked
from topology_controller.kube import lease as leases
from topology_controller.observe import facts

from . import answers, cluster
from .document import Row, command

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence
    from datetime import datetime

    from topology_controller.report import state

    from .document import Document

REQUIRED: Final = "Required"
ABSENT: Final = frozenset({"NotRunning", "NotInstalled"})
"""States of an operator that acts on nothing."""
REFUSED: Final = "Nothing was written"


def heading(kind: str, here: facts.Infrastructure, now: datetime) -> answers.Answer:
    """What an answer of this kind begins with: which cluster this is, and its topology now."""
    return {
        "apiVersion": answers.API_VERSION,
        "kind": kind,
        "evaluated": answers.stamp(now),
        "cluster": {
            "name": here.cluster_name,
            "platform": here.platform,
            "topology": {"controlPlane": here.control_plane, "infrastructure": here.infrastructure},
        },
    }


def judged(snapshot: cluster.Snapshot, kind: str) -> answers.Judged:
    """What an answer of this kind about the request begins with."""
    here, operator = snapshot.infrastructure, operator_state(snapshot)
    return {**heading(kind, here, snapshot.now), "desired": here.desired, "phase": snapshot.phase, "operator": operator}


def operator_state(snapshot: cluster.Snapshot) -> answers.Operator:
    """Whether the operator runs, by its Lease: conditions and the record outlive the operator."""
    state, message = _operator_state(snapshot)
    return {"state": state, "message": message}


def _operator_state(snapshot: cluster.Snapshot) -> tuple[answers.Running, str]:
    held, own = snapshot.operator, snapshot.known.own_operator
    if isinstance(held, facts.Unobserved) and not held.missing:
        return "Unknown", f"Cannot tell whether the operator runs: {held}"
    if isinstance(held, facts.Unobserved):
        if isinstance(own, facts.Unobserved) and own.missing:
            absent = f"ClusterOperator {vocabulary.CLUSTER_OPERATOR} does not exist: the operator is not installed"
            return "NotInstalled", f"{absent}, so a request would have no effect"
        if not isinstance(own, facts.Unobserved) and own.elsewhere:
            return "Unknown", "The operator runs in another cluster, and only there is it seen whether it runs"
        return "NotRunning", "The operator has no Lease: it has not run yet, or not in this namespace"
    if not held.holder:
        return "NotRunning", "The operator was stopped: no request is acted on until it runs"
    holder = held.holder.partition("_")[0]
    if held.renew_time is None:
        return "Unknown", f"{holder} holds the Lease and has never renewed it"
    # Of a Lease that does not say its own duration: the longest that the operator uses; and clocks may differ.
    seconds = 270 if held.duration_seconds is None else min(held.duration_seconds, leases.LONGEST)
    if snapshot.now - held.renew_time <= timedelta(seconds=seconds + 30):
        return "Running", f"leader: {holder}"
    last = f"{holder} renewed its Lease at {answers.stamp(held.renew_time)} for the last time"
    return "NotRunning", f"{last}: no request is acted on until the operator runs"


def head(
    document: Document, answer: answers.Judged, more: Iterable[tuple[str, str]] = (), *, request: str = ""
) -> None:
    """The paragraph that an answer begins with. `request` stands for what is requested, where that needs more words."""
    requested = ("Request", request or answer["desired"] or "none")
    operator, phase = ("Operator", running(answer["operator"])), ("Phase", answer["phase"] or "")
    fields(document, [*place(answer["cluster"]), requested, operator, phase, *more])


def running(operator: answers.Operator) -> str:
    """Whether the operator runs, in one line."""
    is_running = operator["state"] == "Running"
    return f"Running ({operator['message']})" if is_running else f"{operator['state']}: {operator['message']}"


def fields(document: Document, pairs: Iterable[tuple[str, str]]) -> None:
    """Names and values; a name without a value is left out."""
    document.add("", [Row(pair, indent=0) for pair in pairs if pair[1]])


def place(of: state.Cluster) -> list[tuple[str, str]]:
    """Which cluster this is, and its topology."""
    return [
        ("Cluster", f"{of['name'] or 'without a name'}, platform {of['platform'] or 'unknown'}"),
        ("Topology", f"{pair(of['topology'])} (control plane/infrastructure)"),
    ]


def checks(document: Document, title: str, answered: Sequence[answers.Check | state.Check]) -> None:
    """Checks with what was found; on a screen those that are met by name only."""
    # What is not met is looked for; the order of the definition stays otherwise.
    ordered = sorted(answered, key=lambda check: ["Unmet", "Unknown", "Met"].index(check["status"]))
    shown = [check for check in ordered if document.whole or check["status"] != "Met"]
    document.add(title, [(check["status"], check["name"], check["message"]) for check in shown])
    met = ", ".join(check["name"] for check in answered if check not in shown)
    document.add(f"{title}: met", [met] if met else [])


def explained(document: Document, answered: Iterable[answers.Check | state.Check]) -> None:
    """Where to read on about the first check that is not met; its message says only what was found."""
    if name := next((check["name"] for check in answered if check["status"] != "Met"), ""):
        document.add("What a check asks, and what to do", [command(shell.command("oc topology explain {}", name))])


def steps(document: Document, title: str, expected: Sequence[answers.Expected], *, aligned: bool = False) -> None:
    """What is to be expected, or done by a person, each with its command, which ends a table unless `aligned`."""
    rows, before = list[Row](), ""
    wide = max((len(step["name"]) for step in expected), default=0) if aligned else 0
    for step in expected:
        name, before = "" if step["name"] == before else step["name"], step["name"]
        rows.append(Row((f"{name:<{wide}}", step["message"])))
        rows += [command(step["command"], 4)] if step["command"] else []
    document.add(title, rows)


def divided(advisories: Sequence[answers.Expected], names: Container[str]) -> list[tuple[str, list[answers.Expected]]]:
    """What a person should do, by title: first what is required, which has one of these names."""
    required = [advisory for advisory in advisories if advisory["name"] in names]
    return [(REQUIRED, required), ("Recommended", [advisory for advisory in advisories if advisory not in required])]


def advised(document: Document, advisories: Sequence[answers.Expected], names: Container[str]) -> None:
    """What a person should do, each with its command."""
    for title, some in divided(advisories, names):
        steps(document, title, some)


def following(document: Document, expected: Sequence[answers.Expected]) -> None:
    """What a person can do next; what goes on by itself is a sentence before that."""
    rows: list[Row | str] = []
    for step in expected:
        if step["command"]:
            rows += [f"{step['message']}:", command(step["command"], 4)]
        else:
            document.add("", [sentence(step["message"])])
    document.add("What can be done now", rows)


def unread(document: Document, objects: Sequence[answers.Unread], operator: answers.Operator | None = None) -> None:
    """What could not be read; of all rights that lack, the one role that has them, and who gives it."""
    # Who lacks nothing but what the operator adds to that role has the role without the addition.
    forbidden, role = [fact["what"] for fact in objects if fact["right"]], cluster.READER
    common = [what for what in forbidden if cluster.HOSTS not in what]
    others = sum(not any(kind in what for kind in cluster.ADDED) for what in common)
    is_installed = operator is None or operator["state"] != "NotInstalled"
    is_added = len(common) == others or (is_installed and others > 0)
    if forbidden:
        count = "1 object" if len(forbidden) == 1 else f"{len(forbidden)} objects"
        few = f": {', '.join(forbidden)}" if len(forbidden) <= 3 else ""
        rows: list[Row | str] = [f"You may not read {count} that this depends on{few}."]
        if others:
            granted = len(common) if is_added else others
            grants = "that" if granted == len(forbidden) else f"{granted} of them"
            rows = [f"{rows[0]} Role {role} grants {grants}:", command(document.caller.grant(role, "USER"), 4)]
        if not is_added:
            once = f"once ClusterRole {cluster.ADDED_TO_READER} is installed, which comes with the operator"
            rows.append(f"Role {role} grants {'the others' if others else 'that'} {once}.")
        if common != forbidden:
            by = f"`{vocabulary.OPERATOR_NAME} manifests --bare-metal-host-reader` prints"
            rows.append(f"BareMetalHosts: once ClusterRole {cluster.HOST_READER} is installed, which {by}.")
        document.add("Permissions", rows)
    document.add("What could not be read", [(fact["what"], fact["why"]) for fact in objects if not fact["right"]])


def pair(of: state.Pair) -> str:
    """Both topologies in one word."""
    return f"{of['controlPlane'] or 'none'}/{of['infrastructure'] or 'none'}"


def sentence(text: str) -> str:
    """The text with a full stop."""
    return text if text.endswith(".") else f"{text}."


def machines(known: facts.Facts) -> list[answers.Machine]:
    """One entry for each Machine, more where it has the addresses of several nodes. Empty where they are not read."""
    published = etcd.members(known)
    voters = frozenset() if isinstance(published, facts.Unobserved) else frozenset(published.values())
    addresses = {node.name: node.addresses for node in facts.readable(known.control_plane_nodes)}
    return [
        {
            "node": claim.node,
            "machine": claim.machine.name,
            "phase": claim.machine.phase,
            "authority": claim.machine.authority,
            "boundBy": claim.bound_by,
            "leaving": claim.leaving,
            "host": claim.machine.host if claim.host is None else claim.host.name,
            "hostState": None if claim.host is None else claim.host.state,
            # An arbiter is no control-plane node: only its Machine knows its address here.
            "voter": not voters.isdisjoint(addresses.get(claim.node or "", claim.machine.addresses)),
        }
        for claim in checked.claims(known)
    ]


def add_machines(document: Document, items: Sequence[answers.Machine]) -> None:
    """Add the Machines of the control plane, where Machines are in use: whose node each is, and how far it is."""
    rows, in_use = [], any(item["phase"] == "Running" for item in items)
    for item in items if in_use else ():
        by_address = item["node"] is None or item["boundBy"] == checked.ADDRESS
        node = f"{item['node'] or 'no node'}{'' if by_address else ' (by nodeRef only)'}"
        host = f"{item['host']} ({item['hostState'] or 'no state'})" if item["host"] is not None else ""
        phase = "leaving" if item["leaving"] else item["phase"] or "no phase"
        rows.append((item["machine"], phase, node, host, "voter" if item["voter"] else ""))
    document.add("Machines of the control plane", rows)
