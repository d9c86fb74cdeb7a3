"""What a terminal would obey never reaches one: in no line that the plugin or the operator prints, wherever it is from.

Each program has a terminal of its own here, which is read byte by byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from test import kubeconfigs, processes
from test.component import backend
from test.component import world as worlds
from topology_api import vocabulary
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib


PLUGIN, OPERATOR = "topology_controller.plugin", "topology_controller"
ADDRESS: dict[str, tuple[str, ...]] = {PLUGIN: (), OPERATOR: ("--bind-address", "127.0.0.1:0")}
TITLE, CLEAR, BIDI = "\x1b]0;PWNED\x07", "\x1b[2J\x1b[H", "\u202edlrow\u2066\u200b\x9b31m"
EVIL = f"{TITLE}{CLEAR}{BIDI}"
TAG = "!%1B%5D0%3BPWNED%07%1B%5B2J%1B%5BH%E2%80%AEdlrow"
MANIFEST = """apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata: {{name: cluster}}
spec:
  desiredTopology: {}
"""


async def shown(program: str, *words: object) -> str:
    """Run a program on a terminal to its end; return what that was sent."""
    ours, theirs = os.openpty()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb", buffering=0)
    )
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", program, *map(str, words)),
            env={**os.environ, "NO_COLOR": "1"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        async with processes.killed_after(process):
            received = b""
            # Linux ends a terminal whose other side is closed with an error.
            with contextlib.suppress(OSError):
                while chunk := await reader.read(65536):
                    received += chunk
            await process.wait()
    finally:
        transport.close()
    return received.decode("utf-8", "replace").replace("\r\n", "\n")


def harmless(text: str) -> str:
    """Fail for what is neither a printable letter nor the end of a line, and for a trace."""
    assert [letter for letter in text if not letter.isprintable() and letter != "\n"] == [], text
    assert "Traceback" not in text
    return text


@pytest.mark.parametrize("program", [PLUGIN, OPERATOR])
async def test_a_kubeconfig_and_its_name(tmp_path: pathlib.Path, program: str) -> None:
    verb = "plan" if program == PLUGIN else "run"
    for path in (
        kubeconfigs.written(tmp_path / "kubeconfig", f"https://127.0.0.1:9/{EVIL}"),
        kubeconfigs.written(tmp_path / f"there{EVIL}", "none"),
    ):
        text = harmless(await shown(program, verb, "--kubeconfig", path, *ADDRESS[program]))
        assert "PWNED" in text, "else nothing is shown here"


async def test_a_manifest_and_its_name(tmp_path: pathlib.Path) -> None:
    path = tmp_path / f"a{EVIL}.yaml"
    path.write_text(MANIFEST.format(TAG + " HighlyAvailable"))
    text = harmless(await shown(PLUGIN, "plan", "-f", path, "--kubeconfig", tmp_path / "none"))
    assert "PWNED" in text
    assert all(line.startswith("kubectl-topology: ") for line in text.splitlines()), "no line is forged"


@pytest.mark.parametrize("program", [PLUGIN, OPERATOR])
async def test_definitions_and_their_names(tmp_path: pathlib.Path, program: str) -> None:
    (tmp_path / f"a{EVIL}.yaml").write_text(f"name: {TAG} x\n")
    (tmp_path / f"b\n{program}: all is well.yaml").write_text(json.dumps({"name": EVIL, EVIL: EVIL}))
    verb = "plan" if program == PLUGIN else "run"
    text = harmless(await shown(program, verb, "--transitions-dir", tmp_path))
    assert "PWNED" in text
    assert f"\n{program}: all is well" not in text


async def test_the_configuration_of_the_operator(tmp_path: pathlib.Path) -> None:
    head = "apiVersion: topology.openshift.io/v1\nkind: TopologyOperatorConfig\n"
    data = {vocabulary.CONFIGURATION_KEY: f"{head}logLevel: {TAG} info"}
    made: dict[str, Any] = kinds.CONFIG_MAPS.new(vocabulary.CONFIGURATION, vocabulary.DEFAULT_NAMESPACE, data=data)
    async with worlds.opened(backend.Place(), tmp_path) as here:
        await here.api.create(kinds.CONFIG_MAPS, made)
        path = tmp_path / "kubeconfig-here"
        path.write_text(json.dumps(here.server.kubeconfig()))
        text = harmless(await shown(PLUGIN, "status", "--kubeconfig", path))
    assert "the configuration of the operator cannot be used" in text
