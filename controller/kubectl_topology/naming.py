"""What this program, and the cluster's client, are called in what it prints: what a person can type again.

kubectl and oc replace themselves with a plugin (exec), so its parent is the shell and argv names its file in either
case. What is left of them is `_`, in which bash and zsh put the file of the command that was typed; a client that
starts a plugin as a child is its parent. Who called neither has typed the name of this program.

Commands are written everywhere as `oc topology ...` and `oc ...`; `Caller.spoken` makes of them what fits.
"""

from __future__ import annotations

import functools
import os
import pathlib
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from topology_controller import shell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROGRAM: Final = "kubectl-topology"
_CLIENTS: Final = ("oc", "kubectl")
_OWN = re.compile(r"\boc topology\b")
_SHARED = (
    "annotate|apply|auth|create|delete|describe|drain|edit|events|explain|get|label|logs|patch|rollout|scale|"
    "uncordon|wait"
)
_CLUSTER = re.compile(rf"(?<![\w/.-])oc(?= (?:(?:-n|--namespace) {shell.WORD} )?(?:{_SHARED})\b)")
"""`oc` before a verb that kubectl has too. Where one part of a command is for oc alone, all of it stays."""
_GRANTS = re.compile(
    r"\boc adm policy add-cluster-role-to-user ([-\w:]+) (?:-- )?(?:([-\w@:.]*\w)(?=[\s.,;:)]|\Z))?", re.ASCII
)
"""A user that has to be quoted stays where it is, as the last word: what is quoted is not taken apart."""
_ONLY_OC = re.compile(r"(?<![\w/.-])oc (?:debug|adm must-gather|login)\b")
_COMMANDS: Final = frozenset({"command", "cancel"})


@dataclass(frozen=True, slots=True)
class Caller:
    """`program` is how this program is called, `client` how the cluster's client is."""

    program: str = "oc topology"
    client: str = "oc"

    def spoken(self, text: str) -> str:
        """The same text with every command as this person can type it."""
        if "oc " not in text:
            return text
        text = _OWN.sub(self.program, text)
        if self.client == "oc" or _ONLY_OC.search(text):
            return text
        text = _GRANTS.sub(self._granted, text)
        return _CLUSTER.sub(self.client, text)

    def _granted(self, match: re.Match[str]) -> str:
        role, user = match[1], match[2] or ""
        words = (self.client, "create clusterrolebinding", f"{role}-{user or 'user'}", f"--clusterrole={role}")
        return f"{' '.join(words)} --user={user}"

    def answered(self, value: Any, key: str = "") -> Any:
        """An answer for a script with its commands so; a message that the operator has written stays as it is."""
        if isinstance(value, dict):
            return {name: self.answered(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.answered(item) for item in value]
        if not isinstance(value, str):
            return value
        return self.spoken(value) if key in _COMMANDS else _OWN.sub(self.program, value)


def fitting(environ: Mapping[str, str], parent: str, which: Callable[[str], str | None] = shutil.which) -> Caller:
    """The names that fit a process with this environment, whose parent runs a program of that name."""
    typed = pathlib.PurePath(environ.get("_", "")).name
    called = next((name for word in (typed, parent) for name in _CLIENTS if _is(word, name)), None)
    client = "oc" if called == "oc" or which("oc") else "kubectl"
    return Caller(PROGRAM if called is None else f"{called} topology", client)


def _is(word: str, name: str) -> bool:
    """Also `kubectl.exe`, and `kubectl-1.32` beside other versions; but not `kubectl-topology`, which is a plugin."""
    return word in {name, f"{name}.exe"} or re.fullmatch(rf"{name}[-_]?v?[\d.]+", word) is not None


@functools.cache
def caller() -> Caller:
    """How this process was called."""
    try:
        parent = pathlib.Path(f"/proc/{os.getppid()}/comm").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        parent = ""
    return fitting(os.environ, parent)
