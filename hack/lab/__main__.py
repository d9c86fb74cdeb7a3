"""`make lab CLIENT=oc`: every printed command with the real `oc`, in five states of a cluster on a real API server.

With RECORD=1 it renews the archives of the tests of `--must-gather` in these states instead. Exit codes: 0 every
command succeeded in some state, 1 one did not or the story went another way, 2 no sources.
"""

from __future__ import annotations

import asyncio
import os
import pathlib
import re
import sys
import tempfile
from typing import TYPE_CHECKING

from topology_simulator import binaries, box, kinds, pace, play, scenario

from . import archives, operators, printed, trials

if TYPE_CHECKING:
    from topology_simulator.scenario import Step

_RECORDED = printed.ROOT / "test" / "unit" / "plugin" / "archives"
_FURNISH = f"bash -eo pipefail {operators.HERE / 'furnished.sh'}"
_BESIDES = ("oc adm upgrade status", "oc adm wait-for-stable-cluster --minimum-stable-period=2s --timeout=20s")


class Session:
    """The commands that are tried, and what is done in each state."""

    def __init__(self, shell: trials.Shell, folder: pathlib.Path, script: str) -> None:
        wanted = printed.collected() | dict.fromkeys(_BESIDES, "what an administrator types beside")
        self.trials = {text: trials.Trial(text, at) for text, at in wanted.items()}
        self._shell, self._folder, self._script = shell, folder, script

    async def at(self, step: Step, opened: box.Box) -> None:
        """Ask and collect where the story tells a state."""
        state = step.tell
        if state is None:
            return
        if state == "idle" and (ended := await self._shell.run(_FURNISH)).code:
            raise play.ScenarioFailedError(f"{_FURNISH}: {ended.complaint.strip()}")
        if self._script:
            print(await archives.record(self._shell, self._script, self._folder / state, _RECORDED / state))
            if state == "stuck":
                await self._shell.run("oc topology accept --check RouterReplicas --reason 'one is enough' --yes")
            return
        await self._read(opened, state)
        await trials.attempt(list(self.trials.values()), state, self._shell)
        good = sum(trial.good for trial in self.trials.values())
        print(f"{state}: {good} of {len(self.trials)} commands have succeeded")
        if state == "pending":
            wanted = {"spec": {"desiredTopology": "HighlyAvailable"}}
            await opened.api.patch(kinds.INFRASTRUCTURES, "cluster", wanted)

    async def _read(self, opened: box.Box, state: str) -> None:
        """Take up what the operator and the plugin print in this state."""
        for kind, name in ((kinds.INFRASTRUCTURES, "cluster"), (kinds.CLUSTER_OPERATORS, "topology")):
            for text in printed.of_objects((await opened.api.get(kind, name))["status"]):
                self.trials.setdefault(text, trials.Trial(text, f"{kind.kind} {name}, {state}"))
        for question in ("plan", "plan HighlyAvailable", "status -o wide", "audit"):
            answer = (await self._shell.run(f"oc topology {question}")).printed
            for text in [text for line in answer.splitlines() for text in printed.within(line)]:
                self.trials.setdefault(text, trials.Trial(text, f"oc topology {question}, {state}"))


async def main(folder: pathlib.Path, oc: str, script: str) -> int:
    """Play the story and ask in each state; print the table and return the exit code."""
    story = scenario.load(str(operators.HERE / "oc.yaml"))
    path = (oc, str(pathlib.Path(sys.executable).parent), str(binaries.folder()), os.environ["PATH"])
    environment = {"PATH": ":".join(path), "KUBECONFIG": str(folder / "kubeconfig"), "EDITOR": "true", "COLUMNS": "400"}
    environment |= dict.fromkeys(("HOME", "dir"), str(folder))
    (folder / "bindata").symlink_to(printed.ROOT / "bindata")
    (folder / "docs").symlink_to(printed.ROOT / "docs")
    session = Session(trials.Shell(folder, environment), folder / "collected", script)
    complete = True
    try:
        async with box.opened(story, pace.FAST, folder, apiserver="real") as opened:
            player = play.Player(opened.api, opened.actors, pace.FAST, print, operator=opened.operator)
            await opened.beside(player.play(story, lambda step: session.at(step, opened)))
    except play.ScenarioFailedError as error:
        print(f"the story went another way: {error}", file=sys.stderr)
        complete = False
    everything = list(session.trials.values())
    run = [trial.text for trial in everything]
    untried = [
        at for pattern, at in printed.templates().items() if not any(re.fullmatch(pattern, text) for text in run)
    ]
    for trial in everything:
        if trial.ended and not trial.good:
            print(f"\n{trial.at}: {trial.text}")
            for state, ended in trial.ended.items():
                print(f"  {state}: exit {ended.code}: {(ended.complaint or ended.printed).strip()[:300]}")
    print(*("", "not printed in any state here:", *untried), sep="\n  ")
    print(f"\n{trials.table(everything, untried)}")
    return int(not complete or any(trial.ended and not trial.good for trial in everything))


if __name__ == "__main__":
    OC = operators.lab("build", "oc")
    SCRIPT = operators.lab("show", "must-gather", "collection-scripts/gather") if os.environ.get("RECORD") else ""
    with tempfile.TemporaryDirectory(prefix="lab-") as place:
        sys.exit(asyncio.run(main(pathlib.Path(place), OC, SCRIPT)))
