"""The two things a newcomer runs: `demo` plays a scenario and proves its end, `cluster` stays and lets you play.

`demo` puts its files into a temporary folder, removed unless something went wrong; `cluster` into build/cluster of the
current directory, or beside it while another cluster has that. Exit codes: 0 the expectation was read back from the
API, 1 it was not (with the reason and the operator's last words), 130 interrupted.
"""

import asyncio
import contextlib
import fcntl
import itertools
import os
import pathlib
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Awaitable, Iterator

from topology_simulator import SimulatorError

from . import box, client, kinds, levers, operator_process, own_objects, pace, play, scenario, story, terminal

CLUSTER_FOLDER = pathlib.Path("build") / "cluster"


@contextlib.contextmanager
def claimed(wanted: pathlib.Path | None) -> Iterator[pathlib.Path]:
    """Lend a folder that no other running cluster has: the wanted one, or the first free one of build/cluster.

    A lock says so that ends with its process, so what a dead run has left is taken over.
    Raises SimulatorError, OSError.
    """
    numbers = itertools.count(2)
    folder = (wanted or CLUSTER_FOLDER).absolute()
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                holder = f"{folder} is in use by process {lock.read().strip()}"
                if wanted is not None:
                    raise SimulatorError(f"{holder}: choose another name, e.g. make cluster NAME=second") from None
                folder = folder.with_name(f"{CLUSTER_FOLDER.name}-{next(numbers)}")
                print(f"{holder}; trying {folder.name} (NAME=... chooses a name)")
                continue
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield folder
            return


async def demo(
    played: scenario.Scenario, speeds: pace.Pace, *, timeout_seconds: float, apiserver: str, etcd: str
) -> int:
    """Play a scenario with the operator as its own process; return the exit code."""
    screen = terminal.Terminal(sys.stdout)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="topology-demo-"))
    screen.print(f"{played.name}: {played.summary}\n")
    log = folder / "operator.log"
    try:
        async with asyncio.timeout(timeout_seconds) as limit:
            async with box.opened(played, speeds, folder, apiserver=apiserver, etcd=etcd) as opened:
                screen.say("cluster", f"installed at {opened.url}; the operator is starting")
                if opened.operator is not None:
                    screen.say("cluster", f"watch it in a browser: {opened.operator.url}/")
                narrator = story.Story(opened.api, screen)
                await opened.beside(_player(opened, speeds, screen).play(played), narrator.run())
                await _show_tables(opened.api, screen)
                await _show_advisories(opened.api, screen)
    except TimeoutError:
        if not limit.expired():
            raise
        return failed(screen, TimeoutError(f"not done after {timeout_seconds:g} s"), log)
    except (SimulatorError, OSError) as error:
        return failed(screen, error, log)
    except asyncio.CancelledError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    expected = played.expect
    phase = f"phase {expected.phase}, " if expected.phase else ""
    screen.print(screen.paint(f"\nDone in {screen.seconds:.1f} s: {phase}topology {expected.topology}", "green"))
    return 0


async def cluster(  # noqa: PLR0913 - what the command line offers
    played: scenario.Scenario, speeds: pace.Pace, *, operator: bool, folder: pathlib.Path, apiserver: str, etcd: str
) -> int:
    """Keep a cluster running until it is interrupted, whatever becomes of the operator: nothing is repaired here.

    What breaks in the scenario breaks; its request and its repairs are left to the person.
    """
    screen = terminal.Terminal(sys.stdout)
    screen.print(f"{played.name}: {played.kept or played.summary}\n")
    try:
        async with box.opened(
            played, speeds, folder, operator=operator, apiserver=apiserver, etcd=etcd, manifests=operator
        ) as opened:
            _invite(screen, opened, played, apiserver)
            await kept(opened, played, speeds, screen, story.Story(opened.api, screen).run())
    except (SimulatorError, OSError) as error:
        return failed(screen, error, folder / "operator.log" if operator else None)
    return 0


