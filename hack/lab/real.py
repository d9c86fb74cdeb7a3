"""`make lab WITH="mco cvo" STORY=grow`: a story with real operators, on a real API server, beside ours.

Real are kube-apiserver, etcd, controllers of kube-controller-manager, the operators that are named, and this operator
as a process with the rights of its manifests. The simulator's actors and `played` are everybody else. A page, the
figures and all logs go to build/lab. Exit codes: 0 good, 1 the verdict is not, 2 the cluster did not come up.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from topology_simulator import (
    binaries,
    box,
    client,
    install,
    kinds,
    kubeconfig,
    operator_process,
    own_objects,
    pace,
    play,
    probes,
    scenario,
    terminal,
)
from topology_simulator import story as stories
from topology_simulator.actors import hub, version
from topology_simulator.envtest import audit, server
from topology_simulator.etcd import certificates, keeping

from . import operators, played, recorded, services, updates, verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_STORIES = operators.HERE / "stories"
_BUILT = operators.ROOT / "build" / "lab"
_SETTLE_SECONDS = 60
_RECORD = bool(os.environ.get("RECORD"))
_NOBODY = "none"
"""In place of a name: everybody is played, and the figures are the simulator's."""
PACE = dataclasses.replace(
    pace.DEMO, reboot=8, lease_renew=26.0, second_revision=36.0, quiet_pods=30.0, router=31.0, guard=16, static_pod=5.0
)
"""Of the actors: what was measured beside real operators, but for reboots."""
_WATCHED = (
    kinds.INFRASTRUCTURES, kinds.CLUSTER_OPERATORS, kinds.CLUSTER_VERSIONS, kinds.CONTROLLER_CONFIGS,
    kinds.MACHINE_CONFIG_POOLS, kinds.CONFIGS,
)  # fmt: skip
_ENDS = (play.ScenarioFailedError, operator_process.OperatorDiedError, keeping.KeepingError, client.ClientError)
_NOT_UP = (
    server.RealServerError, binaries.MissingError, install.InstallError, own_objects.ManifestsError, client.ClientError,
    FileNotFoundError, subprocess.CalledProcessError,
)  # fmt: skip


class Tee(io.StringIO):
    """A stream for the story: kept for the page, and on the screen."""

    def write(self, text: str) -> int:
        """Print and keep."""
        sys.stdout.write(text)
        sys.stdout.flush()
        return super().write(text)


