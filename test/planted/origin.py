"""A plugin for pytest that fails a run whose modules come from anywhere but the tree under test.

An editable install, or a PYTHONPATH that is not heeded, would test the checkout and call every fault a survivor, or
let one tree's tests judge the other tree's code.
"""

from __future__ import annotations

import pathlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

ELSEWHERE = 70
"""The exit code of such a run; pytest has none of that number."""
_OURS = ("topology_api", "topology_controller", "topology_deploy", "kubectl_topology", "topology_simulator", "test")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Look at whatever was imported, once all tests are done."""
    root = session.config.rootpath.resolve()
    found = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    strays = sorted(
        f"{name} is {place}"
        for name, place in found.items()
        if name.partition(".")[0] in _OURS and place and not pathlib.Path(place).resolve().is_relative_to(root)
    )
    if strays:
        sys.stderr.write("".join(f"{stray}, not in {root}\n" for stray in strays))
        session.exitstatus = ELSEWHERE
