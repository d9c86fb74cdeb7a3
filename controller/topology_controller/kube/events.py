"""Posts events.k8s.io/v1 Events beside the object that they are about.

The name is the caller's, and says which occurrence this is: an event that exists was posted before a crash, and posting
it twice would be wrong, so AlreadyExists is success. The limits are the API's own validation, applied here so that a
long text loses its end and not the whole event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from . import errors, lease
from . import resource as resources

if TYPE_CHECKING:
    from datetime import datetime

    from . import client as clients

EVENTS = resources.Resource("events.k8s.io", "v1", "events", "Event", namespaced=True)
# Kubernetes, pkg/apis/core/validation/events.go.
_NOTE_BYTES = 1024
WORD_BYTES = 128
"""Of a reason, an action, a reporting controller and a reporting instance."""


async def post(  # noqa: PLR0913 - these are the fields of an event
    client: clients.Client,
    *,
    name: str,
    regarding: dict[str, Any],
    reason: str,
    action: str,
    note: str,
    type_: Literal["Normal", "Warning"] = "Normal",
    reporting_controller: str,
    reporting_instance: str,
    namespace: str = "default",
    now: datetime,
) -> bool:
    """Create an event; return whether it is new.

    `regarding` is an object reference. `now` must be aware of its time zone. About a cluster-scoped object the
    namespace must be `default`: the API refuses others. `note` is cut at 1 KiB. Raises KubeError, and ValueError for a
    reason, action or reporter that is empty or longer than 128 bytes.
    """
    words = {
        "reason": reason,
        "action": action,
        "reportingController": reporting_controller,
        "reportingInstance": reporting_instance,
    }
    for field, word in words.items():
        if not 0 < len(word.encode()) <= WORD_BYTES:
            raise ValueError(f"{field} {word[:40]!r} must have 1 to {WORD_BYTES} letters")
    if len(note.encode()) > _NOTE_BYTES:
        # A letter may be several bytes: one that was cut is dropped.
        note = note.encode()[: _NOTE_BYTES - 3].decode(errors="ignore") + "..."
    body = {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "eventTime": lease.micro_time(now),
        "regarding": regarding,
        **words,
        "note": note,
        "type": type_,
    }
    try:
        await client.create(EVENTS, body, namespace=namespace)
    except errors.AlreadyExists:
        return False
    return True
