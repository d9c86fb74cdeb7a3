"""From what a read ended with to a fact: the one place where errors become `Unobserved`.

Shared by `watches` (which read through reflectors) and `live` (which reads at once), so that the same trouble has
the same words in both, and `plan`, the operator and a live re-check never disagree about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..kube import errors
from . import facts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from . import catalog

_ADVICE = {
    errors.Forbidden: "Forbidden: grant the operator's role the right to read it",
    errors.Unauthorized: "Unauthorized: the credentials were not accepted",
    errors.NotFound: "NotFound: it does not exist",
    errors.TimedOut: "no answer in time",
    errors.Unreachable: "the API server cannot be reached",
}


def unobserved(what: str, error: errors.KubeError) -> facts.Unobserved:
    """Say why a read failed, in words that stay the same while the trouble does."""
    advice = _ADVICE.get(type(error))
    why = advice or " ".join(part for part in (str(error.status or ""), error.reason) if part)
    return facts.Unobserved(what, why, missing=isinstance(error, errors.NotFound))


def malformed(what: str, error: Exception) -> facts.Unobserved:
    """Say which field of an object is not what its API promises."""
    return facts.Unobserved(what, f"malformed: {error}", malformed=True)


def absent(source: catalog.Source) -> facts.Unobserved:
    """Say that a list of exactly this object came back empty."""
    return facts.Unobserved(source.what, "NotFound: it does not exist", missing=True)


def value(source: catalog.Source, found: Iterable[Any]) -> Any:
    """The fact of a source from the reduced objects of a complete read: one object, or a sorted tuple."""
    objects = tuple(found)
    if source.single:
        return objects[0] if objects else absent(source)
    return tuple(sorted(objects, key=_name))


def _name(item: Any) -> str:
    return str(item.what if isinstance(item, facts.Unobserved) else item.name)
