"""Runs commands as a person's shell would, with the real `oc`, until each has succeeded in one state of the cluster.

What would change the cluster is judged by the API server alone (--dry-run=server), but for objects that it creates for
people. What a command needs and a cluster in a box has not (a node's shell, a registry) is left out, with the reason.
"""

from __future__ import annotations

import asyncio
import collections
import os
import pathlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KNOWN = yaml.safe_load(pathlib.Path(__file__).with_name("trials.yaml").read_text(encoding="utf-8"))
_REFUSED = '"DualReplica"'
_CHANGES = re.compile(
    r"^(?:oc|kubectl)(?: (?:-n|--context) \S+)* "
    r"(?:patch|annotate|label|delete|scale|apply|replace|set|adm policy)\b"
)
_SECONDS = 60.0


class Ended(NamedTuple):
    """How a command ended: what it printed with what it complained about apart."""

    code: int
    printed: str
    complaint: str


@dataclass(slots=True)
class Trial:
    """A command, where it stands, and how it ended in each state in which it was tried."""

    text: str
    at: str
    ended: dict[str, Ended] = field(default_factory=dict)

    @property
    def missing(self) -> str:
        """What it needs and is not here; empty where it can be run."""
        return next((need for sign, need in _KNOWN["left-out"].items() if re.search(sign, self.text)), "")

    @property
    def states(self) -> list[str] | None:
        """The states in which alone it may run, because it changes the cluster."""
        return next((states for sign, states in _KNOWN["only-in"].items() if re.search(sign, self.text)), None)

    @property
    def good(self) -> bool:
        """Did it succeed in one state, and print something if it asks for a value?"""
        if _REFUSED in self.text:
            return any("cannot be reached from" in ended.complaint for ended in self.ended.values())
        asks = "jsonpath" in self.text and " wait " not in self.text
        return any(ended.code == 0 and (ended.printed.strip() or not asks) for ended in self.ended.values())


class Shell:
    """A shell with the real `oc` in its PATH."""

    def __init__(self, folder: pathlib.Path, environment: Mapping[str, str]) -> None:
        self._folder, self._environment = folder, {**os.environ, **environment}

    async def run(self, text: str, seconds: float = _SECONDS) -> Ended:
        """Run a line of a shell; what takes too long is ended, with code 124."""
        words = ("timeout", "-k", "5", str(seconds), "bash", "-o", "pipefail", "-c", text)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *words, cwd=self._folder, env=self._environment, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
        printed, complaint = await process.communicate()
        return Ended(process.returncode or 0, printed.decode(errors="replace"), complaint.decode(errors="replace"))


async def attempt(trials: list[Trial], state: str, shell: Shell) -> None:
    """Run in this state what can be run and has not succeeded in an earlier one, two at a time, in any order."""
    room = asyncio.Semaphore(2)

    async def one(trial: Trial) -> None:
        async with room:
            trial.ended[state] = await shell.run(await _filled(trial.text, shell))

    open_ones = [trial for trial in trials if not trial.missing and not trial.good]
    await asyncio.gather(*(one(trial) for trial in open_ones if trial.states is None))
    for trial in open_ones:
        if trial.states is not None and state in trial.states:
            await one(trial)


async def _filled(text: str, shell: Shell) -> str:
    """Put names of the cluster in the place of words in capitals, and make of a change one that is judged only."""
    for before, _ in re.findall(r"(\S+) (NAME)\b", text):
        name = (
            _KNOWN["of"].get(before)
            or (await shell.run(f"oc get {before} -o jsonpath='{{.items[0].metadata.name}}'")).printed
        )
        text = text.replace(f"{before} NAME", f"{before} {name}")
    text = re.sub(r"\b[A-Z]+\b", lambda match: _KNOWN["names"].get(match.group(), match.group()), text)
    return "".join(part if part in {" | ", " && "} else _judged(part) for part in _parts(text))


def _parts(text: str) -> Iterator[str]:
    """Yield the commands of a line and what is between them, quoted text aside."""
    begun = 0
    for match in re.finditer(r"'[^']*'|\"[^\"]*\"|( \| | && )", text):
        if match[1]:
            yield text[begun : match.start()]
            yield match[1]
            begun = match.end()
    yield text[begun:]


def _judged(command: str) -> str:
    if " wait " in command or command.endswith(" wait") or " --wait" in command:
        return re.sub(r" --timeout[= ]\S+|$", " --timeout=2s", command, count=1)
    if command.endswith("--watch"):
        return f"timeout -k 2 5 {command} || test $? -eq 124"
    if " accept " in command:
        return f"{command} --yes"
    if _CHANGES.search(command) and "--dry-run" not in command and " topology " not in command.partition("-p")[0]:
        return f"{command} --dry-run=server"
    return command


def table(trials: list[Trial], untried: list[str]) -> str:
    """Return the number run and failed, and for each reason the number left out, as a table of Markdown."""
    tried = [trial for trial in trials if trial.ended]
    rows = [("run", len(tried)), ("failed", sum(not trial.good for trial in tried))]
    left_out = collections.Counter(trial.missing for trial in trials if trial.missing)
    rows += [(f"left out, needs {need}", number) for need, number in sorted(left_out.items())]
    rows += [("not printed in any state here", len(untried))]
    return "\n".join(["| commands | number |", "|---|---|", *(f"| {name} | {number} |" for name, number in rows)])
