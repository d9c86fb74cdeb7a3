"""A credential plugin is a foreign program: what it prints and how long it takes cost no more than its own answer."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import shlex
import signal
import stat
import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING, Any

import pytest
from test import kubeconfigs
from test.polling import PATIENCE

from topology_controller.kube import config, credentials, errors, resource

if TYPE_CHECKING:
    from collections.abc import Callable

    from topology_controller.kube import client as clients

VERSION = "client.authentication.k8s.io/v1"
WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")


def answer(token: object) -> str:
    return json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": token}})


@pytest.fixture
def program(tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    def written(script: str, name: str = "plugin") -> pathlib.Path:
        place = tmp_path / name
        fresh = tmp_path / f"{name}.fresh"
        text = f"import os, pathlib, sys, time\n{textwrap.dedent(script)}"
        # No kernel takes an interpreter whose path has a space.
        fresh.write_text(f"#!/bin/sh\nexec {shlex.join([sys.executable, '-c', text])}\n")
        fresh.chmod(fresh.stat().st_mode | stat.S_IXUSR)
        fresh.rename(place)
        return place

    return written


def kubeconfig(place: pathlib.Path, run: pathlib.Path) -> pathlib.Path:
    """Write a kubeconfig; its server has TLS, or no program would be run."""
    user = {"exec": {"command": str(run), "apiVersion": VERSION}}
    return kubeconfigs.written(place.with_suffix(".fresh"), "https://127.0.0.1:1", user).rename(place)


async def token(place: pathlib.Path) -> str:
    return str((await config.load(place)).api_key["BearerToken"])


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let so many seconds pass for the loop, at once."""

    def passed(seconds: float) -> None:
        loop = asyncio.get_running_loop()
        clock = loop.time
        monkeypatch.setattr(loop, "time", lambda: clock() + seconds)

    return passed


def alive(pid: int) -> bool:
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def test_what_it_prints_has_a_bound(tmp_path: Any, program: Any) -> None:
    place = tmp_path / "pid"
    run = program(f"""
        pathlib.Path({str(place)!r}).write_text(str(os.getpid()))
        while True:
            print("x" * 65_536)
    """)
    async with asyncio.timeout(10 * PATIENCE):
        with pytest.raises(config.ConfigError, match="exec: the program printed more than 1048576 bytes"):
            await token(kubeconfig(tmp_path / "kc", run))
    assert not alive(int(place.read_text()))


async def test_however_much_it_complains_its_answer_counts(tmp_path: Any, program: Any) -> None:
    run = program(f'sys.stderr.write("x" * 3_000_000)\nprint({answer("ours")!r})')
    assert await token(kubeconfig(tmp_path / "kc", run)) == "Bearer ours"


@pytest.mark.parametrize("how", ["given up", "too long"])
async def test_what_is_given_up_leaves_no_process_behind(
    tmp_path: Any, program: Any, soon: Any, later: Any, how: str
) -> None:
    """Its children neither, and also not where one of them ignores being asked to end."""
    run = program(f"""
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for name in ("child", "plugin"):
            if name == "plugin" or os.fork() == 0:
                pathlib.Path({str(tmp_path)!r}, name + ".pid").write_text(str(os.getpid()))
                break
        time.sleep(600)
    """)
    pids = [tmp_path / "child.pid", tmp_path / "plugin.pid"]
    loading = asyncio.create_task(token(kubeconfig(tmp_path / "kc", run)))
    await soon(lambda: all(pid.exists() and pid.read_text() for pid in pids))
    if how == "too long":
        later(credentials.PLUGIN_TIMEOUT)
        with pytest.raises(config.ConfigError, match="no credentials within"):
            await loading
    else:
        loading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loading
    await soon(lambda: not any(alive(int(pid.read_text())) for pid in pids))


async def test_a_child_that_it_leaves_behind_is_not_waited_for(tmp_path: Any, program: Any) -> None:
    place = tmp_path / "pid"
    run = program(f"""
        print({answer("ours")!r}, flush=True)
        if os.fork() == 0:
            pathlib.Path({str(place)!r}).write_text(str(os.getpid()))
            time.sleep(600)
        while not (pathlib.Path({str(place)!r}).exists() and pathlib.Path({str(place)!r}).read_text()):
            time.sleep(0.01)
    """)
    try:
        async with asyncio.timeout(10 * PATIENCE):
            assert await token(kubeconfig(tmp_path / "kc", run)) == "Bearer ours"
    finally:
        os.kill(int(place.read_text()), signal.SIGKILL)


@pytest.mark.parametrize("printed", ["", "text", "[]", "{}", "[" * 100_000, '{"apiVersion": 1, "kind": 2}', answer(7)])
async def test_what_is_no_answer_says_so(tmp_path: Any, program: Any, printed: str) -> None:
    with pytest.raises(config.ConfigError, match=r"exec: (what )?the program printed"):
        await token(kubeconfig(tmp_path / "kc", program(f"print({printed!r})")))


