"""docs/first-hour.md as a newcomer types it, in its order, beside what `make cluster` runs."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import sys

import pytest

from test import polling, processes
from test.component import documented

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "first-hour.md"
SECTIONS = re.findall(r"(?ms)^(## (?!See|Next).+?)\n(.*?)(?=^## )", PAGE.read_text(encoding="utf-8"))
SETTLED = {
    "power=off": ("kubectl topology plan HighlyAvailable", "3 of 11 preflight checks not met"),
    "power-": ("kubectl topology plan HighlyAvailable", "All 11 preflight checks are met"),
    "--watch": ("kubectl get infrastructure cluster", "19/20"),
}
"""The end of a command, and what is printed a few seconds later, before the page continues."""


def quoted(section: str) -> set[str]:
    """Sentences and figures that a section says are printed: in spans, or lines of a block that are no commands."""
    spans = {span for span in re.findall(r"`([^`]+)`", section) if span.count(" ") > 1 or "/" in span}
    lines = {line.strip() for line in section.splitlines() if line.startswith("    ")}
    return {text for text in spans | lines if not text.startswith(("kubectl ", "hack/"))}


@pytest.mark.nightly
async def test_each_section_prints_what_it_quotes(tmp_path: pathlib.Path) -> None:
    folder, log = tmp_path / "box", tmp_path / "log"
    kubectl, python = pathlib.Path(documented.kubectl()), pathlib.Path(sys.executable)
    path = f"{kubectl.parent}:{python.parent}:{os.defpath}"
    environment = {"PATH": path, "HOME": str(tmp_path), "KUBECONFIG": f"{folder}/kubeconfig", "COLUMNS": "400"}
    box = (sys.executable, "-m", "topology_simulator", "cluster", "--folder", folder)

    async def typed(text: str) -> str:
        ended = await processes.run(*shlex.split(text), env=environment)
        return ended.printed + ended.complaint

    async def until(question: str, end: str) -> None:
        await polling.until(end, lambda: typed(question), holds=lambda printed: end in printed)

    async with processes.killed_after(await processes.logged(*box, log=log, env=environment)) as cluster:
        await polling.until("it runs", log.read_text, holds=lambda text: "etcd is stable again" in text)
        for heading, section in SECTIONS:
            printed = ""
            for command in documented.below(PAGE, heading):
                printed += "" if command.text.endswith("--watch") else await typed(command.text)
                for settled in (end for sign, end in SETTLED.items() if command.text.endswith(sign)):
                    await until(*settled)
            assert not {text for text in quoted(section) if text not in printed}, f"{heading}\n{printed}"
        cluster.terminate()
        await cluster.wait()
