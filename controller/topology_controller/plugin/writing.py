"""The one write of `set` and `cancel`: spec.desiredTopology, and only if nothing has changed since it was judged.

It is a merge patch that carries the resourceVersion of the Infrastructure that was read last, which is the one that
everything was judged by: the server answers 409 when it has moved on, and 422 only when it refuses the wish itself. (A
JSON patch with a test would be answered with 422 in both cases.) It takes the right `patch`, as `oc patch` does.

A write whose answer was lost may have been executed, so it is read what became of it, and that is told. `setting` and
`cancelling` decide whether it is sent at all, and what to do when the object has moved on.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from topology_api import vocabulary

from ..kube import errors as kube
from ..observe import catalog, fields
from . import connection, errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from . import answers

Raw = dict[str, Any]
ATTEMPTS = 3
"""How often it is read, judged and written, when somebody else writes in between each time."""
_NAME = catalog.INFRASTRUCTURE.selection.name or ""
_UNKNOWN = "whether it was written is not known, because the answer had not come: oc topology status tells"
_DENIED = (" denied request: ", " denied the request: ")
"""So says an admission policy, and so a webhook; their 403 is no missing right."""


class Moved(Exception):  # noqa: N818 - what was found; nothing is broken
    """Infrastructure has changed since it was read, so nothing was written."""


class Refused(Exception):  # noqa: N818 - what the server said of the wish
    """The API server does not accept this wish now. `why` is its own message."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Written:
    """Infrastructure as the server has it now; `note` says how that is known when the answer was lost."""

    raw: Raw
    note: str = ""

    @property
    def generation(self) -> int:
        """The generation that the operator has to speak of."""
        return fields.whole(self.raw, "metadata.generation")

    @property
    def version(self) -> str:
        """Its resourceVersion."""
        return fields.text(self.raw, "metadata.resourceVersion") or ""


def patch(version: str, wish: str | None, acting: connection.Acting | None = None) -> answers.Patch:
    """What is sent: `wish` None removes it. `version` is the resourceVersion that it is good for."""
    body = {"metadata": {"resourceVersion": version}, "spec": {vocabulary.WISH: wish}}
    words = ["oc", "patch", "infrastructure", _NAME, "--type", "merge"]
    if acting is not None:
        words += [f"--as={acting.user}", *(f"--as-group={one}" for one in acting.groups)]
        words += [f"--as-uid={acting.uid}"] if acting.uid is not None else []
    text = json.dumps(body, separators=(",", ":"))
    return {"type": "application/merge-patch+json", "body": body, "command": f"{shlex.join(words)} -p '{text}'"}


async def write(made: connection.Connection, version: str, wish: str | None) -> Written:
    """Send it. Raises Moved, Refused, and PluginError when a right lacks or there is no telling what happened."""
    try:
        return await _write(made, version, wish)
    except fields.Malformed as error:
        raise errors.PluginError(
            f"Infrastructure cluster makes no sense as the API server has it after the write: {error}"
        ) from error


async def _write(made: connection.Connection, version: str, wish: str | None) -> Written:
    before = made.interruption.said
    made.interruption.now(_UNKNOWN)
    try:
        raw = await made.client.merge_patch(catalog.INFRASTRUCTURES, _NAME, patch(version, wish)["body"])
    except kube.KubeError as error:
        if error.outcome_unknown:
            return await _look(made, version, wish, error)
        made.interruption.now(before)
        raise _refusal(made, error) from error
    if wish is not None and wished(raw) != wish:
        raise errors.PluginError(
            f"the API server took the write and dropped spec.{vocabulary.WISH}: its API lacks our fields",
            f"Install them with the commands of: {vocabulary.OPERATOR_NAME} manifests --crd-patch",
        )
    return Written(raw)


async def _look(made: connection.Connection, version: str, wish: str | None, lost: kube.KubeError) -> Written:
    """Read what became of a write that was not answered."""
    why = lost.message or lost.reason
    try:
        raw = await made.client.get(catalog.INFRASTRUCTURES, _NAME)
    except kube.KubeError as error:
        raise errors.PluginError(
            f"the write was not answered ({why}), and Infrastructure cannot be read again ({error}): it is not known "
            "whether it was executed",
            "Once the API server answers again, oc topology status tells",
        ) from error
    now = Written(raw)
    if wished(raw) == wish and now.version != version:
        return Written(raw, f"The write was not answered ({why}), but Infrastructure was read again, and there it is")
    if now.version == version:
        raise errors.PluginError(
            f"the write was not answered ({why}), and when Infrastructure was read again it was as before: nothing was "
            "written",
            "The same command begins again",
        )
    raise errors.PluginError(
        f"the write was not answered ({why}), and Infrastructure has been changed by {changed_by(raw)} since: the wish "
        f"is {wished(raw) or 'none'} now",
        "Look at it first: oc topology status",
    )


def _refusal(made: connection.Connection, error: kube.KubeError) -> Exception:
    if isinstance(error, kube.Conflict):
        return Moved()
    if error.status == 422 or any(sign in error.message for sign in _DENIED):
        return Refused(_own_words(error.message or error.reason))
    if isinstance(error, kube.Forbidden):
        return errors.PluginError(made.lacks(error), f"Nothing was written. The server says: {error.message}")
    return connection.explained(made, error)


def _own_words(message: str) -> str:
    """The message without what the server puts before it: kind, name, path, and the value that it looked at."""
    _, found, rest = message.partition(" is invalid: ")
    if not found:
        _, found, rest = message.partition(" is forbidden: ")
    text = rest if found else message
    for sign in ('Invalid value: "object": ', 'Invalid value: "": ', "Invalid value: ", "Forbidden: "):
        path, found, rest = text.partition(sign)
        if found and " " not in path.removesuffix(": ").strip():
            return rest
    return text


def wished(raw: Raw) -> str | None:
    """The wish in a raw Infrastructure."""
    return fields.text(raw, f"spec.{vocabulary.WISH}")


def wished_by(raw: Raw) -> str | None:
    """The field manager that wrote the wish last, None when nobody is known to have."""
    field = f"f:{vocabulary.WISH}"
    return _newest(entry for entry in _managed(raw) if field in fields.mapping(entry, "fieldsV1.f:spec"))


def changed_by(raw: Raw) -> str:
    """Who wrote Infrastructure last: a field manager, several when they wrote within one second."""
    return _newest(_managed(raw)) or "somebody unknown"


def _managed(raw: Raw) -> list[Raw]:
    return fields.items(raw, "metadata.managedFields")


def _newest(entries: Iterable[Raw]) -> str | None:
    """The times of managed fields have whole seconds, so there may be more than one that is the newest."""
    latest, managers = "", list[str]()
    for entry in entries:
        when, manager = fields.text(entry, "time") or "", fields.text(entry, "manager") or "somebody unknown"
        if when > latest:
            latest, managers = when, []
        if when == latest and manager not in managers:
            managers.append(manager)
    return " or ".join(managers) or None


async def who(made: connection.Connection) -> str:
    """Ask who wrote Infrastructure last."""
    try:
        return changed_by(await made.client.get(catalog.INFRASTRUCTURES, _NAME))
    except (kube.KubeError, fields.Malformed):
        return "somebody unknown"


async def contended(made: connection.Connection) -> errors.PluginError:
    """What to say when somebody else was faster each time."""
    return errors.PluginError(
        f"Infrastructure was changed {ATTEMPTS} times between reading and writing, the last time by {await who(made)}. "
        "Nothing was written",
        "The same command begins again",
    )
