"""The writes of `set`, `cancel` and `accept`: read, judge, write, and begin again when the object has changed.

Each is a merge patch that carries the resourceVersion of the object that was judged: the server answers 409 when that
has changed, and 422 only when it refuses the change itself. What became of a write whose answer was lost is read.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from topology_api import vocabulary
from topology_api.types import TopologyTransition
from topology_controller import shell
from topology_controller.kube import errors as kube
from topology_controller.observe import catalog, fields, parse

from . import cluster, errors

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from topology_api.vocabulary import Phase
    from topology_controller.kube import resource as resources

    from . import answers

T = TypeVar("T")
A = TypeVar("A", "answers.Set", "answers.Cancel")
Raw = dict[str, Any]
ATTEMPTS = 3
"""How often it is read, judged and written when another client writes in between each time."""
OBSERVED_TIMEOUT = 5.0
"""Seconds that the operator has to speak of what was written; normally it takes a tenth of one."""
_UNKNOWN_WRITER = "an unknown client"
_NAME = catalog.Sources.infrastructure.selection.name or ""
_PREFIXES = ('Invalid value: "object": ', 'Invalid value: "": ', "Invalid value: ", "Forbidden: ")


class Target(NamedTuple):
    """The object that is patched. Messages name it `label`, and what is written `subject`."""

    resource: resources.Resource
    name: str
    label: str
    subject: str = "it"
    namespace: str | None = None


_INFRASTRUCTURE = Target(catalog.INFRASTRUCTURES, _NAME, catalog.INFRASTRUCTURES.kind)


async def guarded(
    connection: cluster.Connection, target: Target, judge: Callable[[int], Awaitable[tuple[T, Raw | None]]]
) -> tuple[T, Raw | None, Raw | kube.KubeError | None]:
    """Send the patch that `judge` returns (None: nothing to write), and begin again when the object has changed.

    `judge` gets the number of the attempt, from 0. Returns its last answer, the patch, and the object or the error
    other than Conflict. Raises PluginError when the object has changed each time.
    """
    before = connection.interruption.text
    for attempt in range(ATTEMPTS):
        answer, patch = await judge(attempt)
        if patch is None:
            return answer, None, None
        unknown = f"whether {target.subject} was written is not known, because the answer had not come"
        connection.interruption.text = f"{unknown}: see oc topology status"
        send = connection.client.merge_patch
        try:
            return answer, patch, await send(target.resource, target.name, patch, namespace=target.namespace)
        except kube.KubeError as error:
            if not error.outcome_unknown:
                connection.interruption.text = before
            if not isinstance(error, kube.Conflict):
                return answer, patch, error
    by = ""
    if target is _INFRASTRUCTURE:
        with contextlib.suppress(kube.KubeError, fields.Malformed):
            by = writers(await connection.client.get(catalog.INFRASTRUCTURES, _NAME)) or ""
        by = f", the last time by {by or _UNKNOWN_WRITER}"
    changed = f"{target.label} was changed {ATTEMPTS} times between reading and writing{by}. Nothing was written"
    raise errors.PluginError(changed, "The same command begins again")


async def request(
    connection: cluster.Connection,
    read: Callable[[], Awaitable[cluster.Snapshot]],
    judge: Callable[[cluster.Snapshot, Raw, int], tuple[A, errors.ExitCode]],
    wanted: str | None,
    *,
    dry_run: bool = False,
) -> tuple[A, errors.ExitCode, int | None]:
    """Set spec.desiredTopology to `wanted`, None removes it: `guarded`, and what became of the patch of the answer.

    `read` makes a snapshot of Infrastructure as it was just read; `judge` gets both, and the number of the attempt.
    Also the generation that the operator has to speak of, None when nothing was written; an answer that is Refused and
    has a patch was refused by the API server. Raises PluginError also when a right lacks, when another client
    has changed the request, which is never replaced unseen, and when it cannot be known what became of the patch.
    """

    async def attempted(attempt: int) -> tuple[tuple[A, errors.ExitCode], Raw | None]:
        raw = connection.first = connection.first or await cluster.infrastructure(connection)
        snapshot = await read()
        connection.requests.append(snapshot.infrastructure.desired)
        before, desired = connection.requests[0], connection.requests[-1]
        if desired not in {before, wanted}:
            doing, hint = "judged", "Look at it before it is replaced: oc topology status"
            if wanted is None:
                doing, hint = "cancelled", "If that is to go too, the same command cancels it"
            changed = f"has changed the request from {before or 'none'} to {desired or 'none'}"
            by = writers(raw) or _UNKNOWN_WRITER
            raise errors.PluginError(f"{by} {changed} while it was being {doing}. Nothing was written", hint)
        answer, code = judge(snapshot, raw, attempt)
        patch = None if dry_run else answer["patch"]
        return (answer, code), patch["body"] if patch is not None else None

    (answer, code), patch, outcome = await guarded(connection, _INFRASTRUCTURE, attempted)
    if patch is None or outcome is None:
        return answer, code, None
    try:
        generation, note = await _outcome(connection, patch, outcome)
    except fields.Malformed as error:
        what = "Infrastructure cluster makes no sense as the API server has it after the write"
        raise errors.PluginError(f"{what}: {error}") from error
    if generation is None:
        answer["result"] = "Refused"
        answer["message"] = f"The API server refuses {'this request' if wanted else 'to cancel the request'}: {note}"
        return answer, errors.ExitCode.BLOCKED, None
    answer["result"] = "Written"
    if note:
        answer["warnings"].append(note)
    return answer, errors.ExitCode.DONE, generation


async def _outcome(connection: cluster.Connection, body: Raw, outcome: Raw | kube.KubeError) -> tuple[int | None, str]:
    """The generation that was written, and how that is known when the answer was lost; or None, and the refusal."""
    wanted: str | None = body["spec"][vocabulary.DESIRED]
    if not isinstance(outcome, kube.KubeError):
        if wanted is not None and _desired(outcome) != wanted:
            dropped = f"the API server took the write and dropped spec.{vocabulary.DESIRED}: its API lacks our fields"
            raise errors.PluginError(dropped, cluster.INSTALL_FIELDS)
        return fields.whole(outcome, "metadata.generation"), ""
    if outcome.outcome_unknown:
        return await _read_back(connection, body, outcome)
    # The 403 of an admission policy and of a webhook is no missing right.
    denied = any(words in outcome.message for words in (" denied request: ", " denied the request: "))
    if outcome.status == 422 or denied:
        return None, _own_words(outcome.message or outcome.reason)
    if isinstance(outcome, kube.Forbidden):
        # The cluster role of docs/delegation.md.
        hint = f"Nothing was written. {connection.grant('topology-requester')}"
        raise errors.PluginError(connection.lacks(outcome), hint) from outcome
    raise cluster.explained(connection, outcome) from outcome


async def _read_back(connection: cluster.Connection, body: Raw, lost: kube.KubeError) -> tuple[int, str]:
    unanswered = f"the write was not answered ({lost.message or lost.reason})"
    try:
        raw = await connection.client.get(catalog.INFRASTRUCTURES, _NAME)
    except kube.KubeError as error:
        unread = f"Infrastructure cannot be read again ({error}): it is not known whether it was executed"
        hint = "Once the API server answers again, oc topology status shows it"
        raise errors.PluginError(f"{unanswered}, and {unread}", hint) from error
    desired, wanted = _desired(raw), body["spec"][vocabulary.DESIRED]
    is_unchanged = (fields.text(raw, "metadata.resourceVersion") or "") == body["metadata"]["resourceVersion"]
    if desired == wanted and not is_unchanged:
        note = f"T{unanswered[1:]}, but Infrastructure was read again, and there it is"
        return fields.whole(raw, "metadata.generation"), note
    if is_unchanged:
        before = "when Infrastructure was read again it was as before: nothing was written"
        raise errors.PluginError(f"{unanswered}, and {before}", "The same command begins again")
    by = f"Infrastructure has been changed by {writers(raw) or _UNKNOWN_WRITER} since"
    hint = "Look at it first: oc topology status"
    raise errors.PluginError(f"{unanswered}, and {by}: the request is {desired or 'none'} now", hint)


def _own_words(message: str) -> str:
    """The message without what the server puts before it: kind, name, path, and the value that it looked at."""
    _, prefix, rest = message.partition(" is invalid: ")
    if not prefix:
        _, prefix, rest = message.partition(" is forbidden: ")
    text = rest if prefix else message
    for sign in _PREFIXES:
        path, prefix, rest = text.partition(sign)
        if prefix and " " not in path.removesuffix(": ").strip():
            return rest
    return text


def patch(version: str, wanted: str | None, acting: cluster.Acting | None = None) -> answers.Patch:
    """The patch that sets spec.desiredTopology, good for this resourceVersion only; `wanted` None removes the field."""
    body = {"metadata": {"resourceVersion": version}, "spec": {vocabulary.DESIRED: wanted}}
    return {"type": "application/merge-patch+json", "body": body, "command": command(body, acting)}


def command(body: Raw, acting: cluster.Acting | None = None) -> str:
    """The `oc patch` that sends this merge patch of Infrastructure `cluster`, in that user's name."""
    parts = [shell.command("oc patch infrastructure {} --type merge", _NAME)]
    if acting is not None:
        flags = [f"--as={acting.user}", *(f"--as-group={group}" for group in acting.groups)]
        flags += [f"--as-uid={acting.uid}"] if acting.uid is not None else []
        parts += [shell.command("{}", flag) for flag in flags]
    return " ".join([*parts, shell.command("-p {}", json.dumps(body, separators=(",", ":")))])


