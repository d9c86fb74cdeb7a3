"""Runs commands as a person's shell would, with the real `oc`, until each has succeeded in one state of the cluster.

What would change the cluster is judged by the API server alone (--dry-run=server), but for objects that it creates for
people. What a command needs and a cluster in a box has not (a node's shell, a registry) is left out, with the reason.
"""

from __future__ import annotations

import asyncio
import collections
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator, Mapping

LEFT_OUT = {
    r"\boc debug |\bexec |\blogs\b|\bport-forward\b": "a shell, a log or a port of a node or a pod",
    r"\bdelete pod -l|wait --for=delete pod": "pods of the operator",
    r"adm must-gather|image extract|adm node-image|kubectl krew": "an image or a download",
    r"topology fleet|managedcluster|open-cluster-man|clustergroupupgrade|manifestworkreplicaset": "the hub of a fleet",
    r"--context hub|--context edge-1|hostedcluster": "a second cluster",
    r"servicemonitor|prometheus-k8s": "the objects of monitoring",
    r"imagebasedupgrade|clusterapis|consoleclidownload| --console |examples/gitops": "a kind of an optional operator",
    r"50-master-dnsmasq|unsupportedConfigOverrides}|spec.controlPlaneTopology$": "an object that few clusters have",
    r"crd-patch.sh remove": "the end of the operator (test_installing_and_leaving does it)",
    r"%\(prog\)s|\.\.\.|^oc (?:apply --server-side|auth can-i|adm inspect|label managedcluster)$": "more words",
    r" -f FILE$|machines.machine.openshift.io master-2": "a Machine, or a file of the reader",
}
"""Patterns of commands that cannot run here, and what they need."""
ONLY_IN = {
    r"topology set .*--confirm": {"pending", "completed"},
    r"topology cancel": {"pending"},
    r"topology accept": {"stuck"},
}
"""Patterns of commands of ours that change the cluster, and the states in which they may: one after the other, last."""
_REFUSED = '"DualReplica"'
_CHANGES = re.compile(
    r"^(?:oc|kubectl)(?: (?:-n|--context) \S+)* "
    r"(?:patch|annotate|label|delete|scale|apply|replace|set|adm policy)\b"
)
_NAMES = {
    "NODE": "master-0", "USER": "ana", "CSR": "of-a-lab", "CHECK": "ControlPlaneNodes", "REASON": "TransitionStuck",
    "ALERT": "TopologyTransitionStuck", "TARGET": "HighlyAvailable", "NAMESPACE": "openshift-topology-operator",
    "REGISTRY": "registry.example.com", "VALUE": "1",
}  # fmt: skip
_OF = {
    "explain": "ControlPlaneNodes",
    "--check": "RouterReplicas",
    "approve": "of-a-lab",
    "clusterrolebinding": "of-a-lab",
}
_SECONDS = 60.0
_AT_ONCE = 2


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
        return next((need for sign, need in LEFT_OUT.items() if re.search(sign, self.text)), "")

    @property
    def states(self) -> set[str] | None:
        """The states in which alone it may run, because it changes the cluster."""
        return next((states for sign, states in ONLY_IN.items() if re.search(sign, self.text)), None)

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
    room = asyncio.Semaphore(_AT_ONCE)

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
            _OF.get(before) or (await shell.run(f"oc get {before} -o jsonpath='{{.items[0].metadata.name}}'")).printed
        )
        text = text.replace(f"{before} NAME", f"{before} {name}")
    text = re.sub(r"\b[A-Z]+\b", lambda match: _NAMES.get(match.group(), match.group()), text)
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
