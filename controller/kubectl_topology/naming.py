"""What this program, and the cluster's client, are called in what it prints: what a person can type again.

kubectl and oc replace themselves with a plugin (exec), so its parent is the shell. What is left of them is `_`, in
which bash and zsh put the file of the command that was typed; a client that starts a plugin as a child is its parent.

Commands are written everywhere as `oc topology ...` and `oc ...`; `Caller.command` makes of one what fits. `COMMAND`
finds those in sentences, so that they are translated and no line ends within one; nothing is decided by it.
"""

from __future__ import annotations

import dataclasses
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
COMMAND: Final = re.compile(rf"(?<![\w/.-])(?:oc|kubectl(?:-topology)?)(?: {shell.WORD})+")
"""A command in a sentence: up to what ends the sentence, or a part of it."""
_CLIENT: Final = re.compile(r"(oc|kubectl)(?:\.exe|[-_]?v?[\d.]+)?")
_ONLY_OC: Final = frozenset({"adm", "debug", "login"})
"""Verbs that kubectl has not. Where one part of a command is for oc alone, all of it stays."""
_BINDING_NAME: Final = re.compile(r"[-\w@:.]+", re.ASCII)
_COMMANDS: Final = frozenset({"command", "cancel"})


@dataclass(frozen=True, slots=True)
class Caller:
    """`program` is how this program is called, `client` how the cluster's client is."""

    program: str = "oc topology"
    client: str = "oc"

    def command(self, text: str) -> str:
        """A command as this person can type it."""
        words = text.split(" ")
        if words[:2] == ["oc", "topology"]:
            return " ".join((self.program, *words[2:]))
        begins = [place for place, word in enumerate(words) if word == "oc" and {*words[:place][-1:]} <= {"|", "&&"}]
        verbs = [verb for place in begins for verb in words[place + 1 : place + 2]]
        if self.client != "oc" and _ONLY_OC.isdisjoint(verbs):
            for place in begins:
                words[place] = self.client
        return " ".join(words)

    def grant(self, role: str, user: str) -> str:
        """The command that gives a user a cluster role."""
        if self.client == "oc":
            return shell.command("oc adm policy add-cluster-role-to-user {} {}", role, user)
        name = f"{role}-{user if _BINDING_NAME.fullmatch(user) else 'user'}"
        return shell.command("kubectl create clusterrolebinding {} --clusterrole={} --user={}", name, role, user)

    def spoken(self, text: str) -> str:
        """The same text with every command as this person can type it."""
        return COMMAND.sub(lambda match: self.command(match[0]), text)

    def answered(self, value: Any, key: str = "") -> Any:
        """An answer for a script with its commands so; a message that the operator has written stays as it is."""
        if isinstance(value, dict):
            return {name: self.answered(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.answered(item) for item in value]
        if not isinstance(value, str):
            return value
        return self.command(value) if key in _COMMANDS else dataclasses.replace(self, client="oc").spoken(value)


def fitting(environ: Mapping[str, str], parent: str, which: Callable[[str], str | None] = shutil.which) -> Caller:
    """The names that fit this environment and parent: `kubectl.exe`, or `kubectl-1.32`, but not `kubectl-topology`."""
    words = (pathlib.PurePath(environ.get("_", "")).name, parent)
    match = next(filter(None, map(_CLIENT.fullmatch, words)), None)
    called = None if match is None else match[1]
    client = "oc" if called == "oc" or which("oc") else "kubectl"
    return Caller(PROGRAM if called is None else f"{called} topology", client)


@functools.cache
def caller() -> Caller:
    """How this process was called."""
    try:
        parent = pathlib.Path(f"/proc/{os.getppid()}/comm").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        parent = ""
    return fitting(os.environ, parent)