def _desired(raw: Raw) -> str | None:
    return fields.text(raw, f"spec.{vocabulary.DESIRED}")


def writers(raw: Raw, name: str = "") -> str | None:
    """The field manager that wrote Infrastructure last, or this field of its spec; several of one second; or None."""
    entries = [
        (fields.text(entry, "time") or "", fields.text(entry, "manager") or _UNKNOWN_WRITER)
        for entry in fields.items(raw, "metadata.managedFields")
        if not name or f"f:{name}" in fields.mapping(entry, "fieldsV1.f:spec")
    ]
    latest = max((time for time, _ in entries), default="")
    return " or ".join(dict.fromkeys(manager for time, manager in entries if time == latest)) or None


async def observed(
    connection: cluster.Connection, until: Callable[[TopologyTransition], T | None], seconds: float = OBSERVED_TIMEOUT
) -> T | None:
    """Read the record until `until` has an answer for it, for at most so many `seconds`; None when it has none."""
    pause = 0.1
    try:
        async with asyncio.timeout(seconds):
            while True:
                await asyncio.sleep(pause)
                pause = min(2 * pause, 1.0)
                try:
                    record = parse.infrastructure(await connection.client.get(catalog.INFRASTRUCTURES, _NAME)).record
                except (kube.KubeError, ValueError):
                    # A node with an API server may be restarting.
                    continue
                if isinstance(record, TopologyTransition) and (answer := until(record)) is not None:
                    return answer
    except TimeoutError:
        return None


async def observed_generation(
    connection: cluster.Connection, generation: int, phase: Phase | None = None
) -> TopologyTransition | None:
    """The first record that speaks of this generation, and is in that phase if one is given; None when none comes."""

    def until(record: TopologyTransition) -> TopologyTransition | None:
        return record if (record.observed_generation or 0) >= generation and phase in {None, record.phase} else None

    return await observed(connection, until)
