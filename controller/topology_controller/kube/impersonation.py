"""In whose name a user of a kubeconfig acts: `as`, and what goes with it.

Somebody may have rights and say in the kubeconfig that they are not to be used: that every request is made in the name
of another user. The library does not know these fields, and would ask with all the rights of whoever logs in. So
`config` takes them from the user, and `client` sends them with every request that is not made in yet another name.
"""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kubernetes_asyncio.client.configuration import Configuration

_HELD = "topology_acting"
_WITH = ("as-uid", "as-groups", "as-user-extra")


class ImpersonationError(ValueError):
    """What a kubeconfig says about it makes no sense."""


@dataclass(frozen=True, slots=True)
class Acting:
    """Somebody else in whose name everything is asked, as `kubectl --as` has it. Needs the right to impersonate.

    `extra` are names and values; a name may come more than once.
    """

    user: str
    groups: tuple[str, ...] = ()
    uid: str | None = None
    extra: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, user: str | None, groups: Iterable[str] = (), uid: str | None = None) -> Acting | None:
        """Return nobody when no user is named: the rest makes no sense alone."""
        return None if user is None else cls(user, tuple(groups), uid)

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """What the API server is told with each request."""
        uid = (("Impersonate-Uid", self.uid),) if self.uid is not None else ()
        # A name may have letters that no header has: client-go escapes them so.
        extra = ((f"Impersonate-Extra-{urllib.parse.quote(name, safe='')}", value) for name, value in self.extra)
        return (("Impersonate-User", self.user), *(("Impersonate-Group", one) for one in self.groups), *uid, *extra)

    def __str__(self) -> str:
        return f"{self.user} in {', '.join(self.groups)}" if self.groups else self.user


def of(user: Mapping[str, Any]) -> Acting | None:
    """Return in whose name a user of a kubeconfig acts, None for their own. Raises ImpersonationError."""
    name = _text(user.get("as") or "", "as")
    alone = [field for field in _WITH if user.get(field)]
    if not name:
        if alone:
            raise ImpersonationError(f"{alone[0]} is about the user that `as` names, and there is no `as`")
        return None
    uid = _text(user.get("as-uid") or "", "as-uid")
    groups = _texts(user.get("as-groups") or [], "as-groups")
    extra = user.get("as-user-extra") or {}
    if not isinstance(extra, dict):
        raise ImpersonationError("as-user-extra is not a mapping")
    pairs = [(_text(key, "as-user-extra"), value) for key, values in extra.items() for value in _values(key, values)]
    return Acting(name, tuple(groups), uid or None, tuple(pairs))


def hold(configuration: Configuration, acting: Acting | None) -> None:
    """Let a configuration act in that name."""
    vars(configuration)[_HELD] = acting


def held(configuration: Configuration) -> Acting | None:
    """Return in whose name a configuration acts."""
    found = vars(configuration).get(_HELD)
    return found if isinstance(found, Acting) else None


def _values(name: str, values: Any) -> list[str]:
    return _texts(values, f"as-user-extra {name}")


def _texts(values: Any, field: str) -> list[str]:
    if not isinstance(values, list):
        raise ImpersonationError(f"{field} is not a list")
    return [_text(value, field) for value in values]


def _text(value: Any, field: str) -> str:
    """Return a text that a header may have."""
    if not isinstance(value, str) or not value.isprintable() or value != value.strip():
        raise ImpersonationError(f"{field} has what is no name")
    return value
