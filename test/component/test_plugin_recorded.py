"""What programs read from the plugin while a cluster converges, as it is recorded; docs/sessions has what people read.

Times, ports, folders and ages are written as what they are: nothing else may differ from one run to the next.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from test import recorded
from test.component import backend, phases, plugin
from test.component import world as worlds

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
COMMANDS = (
    ("plan", "-o", "yaml"), ("plan", TARGET, "-o", "yaml"), ("status", "-o", "yaml"), ("graph", "-o", "svg"),
    ("audit", "-o", "yaml"), ("set", TARGET, "-o", "yaml"),
)  # fmt: skip


def _told(words: tuple[str, ...], ended: plugin.Ended) -> str:
    text = f"$ kubectl-topology {' '.join(words)}\n{ended.printed}"
    for line in ended.complaint.splitlines():
        text += f"stderr: {line}\n"
    text += f"exit code {ended.code}\n"
    for pattern, word in HERE:
        text = re.sub(pattern, word, text)
    return text


async def test_what_is_printed_while_a_cluster_converges(tmp_path: pathlib.Path) -> None:
    async with worlds.opened(backend.Place(None), tmp_path) as world:
        await phases.reach(world, "Converging")
        command = plugin.Plugin(tmp_path, world.server.kubeconfig())
        texts = [_told(words, await command.run(*words)) for words in COMMANDS]
    recorded.compare("plugin-converging.txt", "\n".join(texts).replace(str(tmp_path), "FOLDER"))
