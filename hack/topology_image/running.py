"""What has to hold when the image runs: as a UID without an entry in /etc/passwd, nothing writable, no shell, no home.

The program is started by the image's own entry point and environment, in a sandbox that shows the layer read-only. The
cluster is the simulator's; it runs outside, with the interpreter of the development environment.
"""

import asyncio
import contextlib
import os
import pathlib
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

import aiohttp

from topology_simulator import box, operator_process, pace, play, scenario
from topology_simulator.etcd import keeping

from . import builder, layer_rules, ran, sandbox

UID = 1000650000
"""One of those that OpenShift gives to a namespace; no file of the image, and no line of /etc/passwd, knows it."""
_KUBECONFIG = "/cluster/kubeconfig"
_SECONDS = 120.0
_READY_SECONDS = 30.0
_POLL = 0.1


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs the image; `others` are files that the sandbox shows besides it, such as the base image's interpreter."""

    image: builder.Image
    others: Mapping[str, str]

    def sandbox(
        self, command: list[str], shown: Mapping[str, str] | None = None, own: Mapping[str, str] | None = None
    ) -> sandbox.Sandbox:
        """Return the sandbox of a restricted pod; with `own`, one in which everything may be written, as root."""
        environment = dict(self.image.environment)
        if own is not None:
            del environment["PYTHONDONTWRITEBYTECODE"]
        return sandbox.Sandbox(
            own=dict(own or self.image.own()),
            environment=environment,
            command=command,
            workdir=self.image.workdir,
            others={**self.others, **(shown or {})},
            writable=own is not None,
            shells=own is not None,
            temporary=own is not None,
            uid=None if own is not None else UID,
            groups=(UID,),
        )

    def output(self, *command: str) -> tuple[int, str]:
        """Run a program of the image to its end; return its exit code and everything that it said."""
        done = ran(sandbox.enter(self.sandbox(list(command))), _SECONDS)
        return done.returncode, done.stdout + done.stderr


def words(runner: Runner, version: str) -> list[str]:
    """Return what the programs say that they should not, when they are only asked who they are."""
    entry = runner.image.entrypoint
    python = f"/{layer_rules.HOME}/bin/python"
    wrong = []
    for command, code, wanted in (
        ([*entry, "version"], 0, version),
        ([*entry, "manifests", "--image", "example.com/it:1"], 2, "manifests is in the program that is installed"),
        ([*entry, *runner.image.command], 0, "usage: cluster-topology-operator"),
        ([*entry, "run"], 2, "needs --serving-cert-dir"),
        ([python, "-c", "import topology_deploy"], 1, "No module named 'topology_deploy'"),
        ([python, "-c", "import kubectl_topology"], 1, "No module named 'kubectl_topology'"),
        ([python, "-c", "import os; print(os.getuid(), os.getgid(), os.getgroups())"], 0, f"{UID} 0 [0, {UID}]"),
        ([python, "-c", "import pip"], 1, "No module named 'pip'"),
        ([python, "-c", "import os; os.execvp('sh', ['sh'])"], 1, "PermissionError"),
        ([python, "-c", "open('/opt/operator/x', 'w')"], 1, "Read-only file system"),
        ([python, "-c", "open('/tmp/x', 'w')"], 1, "No such file or directory"),
        ([python, "-c", "import pathlib; pathlib.Path.home().stat()"], 1, "No such file or directory"),
    ):
        got, output = runner.output(*command)
        if got != code or wanted not in output or (command[0] != python and "Traceback" in output):
            wrong.append(f"{' '.join(command)}: exit code {got}, not {code} with {wanted!r}:\n{output[-500:]}")
    return wrong


async def transition(runner: Runner, place: pathlib.Path, tell: Callable[[str], None]) -> list[str]:
    """Play the happy path with the image's operator; return what went wrong.

    Before it, another one is started that may write wherever it wants, as root: what it would add is what the image
    lacks.
    """
    story = scenario.load("happy-path")
    try:
        async with asyncio.timeout(_SECONDS), box.opened(story, pace.FAST, place, operator=False) as opened:
            wrong = await _adds_nothing(runner, opened, place)
            theirs = place / "kubeconfig-operator"
            shutil.copyfile(opened.kubeconfig, theirs)
            os.chown(theirs, UID, 0)
            entry = [*runner.image.entrypoint, *_flags(port := keeping.free_ports(1)[0], opened.settle_seconds)]
            shown = {_KUBECONFIG: str(theirs)}
            begun = time.perf_counter()
            async with _running(runner.sandbox(entry, shown), place / "operator.log", port) as operator:
                tell(f"ready after {time.perf_counter() - begun:.1f} s, as UID {UID}")
                await play.Player(opened.api, opened.actors, pace.FAST, tell, operator=operator).play(story)
                tell(f"Completed {time.perf_counter() - begun:.1f} s after its start")
    except (play.ScenarioFailedError, operator_process.OperatorDiedError, TimeoutError) as error:
        return [f"the happy path: {error or 'not done in time'}\n{operator_process.last_words(place / 'operator.log')}"]
    if operator.returncode != 0:
        wrong.append(f"the operator received SIGTERM and ended with exit code {operator.returncode}")
    return wrong


async def _adds_nothing(runner: Runner, opened: box.Box, place: pathlib.Path) -> list[str]:
    copied = place / "copied"
    shutil.copytree(runner.image.root, copied, symlinks=True)
    before = {path: path.stat().st_mtime_ns for path in copied.rglob("*") if path.is_file()}
    own = {name: str(copied / name) for name in runner.image.own()}
    entry = [*runner.image.entrypoint, *_flags(port := keeping.free_ports(1)[0], opened.settle_seconds)]
    shown = {_KUBECONFIG: str(opened.kubeconfig)}
    async with _running(runner.sandbox(entry, shown, own), place / "first.log", port):
        pass
    after = {path: path.stat().st_mtime_ns for path in copied.rglob("*") if path.is_file()}
    written = sorted(path.relative_to(copied) for path in after if after[path] != before.get(path))
    return [f"{path}: written by a start, so it was missing or not current" for path in written]


def _flags(port: int, settle: int) -> list[str]:
    where = ["--kubeconfig", _KUBECONFIG, "--bind-address", f"127.0.0.1:{port}"]
    return ["run", *where, "--settle-seconds", str(settle)]


@contextlib.asynccontextmanager
async def _running(inside: sandbox.Sandbox, log: pathlib.Path, port: int) -> AsyncIterator[operator_process.Operator]:
    """Run the operator inside this context, from the moment when it is ready. Raises OperatorDiedError."""
    operator = operator_process.Operator(sandbox.enter(inside), log, port)
    await operator.start()
    try:
        async with asyncio.timeout(_READY_SECONDS), aiohttp.ClientSession() as session:
            watching = asyncio.ensure_future(operator.watch())
            try:
                while not watching.done() and not await _ready(session, operator.url):  # noqa: ASYNC110 - another process
                    await asyncio.sleep(_POLL)
                if watching.done():
                    await watching
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
        yield operator
    finally:
        await asyncio.shield(asyncio.ensure_future(operator.stop()))


async def _ready(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(f"{url}/readyz", timeout=aiohttp.ClientTimeout(total=2)) as answer:
            return answer.status == 200
    except (aiohttp.ClientError, TimeoutError):
        return False
