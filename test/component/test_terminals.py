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
    from collections.abc import AsyncIterator

    from test.component.world import World

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


async def shown(program: str, *words: object, stop: str = "") -> str:
    """Run a program on a terminal to its end, which may begin when it has said `stop`; return what that was sent."""
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
                    if stop and stop.encode() in received:
                        stop = ""
                        process.terminate()
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
@pytest.mark.parametrize(
    "server", [f"https://127.0.0.1:9/{EVIL}", f"https://[{EVIL}]", EVIL], ids=["path", "host", "all"]
)
async def test_the_server_of_a_kubeconfig(tmp_path: pathlib.Path, program: str, server: str) -> None:
    path = kubeconfigs.written(tmp_path / "kubeconfig", server)
    verb = "plan" if program == PLUGIN else "run"
    text = harmless(await shown(program, verb, "--kubeconfig", path, *ADDRESS[program]))
    assert "PWNED" in text, "else nothing is shown here"


@pytest.mark.parametrize("program", [PLUGIN, OPERATOR])
async def test_the_name_of_a_kubeconfig(tmp_path: pathlib.Path, program: str) -> None:
    verb = "plan" if program == PLUGIN else "run"
    for path in (tmp_path / f"gone{EVIL}", kubeconfigs.written(tmp_path / f"there{EVIL}", "none")):
        assert "PWNED" in harmless(await shown(program, verb, "--kubeconfig", path, *ADDRESS[program]))


@pytest.mark.parametrize(
    "content",
    [
        "a: [",
        MANIFEST.format(TAG + " HighlyAvailable"),
        MANIFEST.format(json.dumps(EVIL)),
        "kind: Infrastructure\n" + TAG,
    ],
    ids=["no-yaml", "tag", "value", "tag-that-breaks-it"],
)
async def test_a_manifest_and_its_name(tmp_path: pathlib.Path, content: str) -> None:
    path = tmp_path / f"a{EVIL}.yaml"
    path.write_text(content)
    text = harmless(await shown(PLUGIN, "plan", "-f", path, "--kubeconfig", tmp_path / "none"))
    assert "PWNED" in text
    assert all(line.startswith("kubectl-topology: ") for line in text.splitlines()), "no line is forged"


async def test_a_name_that_would_be_a_line_of_its_own(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a\nkubectl-topology: all is well.yaml"
    path.write_text("nothing")
    (line,) = harmless(await shown(PLUGIN, "plan", "-f", path)).splitlines()
    assert line.endswith(
        "kubectl-topology: all is well.yaml: no manifest of Infrastructure cluster (config.openshift.io/v1)"
    )


@pytest.mark.parametrize("program", [PLUGIN, OPERATOR])
async def test_definitions_and_their_names(tmp_path: pathlib.Path, program: str) -> None:
    (tmp_path / f"a{EVIL}.yaml").write_text(f"name: {TAG} x\n")
    (tmp_path / f"b\n{program}: all is well.yaml").write_text(json.dumps({"name": EVIL, EVIL: EVIL}))
    verb = "plan" if program == PLUGIN else "run"
    text = harmless(await shown(program, verb, "--transitions-dir", tmp_path))
    assert "PWNED" in text
    assert f"\n{program}: all is well" not in text


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (PLUGIN, ["plan", EVIL]),
        (PLUGIN, ["plan", "HighlyAvailable", EVIL]),
        (PLUGIN, ["plan", "-f", EVIL]),
        (PLUGIN, ["status", "--request-timeout", EVIL]),
        (OPERATOR, ["run", EVIL]),
        (OPERATOR, ["run", "--bind-address", EVIL]),
        (OPERATOR, ["manifests", "--crd-patch", "--crd", EVIL]),
        (OPERATOR, ["render", "--install-config", EVIL]),
        (OPERATOR, ["run", "--bind-address", "127.0.0.1:0", "--kubeconfig", EVIL]),
    ],
)
async def test_words_of_the_command_line(program: str, words: list[str]) -> None:
    """A shell puts file names there: `plan -f *.yaml`."""
    assert "PWNED" in harmless(await shown(program, *words))


@pytest.mark.parametrize("form", ["text", "json"])
async def test_the_log_of_the_operator(tmp_path: pathlib.Path, form: str) -> None:
    path = tmp_path / f"config{EVIL}.yaml"
    path.write_text(json.dumps({"apiVersion": EVIL, "kind": "TopologyOperatorConfig", EVIL: 1}))
    flags = ("--log-format", form, "--bind-address", "127.0.0.1:0", "--config", path)
    kube = ("--kubeconfig", kubeconfigs.written(tmp_path / "kubeconfig", "http://127.0.0.1:9"))
    text = harmless(await shown(OPERATOR, "run", *flags, *kube, stop="serves on port"))
    assert "the configuration cannot be used" in text
    assert "PWNED" in text


# -- what a cluster holds


@pytest.fixture
async def here(tmp_path: pathlib.Path) -> AsyncIterator[World]:
    async with worlds.opened(backend.Place(), tmp_path) as made:
        yield made


@pytest.mark.parametrize("value", [f"logLevel: {TAG} info", f"logLevel: {json.dumps(EVIL)}", f"{json.dumps(EVIL)}: 1"])
async def test_the_configuration_of_the_operator(here: World, tmp_path: pathlib.Path, value: str) -> None:
    head = "apiVersion: topology.openshift.io/v1\nkind: TopologyOperatorConfig\n"
    data = {vocabulary.CONFIGURATION_KEY: head + value}
    made: dict[str, Any] = kinds.CONFIG_MAPS.new(vocabulary.CONFIGURATION, vocabulary.DEFAULT_NAMESPACE, data=data)
    await here.api.create(kinds.CONFIG_MAPS, made)
    path = tmp_path / "kubeconfig-here"
    path.write_text(json.dumps(here.server.kubeconfig()))
    for verb in ("plan", "status", "graph"):
        text = harmless(await shown(PLUGIN, verb, "--kubeconfig", path))
        assert "the configuration of the operator cannot be used" in text
