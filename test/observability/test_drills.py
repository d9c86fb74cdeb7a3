"""Each runbook ends its alert: the drill sets the trouble up, and what the page says is typed until the alert ends.

A drill names the sentence of the page whose commands cure it; the commands stand on the page alone. A placeholder is
what a person reads from the screen, and a link leads to another page, on the cluster that the hub names.
"""

from __future__ import annotations

import asyncio
import json
import operator
import os
import pathlib
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

from test import polling, processes
from test.component import documented
from topology_simulator import box, drill

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ROOT / "docs" / "runbooks"
REQUIRED = 'Run the commands under "Required"'
_PATIENCE = 90.0
_ITEM = re.compile(r"^(?:\* |\| `[^|]*\| )(.*(?:\n  .*)*)", re.MULTILINE)
_COMMAND = re.compile(r"`(oc [^`]+|cluster-topology-operator [^`]+)`")
_LINK = re.compile(r"\((\w+)\.md\)")
_OC = """#!/bin/sh
[ "$1 $2" != "adm certificate" ] || shift
exec {kubectl} "$@"
"""


def sentence(page: str, begins: str) -> str:
    """The item of a page, or the last cell of a row, that begins so."""
    found = [one for one in _ITEM.findall((PAGES / f"{page}.md").read_text()) if one.startswith(begins)]
    assert len(found) == 1, f"{page}.md has {len(found)} sentences that begin with {begins!r}"
    return " ".join(found[0].split())


class Person:
    """Who is on call: a terminal in which oc, the plugin and the program are, and what can be read there."""

    def __init__(self, folder: pathlib.Path) -> None:
        bin_ = folder / "bin"
        bin_.mkdir()
        (bin_ / "oc").write_text(_OC.format(kubectl=documented.kubectl()))
        (bin_ / "oc").chmod(0o755)
        path = f"{bin_}:{pathlib.Path(sys.executable).parent}:{os.defpath}"
        self._environment = {
            "PATH": path,
            "HOME": str(folder),
            "KUBECONFIG": str(folder / "kubeconfig"),
            "COLUMNS": "200",
        }

    async def types(self, command: str) -> processes.Ended:
        return await processes.run("sh", "-c", f"cd {shlex.quote(str(ROOT))} && {command}", env=self._environment)

    async def reads(self, command: str) -> Any:
        ended = await self.types(command)
        return json.loads(ended.printed)

    async def commands(self, page: str, begins: str) -> AsyncIterator[str]:
        """What a sentence tells to type, with what the screen has in place of a placeholder."""
        text = sentence(page, begins)
        if begins == REQUIRED:
            answer = await self.reads("oc topology status -o json")
            for advisory in answer["advisories"]:
                if advisory["name"] in answer["required"]:
                    yield advisory["command"]
        for command in _COMMAND.findall(text):
            if "NAME" not in command.split():
                yield command
                continue
            for _ in range(2):  # for each node, one after the other
                yield command.replace("NAME", await polling.until("a certificate waits", self._waiting))

    async def _waiting(self) -> str:
        listed = await self.reads("oc get csr -o json")
        waiting = (one["metadata"]["name"] for one in listed["items"] if not one.get("status", {}).get("conditions"))
        return next(waiting, "")

    async def cures(self, page: str) -> None:
        """Follow the sentences that the drill of this alert names."""
        _, played = drill.find(page)
        assert played.drill is not None
        for begins in played.drill.cure:
            for other in _LINK.findall(sentence(page, begins)):
                await self.types(f"oc config use-context {box.CONTEXT}")
                await self.cures(other)
            async for command in self.commands(page, begins):
                ended = await self.types(command)
                assert ended.code == 0, (command, ended)


@pytest.mark.parametrize("name", drill.names())
async def test_what_the_runbook_says_ends_the_alert(
    name: str, tmp_path: pathlib.Path, record_property: Callable[[str, object], None]
) -> None:
    alert, played = drill.find(name)
    async with drill.opened(alert, played, tmp_path) as made:
        shown = await made.until_firing(_PATIENCE)
        (first, *_) = re.findall(r"^    (oc .+)$", (PAGES / f"{name}.md").read_text(), re.MULTILINE)
        assert shown.annotations["description"].startswith(f"Run '{first}'"), "what a pager shows begins the page"
        person, loop = Person(tmp_path), asyncio.get_running_loop()
        seen = await person.types(first)
        assert seen.code in {0, 3}, seen
        assert await made.fires() is not None, "nothing repairs itself"
        began = loop.time()
        await person.cures(name)
        await polling.until(f"{name} ends as its page says", made.fires, 20.0, holds=operator.not_)
        record_property("figure", f"{name} ended {loop.time() - began:.1f} s after the cure was begun")