class Stage:
    """One run: who plays, what is seen."""

    def __init__(self, names: Collection[str], story: scenario.Scenario, folder: pathlib.Path) -> None:
        branches = [operators.PINS[name]["branch"] for name in names]
        branch = max((each for each in branches if each.startswith("release-")), default="release-4.21")
        release = version.of_version(f"{branch.removeprefix('release-')}.")
        self.story = story.model_copy(update={"version": story.version or scenario.Version(release=release)})
        self.versions = {step.start_upgrade for step in story.steps if step.start_upgrade and "cvo" in names}
        self._names, self._folder = names, folder
        self.programs = operators.built(names)
        self.seen, self.tee, self.complaint = verdict.Seen(), Tee(), ""
        self._screen = terminal.Terminal(self.tee)

    async def run(self) -> None:
        """Play the story; what went wrong is in `complaint`."""
        users = {each.name: server.User(each.name, (server.MASTERS,)) for each in self.programs}
        async with contextlib.AsyncExitStack() as stack:
            behind = [install.of_anything(kind) for kind in operators.listed(self._names, "aggregated")]
            real_server = (services.Server if behind else server.RealServer)(users)
            real_server.policy = operators.HERE / "audit-policy.yaml" if _RECORD else real_server.policy
            served = await stack.enter_async_context(real_server)
            access = kubeconfig.access(served.kubeconfig())
            api = await stack.enter_async_context(client.Client(access, "lab", strict=True))
            self._screen.say("lab", f"definitions and objects, on {served.url}")
            await install.define(api, operators.definitions(self._names))
            setting = operators.Setting(self._names, self.programs, self.story.shape(), served)
            for obj in setting.objects():
                await install.create(api, obj)
            if "config" in self._names:
                await install.serve_native_field(api)
            for obj in setting.needed.values():
                stored = await api.create(kinds.any_kind(obj), obj)
                if obj["kind"] == "Route":
                    await install.put_status(api, kinds.any_kind(obj), {**stored, "status": obj.get("status", {})})
            await own_objects.apply(api, self.story.shape().without)
            await served.start_controllers(*(f"{name}-controller" for name in operators.CONTROLLERS))
            if behind:
                proxy = services.Behind(crds=behind, tls=certificates.Served(b"", served.serving()))
                stack.push_async_callback(proxy.stop)
                await proxy.start(services.PORT)
            actors = await stack.enter_async_context(
                hub.Actors(access, PACE, release=self.story.release, instead=operators.instead(self._names))
            )
            kubelets = await stack.enter_async_context(client.Client(access, played.Pods.agent, strict=True))
            keeper = await stack.enter_async_context(keeping.Keeping("lab-"))
            commands = {each.name: setting.command(each, keeper.folder, served) for each in self.programs}
            current = os.environ["RELEASE_VERSION"] = self.story.shape().version
            # A container that starts again does so in its pod.
            os.environ["POD_NAME"] = f"{own_objects.NAME}-0"
            if self.versions:
                await api.patch(kinds.CLUSTER_VERSIONS, "version", {"spec": {"overrides": None}})
                commands["cvo"] = updates.prepared(keeper.folder / "cvo", commands["cvo"], current, self.versions)
            account = served.kubeconfig(await own_objects.token(api))
            place = kubeconfig.write(keeper.folder / "operator.kubeconfig", account)
            log = self._folder / "operator.log"
            ours = await stack.enter_async_context(operator_process.running(place, log, _SETTLE_SECONDS))
            stack.callback(self._keep, served.folder, keeper.folder)
            player = play.Player(api, actors, PACE, self._tell, operator=ours)
            try:
                await box.first_of(
                    self._play(player, api, keeper),
                    played.Pods(kubelets, PACE).run(),
                    self._restart(keeper, commands),
                    self._scrape(ours, keeper),
                    stories.Story(api, self._screen).run(),
                    ours.watch(),
                    *([updates.replace_pod(api, ours, actors, self.versions, PACE.evicted)] if self.versions else ()),
                    *(self._follow(api, kind) for kind in _WATCHED),
                )
            except _ENDS as error:
                self.complaint = str(error)
            self.seen.leases("at the end", await api.list(kinds.LEASES))

    def _tell(self, sentence: str) -> None:
        self._screen.say("story", sentence, "bold")

    async def _play(self, player: play.Player, api: client.Client, keeper: keeping.Keeping) -> None:
        async def before(step: scenario.Step) -> None:
            self._screen.say("story", step.model_dump_json(exclude_none=True, by_alias=True), "bold")
            if step.request is not None:
                self.seen.leases("before the request", await api.list(kinds.LEASES))
            if step.kill_operator:
                self.seen.moments["killed"] = time.time()
                await asyncio.gather(*(keeper.end(name) for name in keeper.pids))

        await player.play(self.story, before)

    async def _follow(self, api: client.Client, kind: kinds.Kind) -> None:
        async for event in api.follow(kind, retry_seconds=PACE.retry):
            for obj in event.objects if isinstance(event, client.Listed) else (event.obj,):
                self.seen.object(kind, obj, time.time())

    async def _scrape(self, ours: operator_process.Operator, keeper: keeping.Keeping) -> None:
        while True:
            with contextlib.suppress(client.ClientError):
                self.seen.metrics(await probes.scraped(ours.url))
            for name, pid in {**keeper.pids, own_objects.NAME: ours.pid}.items():
                with contextlib.suppress(OSError, IndexError):  # it has just ended
                    self.seen.memory[name] = _memory(pid, "VmHWM")
            with contextlib.suppress(OSError, IndexError):
                descriptors = len(os.listdir(f"/proc/{ours.pid}/fd"))  # noqa: PTH208 - names
                self.seen.rests(time.time(), _memory(ours.pid, "VmRSS"), descriptors)
            await asyncio.sleep(1.0)

    async def _restart(self, keeper: keeping.Keeping, commands: dict[str, list[str]]) -> None:
        """Start programs, again when one has ended, as their kubelet does."""
        started: set[str] = set()
        while True:
            for name, command in commands.items():
                if name in keeper.pids:
                    continue
                if name in started:
                    self.seen.restarts[name] += 1
                    self._screen.say("lab", f"{name} has ended, and starts again")
                started.add(name)
                await keeper.start(name, command)
            await asyncio.sleep(2.0)

    def _keep(self, *folders: pathlib.Path) -> None:
        for folder in folders:
            for file in folder.glob("*.log"):
                shutil.copy(file, self._folder)


