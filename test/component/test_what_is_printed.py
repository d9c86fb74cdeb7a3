"""Nothing that both programs print holds what a terminal would obey, wherever it is from: it is read byte by byte.

Where it cannot be written they end with one line at most. That it holds no credential either is asked of every error
and every line of a log (test/unit/kube and test/unit/logs).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from test import kubeconfigs, processes
from test.component import forked
from topology_api import vocabulary
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib

    from test.component.world import World


PLUGIN, OPERATOR = "kubectl_topology", "topology_controller"
STARTED = {PLUGIN: ("plan",), OPERATOR: ("run", "--bind-address", "127.0.0.1:0")}
EVIL = "\x1b]0;PWNED\x07\x1b[2J\x1b[H\u202edlrow\u2066\u200b\x9b31m"
TAG = "!%1B%5D0%3BPWNED%07%1B%5B2J%1B%5BH%E2%80%AEdlrow"
MANIFEST = f"""apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata: {{name: cluster}}
spec: {{desiredTopology: {TAG} HighlyAvailable}}
"""


async def shown(program: str, *words: object) -> str:
    """Run a program on a terminal to its end; return what that was sent, which no terminal would obey."""
    ours, theirs = os.openpty()
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb", buffering=0)
    )
    try:
        started = await forked.start(
            program, [*map(str, words)], environment={**os.environ, "NO_COLOR": "1"}, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        async with processes.killed_after(started) as running:
            received = b""
            # Linux ends a terminal whose other side is closed with an error.
            with contextlib.suppress(OSError):
                while chunk := await reader.read(65536):
                    received += chunk
            await running.wait()
    finally:
        transport.close()
    text = received.decode("utf-8", "replace").replace("\r\n", "\n")
    assert [letter for letter in text if not letter.isprintable() and letter != "\n"] == [], text
    assert "Traceback" not in text
    return text


@pytest.mark.parametrize(("where", "code", "lines"), [(">/dev/full", 1, 1), ("| true", 141, 0), (">&-", 0, 0)])
@pytest.mark.parametrize("program", ["kubectl_topology help", "topology_deploy version"])
async def test_what_cannot_be_written_ends_it_without_a_trace(program: str, where: str, code: int, lines: int) -> None:
    script = f"set -o pipefail; {sys.executable} -m {program} {where}"
    ended = await processes.run("bash", "-c", script)
    assert (ended.code, len(ended.complaint.splitlines())) == (code, lines), ended


@pytest.mark.parametrize("program", STARTED)
async def test_no_file_of_its_user_reaches_a_terminal(tmp_path: pathlib.Path, program: str) -> None:
    """A kubeconfig, definitions, and the names of both."""
    for path in (
        kubeconfigs.written(tmp_path / "kubeconfig", f"https://127.0.0.1:9/{EVIL}"),
        kubeconfigs.written(tmp_path / f"there{EVIL}", "none"),
    ):
        assert "PWNED" in await shown(program, *STARTED[program], "--kubeconfig", path), "else nothing is shown here"
    folder = tmp_path / "definitions"
    folder.mkdir()
    (folder / f"a{EVIL}.yaml").write_text(f"name: {TAG} x\n")
    (folder / f"b\n{program}: all is well.yaml").write_text(json.dumps({"name": EVIL, EVIL: EVIL}))
    text = await shown(program, *STARTED[program], "--transitions-dir", folder)
    assert "PWNED" in text
    assert f"\n{program}: all is well" not in text


async def test_no_manifest_and_no_configuration_reaches_a_terminal(here: World, tmp_path: pathlib.Path) -> None:
    path = tmp_path / f"a{EVIL}.yaml"
    path.write_text(MANIFEST)
    text = await shown(PLUGIN, "plan", "-f", path, "--kubeconfig", tmp_path / "none")
    assert "PWNED" in text
    assert all(line.startswith("kubectl-topology: ") for line in text.splitlines()), "no line is forged"

    head = "apiVersion: topology.openshift.io/v1\nkind: TopologyOperatorConfig\n"
    data = {vocabulary.CONFIGURATION_KEY: f"{head}logLevel: {TAG} info"}
    made = kinds.CONFIG_MAPS.new(vocabulary.CONFIGURATION, vocabulary.DEFAULT_NAMESPACE, data=data)
    await here.api.create(kinds.CONFIG_MAPS, made)
    (tmp_path / "kubeconfig-here").write_text(json.dumps(here.server.kubeconfig()))
    text = await shown(PLUGIN, "status", "--kubeconfig", tmp_path / "kubeconfig-here")
    assert "the configuration of the operator cannot be used" in text
