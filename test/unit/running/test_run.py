"""What the flags of `run` say arrives; which of its tasks ends first, and what becomes of the others and of it."""

import asyncio
import gc
import pathlib
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import yaml
from test.polling import PATIENCE
from test.unit.serving import ground

from topology_api.vocabulary import Topology
from topology_controller import cli, logs, process, reconcile
from topology_controller.definitions import settings
from topology_controller.observe import watches
from topology_controller.report import events
from topology_controller.serve import server, tls
from topology_deploy import cli as deploy

CLEANING = 5.0
"""Seconds that each task needs to clean up."""


class Tasks:
    """Tasks that work until they are cancelled, and then clean up."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.ended: list[str] = []
        """In order, each with what became of its cleaning up."""

    async def work(self, name: str) -> None:
        self.running.add(name)
        try:
            await asyncio.sleep(3600)
        finally:
            outcome = "cut short"
            try:
                await asyncio.sleep(CLEANING)
                outcome = "clean"
            finally:
                self.running.discard(name)
                self.ended.append(f"{name} {outcome}")


async def begin(tasks: Tasks, *names: str) -> asyncio.Task[None]:
    """Run these until one ends; all of them have begun."""
    whole = asyncio.create_task(process._until_one_ends(*map(tasks.work, names)))
    await asyncio.sleep(1)
    assert tasks.running == set(names)
    return whole


@pytest.mark.looptime
@pytest.mark.parametrize("times", [1, 2, 3])
async def test_a_second_cancellation_leaves_nothing_running(times: int) -> None:
    tasks = Tasks()
    whole = await begin(tasks, "election", "loop", "events")
    whole.cancel()
    for _ in range(times):
        await asyncio.sleep(1)
        whole.cancel()
    with pytest.raises(asyncio.CancelledError):
        await whole
    assert tasks.running == set()
    # The loop has ended before the election gives the lease back, also in a hurry.
    short = [f"{name} cut short" for name in ("events", "loop", "election")[:times]]
    assert tasks.ended == [*short, *(f"{name} clean" for name in ("events", "loop", "election")[times:])]
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.looptime
async def test_one_that_fails_ends_the_others_and_is_what_is_raised() -> None:
    tasks = Tasks()

    async def fail() -> None:
        await asyncio.sleep(1)
        raise LookupError("a bug")

    with pytest.raises(LookupError, match="a bug"):
        await process._until_one_ends(tasks.work("election"), fail(), tasks.work("events"))
    assert tasks.ended == ["events clean", "election clean"]


async def _nothing(*_: Any, **__: Any) -> None:
    """A task that is over at once, without an error."""


@pytest.fixture
def operator(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run the operator in this process, where no API server is; returns its exit code."""
    kubeconfig, configuration = tmp_path / "kubeconfig", tmp_path / "config.yaml"
    cluster = {"name": "here", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "here", "context": {"cluster": "here", "user": "here"}}
    content = {"clusters": [cluster], "contexts": [context], "users": [{"name": "here", "user": {}}]}
    kubeconfig.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "current-context": "here", **content}))
    configuration.write_text("logLevel: info\n")
    monkeypatch.setattr(logs, "set_up", lambda *_: None)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(watches.Watches, "first_answers", _nothing)
    run_until_complete = asyncio.run

    async def ends(main: Coroutine[Any, Any, None]) -> None:
        async with asyncio.timeout(10 * PATIENCE):
            await main

    monkeypatch.setattr(asyncio, "run", lambda main: run_until_complete(ends(main)))

    def run(*flags: str) -> int:
        files = {"CONFIG": configuration, "CERTIFICATES": ground.serving_pair(tmp_path / "serving")}
        given = [str(files.get(flag, flag)) for flag in flags]
        return cli.main(["run", "--kubeconfig", str(kubeconfig), "--bind-address", "127.0.0.1:0", *given])

    return run


@pytest.mark.parametrize(
    "case",
    [
        (process, "_lead", []),
        (settings.Current, "run", ["--config", "CONFIG"]),
        (reconcile.Reconciler, "run", ["--no-leader-elect"]),
        (events.EventRecorder, "run", ["--no-leader-elect"]),
        (server.Server, "run", []),
        (tls.ServingTLS, "run", ["--serving-cert-dir", "CERTIFICATES"]),
    ],
    ids=["leader", "configuration", "loop", "events", "server", "serving certificate"],
)
def test_a_task_that_ends_without_an_error_ends_the_process_as_a_failure(
    operator: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    case: tuple[object, str, list[str]],
) -> None:
    owner, name, flags = case
    monkeypatch.setattr(owner, name, _nothing)
    assert operator(*flags) == cli.FAILED
    assert "ended, and nothing had asked for that" in caplog.text


def test_the_lease_has_the_figures_of_the_topology() -> None:
    assert process.timing_for(Topology.SINGLE_REPLICA).duration == 270
    assert process.timing_for(Topology.HIGHLY_AVAILABLE).duration == 137


@pytest.mark.parametrize("name", sorted(deploy.COMMANDS.keys() - cli.COMMANDS.keys()))
def test_the_program_of_the_image_says_where_a_command_is_that_it_lacks(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([name, "--help"]) == cli.USAGE
    [line] = "".join(capsys.readouterr()).splitlines()
    assert line.startswith(f"cluster-topology-operator: {name} is in the program that is installed")
