"""`kubectl-topology` as its own process: run to its end, or until it is told to stop."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import yaml

from test import processes
from test.component import forked

if TYPE_CHECKING:
    import pathlib

PROGRAM = "kubectl-topology"
AGENT = f"{PROGRAM}/*"
CALLED = "oc topology"
"""As which it runs here, so that what it prints does not depend on what started the tests."""
DONE, FAILED, USAGE, BLOCKED, UNSUPPORTED, TIMED_OUT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


class Ended(processes.Ended):
    """How the command ended."""

    __slots__ = ()

    @property
    def reason(self) -> str:
        """The one calm line that a failed command leaves, without the program's name."""
        return self.complaint_of(CALLED)


class Plugin:
    """The command, with a kubeconfig. What kubectl finds on the PATH is asked by `test_plugin`."""

    def __init__(self, folder: pathlib.Path, access: dict[str, Any]) -> None:
        self._file = folder / "kubeconfig-plugin"
        self._file.write_text(yaml.safe_dump(access))
        kept = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        self._environ = {**kept, "KUBECONFIG": str(self._file), "_": "/usr/bin/oc"}

    async def run(self, *words: str, **stdout: int) -> Ended:
        """Run a verb to its end."""
        return Ended(*await forked.run(forked.PLUGIN, *words, environment=self._environ, **stdout))

    async def json(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Run a verb with `-o json`; return its code and its answer."""
        ended = await self.run(*words, "-o", "json")
        assert not ended.complaint, ended.complaint
        return ended.code, ended.answer
