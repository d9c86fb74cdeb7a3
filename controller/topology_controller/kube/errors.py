"""Everything that a request can end with, other than an answer.

One class per way to fail, because callers do different things about each; the fields say which object
and which verb, so that a message can be written without the caller's help. The text is built here and
nowhere else, and nothing reaches it that could be a credential.

Two questions decide what a caller may do, and both are answered by the error itself:
`may_pass` (can waiting help, with nobody changing the request or our rights?) and
`outcome_unknown` (may a write have happened although no answer came?).
`answer` makes these from responses, `client` from the transport, `watch` passes them on as `Disturbed`.
"""

# ruff: noqa: N818 - the names say what was found; every caller sees the module's name before them

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from . import logged

if TYPE_CHECKING:
    from . import resource as resources

READS = frozenset({"get", "list", "watch"})
_LONGEST_MESSAGE = 400


def clean(text: str, longest: int = _LONGEST_MESSAGE) -> str:
    """Make foreign text fit for one line of a log: no credentials, no control characters, not too long."""
    return logged.one_line(logged.redacted(text[: 20 * longest]), longest)


class KubeError(Exception):
    """A request that did not end as asked.

    `status` is the HTTP status, 0 when no answer came. `reason` is the API's own word (`Conflict`), or
    ours when the API said none. `retry_after` is in seconds, when the server said so. `sent` is False
    when the request provably never left.
    """

    may_pass: ClassVar[bool] = False
    _may_have_happened: ClassVar[bool] = False

    def __init__(  # noqa: PLR0913, PLR0917 - an error carries what its message needs; it is built in two places only
        self,
        verb: str,
        resource: resources.Resource,
        namespace: str | None,
        name: str | None,
        status: int,
        reason: str,
        message: str,
        retry_after: float | None = None,
        *,
        sent: bool = True,
    ) -> None:
        super().__init__(verb, resource, namespace, name, status, reason, message, retry_after)
        self.verb = verb
        self.resource = resource
        self.namespace = namespace
        self.name = name
        self.status = status
        self.reason = clean(reason, 80)
        self.message = clean(message)
        self.retry_after = retry_after
        self.sent = sent

    @property
    def outcome_unknown(self) -> bool:
        """Whether this was a write that may or may not have happened: read before you write again."""
        return self._may_have_happened and self.sent and self.verb not in READS

    @property
    def same_as(self) -> tuple[object, ...]:
        """What makes two errors the same news: compare these to find out whether the state has changed."""
        return (type(self), self.verb, self.resource, self.namespace, self.name, self.status, self.reason)

    @property
    def fields(self) -> dict[str, object]:
        """What a structured log line says of it beside its text: object, verb, HTTP status and reason where known."""
        about = {"object": self.resource.describe(self.name, self.namespace), "verb": self.verb}
        return {**about, **{name: found for name, found in (("code", self.status), ("reason", self.reason)) if found}}

    def __str__(self) -> str:
        found = " ".join(part for part in (str(self.status or ""), self.reason) if part)
        about = self.resource.describe(self.name, self.namespace)
        return f"cannot {self.verb} {about}: {found}" + (f": {self.message}" if self.message else "")


class Unreachable(KubeError):
    """No connection, or it was lost before the answer was complete."""

    may_pass = True
    _may_have_happened = True


class TimedOut(KubeError):
    """No complete answer in time."""

    may_pass = True
    _may_have_happened = True


class Unauthorized(KubeError):
    """401, or no credentials could be had. Fresh credentials were tried before this was raised."""


class Forbidden(KubeError):
    """403: somebody has to grant a right."""


class NotFound(KubeError):
    """404: no such object, or no such kind."""


class Conflict(KubeError):
    """409: the object has moved on; read it again."""


class AlreadyExists(KubeError):
    """409 with reason AlreadyExists: somebody has created it."""


class Gone(KubeError):
    """410: this version is no longer kept; list again."""


class Invalid(KubeError):
    """400, 413, 415, 422 and the like: the request itself is wrong."""


class Throttled(KubeError):
    """429: not executed; come back later."""

    may_pass = True


class ServerError(KubeError):
    """5xx."""

    may_pass = True
    _may_have_happened = True


class Malformed(KubeError):
    """An answer that is not what the API promises: HTML, cut JSON, another kind, a redirect.

    Something between us and the server is often the cause, and then it passes.
    """

    may_pass = True
    _may_have_happened = True


_BY_STATUS: dict[int, type[KubeError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    408: TimedOut,
    409: Conflict,
    410: Gone,
    429: Throttled,
}


def class_for(status: int, reason: str) -> type[KubeError]:
    """Say which error an HTTP status (with the API's reason, or "") stands for."""
    if status == 409 and reason == "AlreadyExists":
        return AlreadyExists
    # The API says "Expired" for a version that is too old, and older servers only say it in the reason.
    if reason == "Expired":
        return Gone
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 400 <= status < 500:
        return Invalid
    return ServerError if 500 <= status < 600 else Malformed