def _memory(pid: int, what: str) -> int:
    """Return what a process has (VmRSS), or the most that it has had (VmHWM), in MiB."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition(f"{what}:")[2].split()[0]) >> 10


def _quiet(hours: float) -> Iterator[scenario.Step]:
    """Yield pauses of so many hours, each as long as a step may be."""
    while hours > 0:
        yield scenario.Step(pause=min(hours, 2.0) * 3600 / PACE.scale)
        hours -= 2.0


def _described() -> str:
    words = ["git", "-C", str(operators.ROOT), "describe", "--always", "--dirty"]
    asked = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    return asked.stdout.strip() or "unknown"


def main() -> int:
    """Play one story and judge it."""
    parser = argparse.ArgumentParser(prog="make lab", description=__doc__)
    parser.add_argument("--story", default="grow")
    parser.add_argument("--hours", type=float, default=0.0, help="of quiet after the story (default: 0)")
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    for what, asked, there in (
        ("story", [given.story], sorted(path.stem for path in _STORIES.glob("*.yaml"))),
        ("real operator", given.names, [*operators.NAMES, _NOBODY]),
    ):
        if unknown := [name for name in asked if name not in there]:
            print(f'make lab: no {what} "{unknown[0]}"; choose from: {", ".join(there)}', file=sys.stderr)
            return 2
    names = tuple(name for name in operators.NAMES if name in given.names)
    folder = _BUILT / "-".join((given.story, *(names or ("simulated",))))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # Its end is the end of all that it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    about = {"this operator": _described()}  # before it runs: the checkout may go on
    story = scenario.load(str(_STORIES / f"{given.story}.yaml"))
    stage = Stage(names, story.model_copy(update={"steps": (*story.steps, *_quiet(given.hours))}), folder)
    try:
        asyncio.run(stage.run())
    except _NOT_UP as error:
        print(f"make lab: the cluster did not come up: {error}", file=sys.stderr)
        return 2
    events = audit.Log(folder / "audit.log").read()
    if _RECORD:
        recorded.write(recorded.of(events), stage.programs, given.story)
    figures = verdict.figures(stage.seen, events, time.time())
    faults = verdict.faults(figures, stage.story.most_writes) + ([stage.complaint] if stage.complaint else [])
    title = f"{given.story}: {', '.join(names) or 'simulated'}"
    about |= {each.name: each.commit for each in stage.programs}
    page = verdict.page(title, about, figures, faults, stage.tee.getvalue())
    (folder / "page.md").write_text(page, encoding="utf-8")
    text = json.dumps({"about": about, "faults": faults, **figures}, indent=2)
    folder.with_suffix(".json").write_text(f"{text}\n", encoding="utf-8")
    print(page.partition("\n```\n")[0])
    return 2 if "request" not in stage.seen.moments else int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
