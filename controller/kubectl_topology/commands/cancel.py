"""`cancel`: cancels the request, as long as the topology has not changed; one that is fulfilled it removes.

spec.desiredTopology is removed, not set back: that is right also for a transition of the infrastructure alone, whose
request equals the topology of the control plane. The server does it only if Infrastructure is as it was read (`write`),
so a change of the topology that comes in between wins, and this says what there is instead. `judged` is pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topology_api import vocabulary
from topology_api.vocabulary import Phase
from topology_controller.decide import records

from .. import cluster, disruption, errors, sections, simulate, write
from . import show

if TYPE_CHECKING:
    import argparse

    from topology_controller.definitions import load

    from .. import answers
    from ..document import Document


_INSTEAD = (
    simulate.item("Status", "How far it is, and what it waits for", "oc topology status"),
    simulate.item("Wait", "Wait until it is completed", "oc topology wait"),
    simulate.item(
        "Accept",
        "Past the deadline only: accept that a check of a component will not be met, and complete without it",
        "oc topology accept --check NAME",
    ),
)
"""What there is where there is no way back."""


async def run(connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    """Cancel the request and print what became of that."""
    answer, code = await cancel(connection, transitions)
    show(options, answer, add_cancel)
    return code


async def cancel(
    connection: cluster.Connection, transitions: load.Transitions
) -> tuple[answers.Cancel, errors.ExitCode]:
    """Read, judge, write, and see whether the operator answers. Raises PluginError as `write.request` does."""
    snapshots: list[cluster.Snapshot] = []

    def judge(snapshot: cluster.Snapshot, raw: write.Raw, attempt: int) -> tuple[answers.Cancel, errors.ExitCode]:
        snapshots.append(snapshot)
        answer, code = judged(snapshot, transitions, write.writers(raw, vocabulary.DESIRED), connection.acting)
        if attempt and answer["patch"] is None:
            answer["message"] = f"Infrastructure changed while the request was being cancelled. {answer['message']}"
        return answer, code

    answer, code, generation = await write.request(connection, lambda: cluster.head(connection), judge, None)
    if answer["result"] == "Refused":
        answer["next"] = [*_INSTEAD]
    if generation is None:
        return answer, code
    connection.interruption.text = f"the request {answer['desired']} was cancelled. See: oc topology status"
    here = records.pair(snapshots[-1].infrastructure)
    answer["message"] = f"The request {answer['desired']} is cancelled; the topology was not changed"
    if _is_fulfilled(snapshots[-1], transitions):
        answer["message"] = f"The fulfilled request {answer['desired']} is removed; the cluster stays {here}"
    if answer["operator"]["state"] in {"Running", "Unknown"}:
        record = await write.observed_generation(connection, generation, Phase.IDLE)
        late = f"The operator has not gone back to Idle within {write.OBSERVED_TIMEOUT:g} s; the request is cancelled"
        if record is not None:
            answer["phase"] = record.phase.value
        else:
            answer["warnings"].append(f"{late} anyway. Look at it with: oc topology status")
    elif answer["phase"] not in {None, Phase.IDLE.value}:
        stale = f"The operator does not run, so its record still says {answer['phase']} until it does"
        answer["warnings"].append(stale)
    return answer, code


def judged(
    snapshot: cluster.Snapshot, transitions: load.Transitions, by: str | None, acting: cluster.Acting | None = None
) -> tuple[answers.Cancel, errors.ExitCode]:
    """Whether there is a request that can be cancelled. `by` is the field manager that made it."""
    result, message, code = _result(snapshot, transitions)
    here = snapshot.infrastructure
    plan = simulate.item("Plan", "What can be requested from here", "oc topology plan")
    audit = simulate.item("Audit", "Which parts of this cluster do not follow its topology", "oc topology audit")
    instead = disruption.hosted_steps(here) or [audit if here.control_plane == vocabulary.EXTERNAL else plan]
    return {
        **sections.judged(snapshot, "TopologyCancel"),
        "requestedBy": by if here.desired is not None else None,
        "result": result,
        "message": message,
        "patch": write.patch(here.resource_version, None, acting) if result == "WouldWrite" else None,
        "warnings": [],
        "next": [*_INSTEAD] if result == "Refused" else instead,
    }, code


def _result(snapshot: cluster.Snapshot, transitions: load.Transitions) -> tuple[answers.Result, str, errors.ExitCode]:
    desired, record = snapshot.infrastructure.desired, snapshot.record
    here = records.pair(snapshot.infrastructure)
    # The transition of this record counts, and only where it is that of this request.
    is_reached = record is not None and record.target is not None and record.target == here
    follows = record is not None and record.phase is Phase.CONVERGING and is_reached
    if follows and desired in {None, here.control_plane}:
        return "Refused", (
            f"The topology has changed to {here}, which cannot be cancelled any more: other operators have begun to "
            "follow, and a change back is not supported"
        ), errors.ExitCode.BLOCKED  # fmt: skip
    if desired is None:
        return "Unchanged", "There is no request, so there is nothing to cancel", errors.ExitCode.DONE
    if _is_fulfilled(snapshot, transitions):
        message = f"The request {desired} is fulfilled and can be removed; the cluster stays {here}"
        return "WouldWrite", message, errors.ExitCode.DONE
    return "WouldWrite", f"The request {desired} can be cancelled: the topology has not changed", errors.ExitCode.DONE


def _is_fulfilled(snapshot: cluster.Snapshot, transitions: load.Transitions) -> bool:
    """Is the cluster what is requested, with nothing under way or to come?"""
    desired, here = snapshot.infrastructure.desired, records.pair(snapshot.infrastructure)
    leads = any(definition.target.control_plane == desired for definition in transitions.starting_at(here))
    return desired == here.control_plane and not leads


def add_cancel(document: Document, answer: answers.Cancel) -> None:
    """`cancel`."""
    request = ", made by ".join(filter(None, (answer["desired"], answer["requestedBy"])))
    if answer["result"] == "Written":
        # Everything here is as it is after that.
        request = f"none; before: {request}"
    sections.head(document, answer, request=request)
    document.add("Warning", map(sections.sentence, answer["warnings"]))
    refused = f" {sections.REFUSED}." if answer["result"] == "Refused" else ""
    document.add("", [(answer["result"], f"{sections.sentence(answer['message'])}{refused}")])
    sections.following(document, answer["next"])