async def kept(
    opened: box.Box, played: scenario.Scenario, speeds: pace.Pace, screen: terminal.Terminal, *parts: Awaitable[None]
) -> None:
    """Play what breaks and keep the cluster, with the operator as a pod, until one of `parts` ends."""
    by_hand = levers.Levers(opened.api, opened.actors)

    async def play_on() -> None:
        try:
            await _player(opened, speeds, screen, by_hand).play(played)
        except play.ScenarioFailedError as error:
            screen.say("scenario", f"went another way: {error}", "yellow")
        await asyncio.Event().wait()

    pod = []
    if opened.operator is not None:
        pod = [own_objects.OwnPod(opened.api, opened.operator, lambda text: screen.say("operator", text, "red")).run()]
    await box.first_of(play_on(), by_hand.tend(), *pod, *parts)


def run(main: Awaitable[int]) -> int:
    """Run to the end or to SIGINT, SIGTERM, SIGHUP; everything is closed in order first. Return the exit code."""

    async def guarded() -> int:
        task = asyncio.ensure_future(main)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            print("\nstopped")
            return 130

    return asyncio.run(guarded())


def _player(
    opened: box.Box, speeds: pace.Pace, screen: terminal.Terminal, by_hand: levers.Levers | None = None
) -> play.Player:
    def tell(text: str) -> None:
        screen.say("scenario", text, "dim")

    return play.Player(
        opened.api, opened.actors, speeds, tell, operator=opened.operator, store=opened.store, by_hand=by_hand
    )


async def _show_tables(api: client.Client, screen: terminal.Terminal) -> None:
    for kind, name in ((kinds.INFRASTRUCTURES, "cluster"), (kinds.CLUSTER_OPERATORS, "topology"), (kinds.NODES, "")):
        command = shlex.join(["kubectl", "get", *([kind.kind.lower(), name] if name else [kind.plural])])
        screen.print(f"\n$ {command}\n{terminal.layout(await api.table(kind, name))}")


async def _show_advisories(api: client.Client, screen: terminal.Terminal) -> None:
    record = (await api.get(kinds.INFRASTRUCTURES, "cluster"))["status"].get("topologyTransition") or {}
    advisories = record.get("advisories") or []
    if advisories:
        title = "Recommended" if record["phase"] == "Completed" else "Required or recommended"
        screen.print(screen.paint(f"\n{title}: {len(advisories)}", "yellow"))
    for advisory in advisories:
        screen.print(f"  {screen.paint('!', 'yellow')} {advisory['name']}: {advisory.get('message', '')}")
        screen.print(f"    $ {advisory.get('command', '')}")


def _invite(screen: terminal.Terminal, opened: box.Box, played: scenario.Scenario, apiserver: str) -> None:
    screen.print(f"A cluster is running at {opened.url}. In a second terminal:\n")
    if opened.operator is None:
        for line in levers.environment(opened.kubeconfig):
            screen.print(screen.paint(f"    {line}", "bold"))
        screen.print("\nThere is no operator: start yours with this KUBECONFIG. Ctrl-C ends everything.\n")
        return
    for line, is_command in levers.lines(played, opened.kubeconfig):
        screen.print(screen.paint(f"    {line}", "bold") if is_command else line)
    screen.print(f"\nOr watch it in a browser: {screen.paint(f'{opened.operator.url}/', 'bold')}")
    if apiserver == "embedded":
        screen.print("This API server is the embedded one, which judges no rights; APISERVER=real starts a real one.")
    screen.print(f"The operator's log is {opened.log}. Ctrl-C ends everything.\n")


def failed(screen: terminal.Terminal, error: Exception, log: pathlib.Path | None) -> int:
    """Say why it ended, with the operator's last words; return the exit code."""
    print(screen.paint(f"\nFailed after {screen.seconds:.1f} s: {error}", "red"), file=sys.stderr)
    if log is not None and log.exists() and not isinstance(error, operator_process.OperatorDiedError):
        print(f"\nThe operator's last words ({log}):\n{operator_process.last_words(log)}", file=sys.stderr)
    return 1
