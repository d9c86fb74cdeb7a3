"""What each verb prints and with which code it ends, in each phase, as it is recorded.

Times, ports, folders and ages are written as what they are: nothing else may differ from one run to the next.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from test import recorded
from test.component import backend, phases, plugin
from test.component import world as worlds
from topology_simulator import cluster as simulated

if TYPE_CHECKING:
    import pathlib


HERE = (
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", "TIME"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "TIME"),
    (r"\b\d\d:\d\d:\d\d\b", "CLOCK"),
    (r"https?://127\.0\.0\.1:\d+", "https://SERVER"),
    (r"\b[0-9a-f]{32}\b", "ATTEMPT"),
    (r"\b\d+(\.\d+)? (s|seconds?)\b", "N s"),
    (r"\(in \d+ (h|min)\)", "(in AGE)"),
    (r"\b(\d+[smh])+ ago\b", "AGE ago"),
    (r"\bin 119 min\b", "in 2 h"),
    (r"\b(operator-a)_[-0-9a-z]+", r"\1_ID"),
    (r"((?:resourceVersion|\"resourceVersion\"|generation)\W+)\d+", r"\1N"),
)
TARGET = "HighlyAvailable"
READING = (
    ("plan",), ("plan", "-o", "yaml"), ("plan", TARGET), ("plan", TARGET, "-o", "yaml"), ("plan", "DualReplica"),
    ("status",), ("status", "-o", "yaml"), ("graph",), ("graph", "-o", "mermaid"), ("graph", "-o", "svg"),
    ("audit",), ("audit", "-o", "yaml"), ("set", TARGET), ("set", TARGET, "-o", "yaml"),
    ("wait", "--timeout", "0s"), ("accept", "--check", "RouterReplicas", "--yes"),
)  # fmt: skip
WRITING = (("cancel",), ("set", TARGET, "--confirm"))


def _told(words: tuple[str, ...], ended: plugin.Ended) -> str:
    text = f"$ kubectl-topology {' '.join(words)}\n{ended.printed}"
    for line in ended.complaint.splitlines():
        text += f"stderr: {line}\n"
    text += f"exit code {ended.code}\n"
    for pattern, word in HERE:
        text = re.sub(pattern, word, text)
    return text


@pytest.mark.parametrize("phase", ["Growing", *phases.PHASES])
async def test_what_is_printed_in_a_phase(tmp_path: pathlib.Path, phase: str) -> None:
    """Growing is a single node before the others have joined."""
    shape = simulated.Shape(masters=1) if phase == "Growing" else None
    async with worlds.opened(backend.Place(None), tmp_path, shape) as world:
        await phases.reach(world, "Idle" if phase == "Growing" else phase)
        command = plugin.Plugin(tmp_path, world.server.kubeconfig())
        texts = [_told(words, await command.run(*words)) for words in (*READING, *WRITING)]
    text = "\n".join(texts).replace(str(tmp_path), "FOLDER")
    recorded.compare(f"plugin-{phase.lower()}.txt", text, "test/component/test_plugin_recorded.py")
