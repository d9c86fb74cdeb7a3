"""Prints the checks of a transition as they change: few lines, and at any time what is waited for.

Before the change a handful of checks matters and each is printed with its message. While a cluster converges twenty of
them change at once and back again; printed are then which came to be Met since the last beat, what is still waited for,
and the message of a check only when it has been among the last ones for a while: that is the one that may need action.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from . import terminal

_FEW = 2
_LONG_SECONDS = 2.0
_WORDS = ("Met", "Unmet", "Unknown")


class CheckProgress:
    """What was seen last, and what was printed of it."""

    def __init__(self, screen: terminal.Terminal) -> None:
        self._screen = screen
        self._seen: dict[tuple[str, str], dict[str, Any]] = {}
        self._shown: dict[tuple[str, str], tuple[str, str]] = {}
        self._restless: dict[tuple[str, str], tuple[str, str]] = {}
        self._frames: dict[tuple[str, str], tuple[str, str]] = {}
        self._waiting: tuple[str, ...] = ()
        self._since = 0.0

    def update(self, checks: list[dict[str, Any]]) -> None:
        """Take in the checks of a record; one that is gone counts as never shown."""
        self._seen = {(check.get("stage", ""), check["name"]): check for check in checks}
        for key in [key for key in self._shown if key not in self._seen]:
            del self._shown[key]

    def beat(self) -> None:
        """Tell where the checks stand."""
        self._preflight()
        self._converging()

    def _preflight(self) -> None:
        """Tell each check that is another than before; one whose message alone changes, when it has come to rest."""
        for (stage, name), check in self._seen.items():
            if stage != "Preflight":
                continue
            state, key = _state(check), (stage, name)
            shown = self._shown.get(key, ("", ""))
            if state != shown and (state[0] != shown[0] or self._restless.get(key) == state):
                self._shown[key] = state
                self._one(key, check)
            self._restless[key] = state

    def _converging(self) -> None:
        checks = {name: check for (stage, name), check in self._seen.items() if stage == "Convergence"}
        now = self._screen.seconds
        if checks and not any(stage == "Convergence" for stage, _ in self._shown):
            self._begin(checks)
        for word in _WORDS:
            names = [
                name
                for name, check in checks.items()
                if check["status"] == word and self._shown.get(("Convergence", name), ("", ""))[0] != word
            ]
            if names:
                self._screen.say("check", f"{self._screen.mark(word)} {', '.join(names)} {word}")
            for name in names:
                self._shown["Convergence", name] = (word, "")
        waiting = tuple(name for name, check in checks.items() if check["status"] != "Met")
        if waiting != self._waiting:
            self._waiting, self._since = waiting, now
        elif waiting and len(waiting) <= _FEW and now - self._since >= _LONG_SECONDS:
            self._explain(waiting)

    def _begin(self, checks: dict[str, dict[str, Any]]) -> None:
        """Tell what there is to wait for."""
        waiting = [name for name, check in checks.items() if check["status"] != "Met"]
        words = f", waiting for {', '.join(waiting)}" if waiting else ""
        self._screen.say("check", f"{len(checks) - len(waiting)} of {len(checks)} are met{words}")
        for name, check in checks.items():
            self._shown["Convergence", name] = (check["status"], "")

    def _explain(self, names: Iterable[str]) -> None:
        """Tell each with its message, when that is new."""
        for name in names:
            key = ("Convergence", name)
            check, state = self._seen[key], _state(self._seen[key])
            if self._shown.get(key) != state:
                self._shown[key] = state
                self._one(key, check)

    def _one(self, key: tuple[str, str], check: dict[str, Any]) -> None:
        message = "" if check["status"] == "Met" else f": {self._shortened(key, check)}"
        self._screen.say("check", f"{self._screen.mark(check['status'])} {check['name']} {check['status']}{message}")

    def _shortened(self, key: tuple[str, str], check: dict[str, Any]) -> str:
        """Return a check's message; what is wanted and where to look are said once."""
        message = str(check.get("message", ""))
        wanted, found_word, findings = message.partition("Found: ")
        findings, look, where = findings.partition(". Look at ")
        if found_word and self._frames.get(key) == (wanted, where):
            return f"found {findings}"
        self._frames[key] = (wanted, where)
        return f"{wanted}{found_word}{findings}{look}{where}"


def _state(check: dict[str, Any]) -> tuple[str, str]:
    """Return what is shown of a check; one that is Met needs no message."""
    return check["status"], "" if check["status"] == "Met" else str(check.get("message", ""))
