"""A configuration file as a ConfigMap volume has it, and one that somebody writes by hand."""

from __future__ import annotations

import pathlib

from topology_controller import bindata
from topology_controller.definitions import load

HEAD = "apiVersion: topology.openshift.io/v1\nkind: TopologyOperatorConfig\n"
TRANSITIONS = load.load(bindata.root() / "transitions")
NAMES = sorted(one.name for one in TRANSITIONS.definitions)


class Volume:
    """The folder of a ConfigMap volume: kubelet turns the link `..data` and so swaps everything at once."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._number = 0
        self.file = folder / "config.yaml"

    def swap(self, text: str | None) -> None:
        """Let the ConfigMap say this, None: not have the key."""
        self._number += 1
        content = self._folder / f"..{self._number}"
        content.mkdir()
        if text is not None:
            (content / self.file.name).write_text(text)
            if not self.file.is_symlink():
                self.file.symlink_to(pathlib.Path("..data", self.file.name))
        link = self._folder / "..data_tmp"
        link.symlink_to(content.name)
        link.rename(self._folder / "..data")
        if text is None:
            self.file.unlink(missing_ok=True)