def test_an_interrupt_meanwhile_is_one_sentence(tmp_path: Any, program: Any) -> None:
    """No traceback of an event loop that is closed follows it, and the program is gone."""
    place = tmp_path / "pid"
    run = program(f"""
        pathlib.Path({str(place)!r}).write_text(str(os.getpid()))
        sys.stderr.write("x" * 400_000)
        time.sleep(600)
    """)
    environ = {**os.environ, "KUBECONFIG": str(kubeconfig(tmp_path / "kc", run))}
    command = [sys.executable, "-m", "kubectl_topology", "status"]
    with subprocess.Popen(  # noqa: S603 - our own program
        command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as plugin:
        deadline = time.monotonic() + 20 * PATIENCE
        while not (place.exists() and place.read_text()):
            assert time.monotonic() < deadline, "the program was never run"
            time.sleep(0.02)
        time.sleep(0.3)
        plugin.send_signal(signal.SIGINT)
        out, complained = plugin.communicate(timeout=20 * PATIENCE)
    assert plugin.returncode == 130
    assert "Traceback" not in complained + out
    assert "loop is closed" not in complained + out
    assert not alive(int(place.read_text()))


@pytest.fixture
def counting(tmp_path: pathlib.Path, program: Any) -> Callable[[str], pathlib.Path]:
    """A plugin whose tokens are numbered by how often it was run."""

    def written(more: str) -> pathlib.Path:
        count = tmp_path / "count"
        count.write_text("0")
        run = program(f"""
            import json
            number = int(pathlib.Path({str(count)!r}).read_text()) + 1
            pathlib.Path({str(count)!r}).write_text(str(number))
            {more}
            status = {{"token": f"token-{{number}}"}}
            print(json.dumps({{"apiVersion": {VERSION!r}, "kind": "ExecCredential", "status": status}}))
        """)
        return kubeconfig(tmp_path / "kc", run)

    return written


async def test_it_is_run_once_until_the_server_refuses_its_token(counting: Any) -> None:
    # The plugin is made on the real clock, which began when the machine did.
    now = [time.monotonic()]
    loaded: Any = await config.load(counting(""))
    loaded.refresh_api_key_hook._monotonic = lambda: now[0]

    async def used() -> Any:
        return (await loaded.auth_settings())["BearerToken"]["value"]

    assert [await used() for _ in range(3)] == ["Bearer token-1"] * 3
    now[0] += 3600
    assert await used() == "Bearer token-1"
    credentials.rejected(loaded)
    assert await used() == "Bearer token-2"
    credentials.rejected(loaded)
    assert await used() == "Bearer token-2", "not more than once in ten seconds"
    now[0] += 11
    assert await used() == "Bearer token-3"


async def test_one_that_fails_later_is_an_error_of_the_request(counting: Any, faulty: Any, connect: Any) -> None:
    loaded: Any = await config.load(counting('if number > 1: raise SystemExit("the identity provider is down")'))
    client = await connect(configuration=loaded)
    faulty.answer(401, b"")
    loaded.refresh_api_key_hook._ask_again = 0.0
    with pytest.raises(errors.Unauthorized, match="401: an empty answer"):
        await client.merge_patch(WIDGETS, "a", {})
    assert len(faulty.asked) == 1, "refused, and there was no other token"
    loaded.refresh_api_key_hook._ask_again = 0.0
    with pytest.raises(errors.Unauthorized) as caught:
        await client.merge_patch(WIDGETS, "a", {})
    assert "the identity provider is down" in str(caught.value)
    assert not caught.value.outcome_unknown
    assert len(faulty.asked) == 1


async def test_one_that_fails_after_its_request_is_told_in_the_log(
    counting: Any, connect: Any, soon: Any, caplog: pytest.LogCaptureFixture
) -> None:
    loaded: Any = await config.load(counting('if number > 1: time.sleep(0.5); raise SystemExit("no login")'))
    client = await connect(configuration=loaded, request_timeout=0.1)
    loaded.refresh_api_key_hook._ask_again = 0.0
    credentials.rejected(loaded)
    with pytest.raises(errors.TimedOut):
        await client.merge_patch(WIDGETS, "a", {})
    await soon(lambda: "the credential plugin failed: exec: process returned 1. no login" in caplog.text)


class Looked:
    """A client whose look at the kubeconfig is due with the next request."""

    def __init__(self, client: clients.Client, loaded: Any) -> None:
        self.client, self.loaded = client, loaded

    async def get(self) -> None:
        self.client._look_again = float("-inf")
        await self.client.get(WIDGETS, "a", retry=False)

    @property
    def used(self) -> str:
        return str(self.loaded.api_key["BearerToken"])


@pytest.fixture
def looking(tmp_path: pathlib.Path, program: Any, faulty: Any, connect: Any, make_widget: Any) -> Any:
    async def opened(**options: Any) -> Looked:
        faulty.answer(200, make_widget("a", 1))
        run = program(f"print({answer('first')!r})")
        loaded = await config.load(kubeconfig(tmp_path / "kc", run))
        client = await connect(configuration=loaded, **options)
        return Looked(client, loaded)

    return opened


async def test_for_a_kubeconfig_that_has_changed_no_program_is_run_and_the_one_before_serves(
    tmp_path: pathlib.Path, program: Any, looking: Any, caplog: Any
) -> None:
    looked = await looking()
    kubeconfig(tmp_path / "kc", program(f"print({answer('second')!r})", "second"))
    for _ in range(3):
        await looked.get()
        assert looked.used == "Bearer first"
    assert caplog.text.count("exec runs a program, which is done at the start only") == 1, "it is the same news"


async def test_a_client_that_is_closed_ends_its_plugin(
    tmp_path: pathlib.Path, program: Any, looking: Any, soon: Any, later: Any
) -> None:
    looked = await looking(request_timeout=10.0)
    place = tmp_path / "pid"
    program(f"pathlib.Path({str(place)!r}).write_text(str(os.getpid())); time.sleep(600)")
    hook = looked.loaded.refresh_api_key_hook
    hook._ask_again = float("-inf")
    credentials.rejected(looked.loaded)
    asking = asyncio.create_task(looked.get())
    await soon(lambda: place.exists() and place.read_text())
    later(10.0)
    with pytest.raises(errors.TimedOut):
        await asking
    assert alive(int(place.read_text())), "a login may take longer than a request"
    await looked.client.__aexit__()
    assert not alive(int(place.read_text()))
