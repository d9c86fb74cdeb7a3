"""What `kubectl topology status` costs whoever asks: a moment, and less memory than a page of a browser.

The target is 0.6 s by the clock and 64 MiB on a machine that has nothing else to do. A test machine has, so the clock
is a figure here, and what is asserted is the time of the processor beside that of a run which asks nothing.
"""

from __future__ import annotations

import os
import pathlib
import statistics
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import yaml

from test import processes
from test.component import cluster, plugin

if TYPE_CHECKING:
    from collections.abc import Callable

    from test.component.world import World

RUNS = int(os.environ.get("RUNS", "8"))
MIB = 64.0
TIMES = 16
"""What `status` may cost, in times of what it costs to say the version: the interpreter, and hardly more."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run: seconds by the clock and of the processor, and the most memory that was resident."""

    wall: float
    processor: float
    mib: float


_MEASURING = """
import os, sys, time
began = time.monotonic()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(pid, 0)
wall = time.monotonic() - began
print(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""A process of its own, and a small one: a child's memory is counted from its birth, when it is still its parent's."""


async def _cost(environ: dict[str, str], shown: str, *words: str) -> Cost:
    program = str(pathlib.Path(sys.executable).with_name(plugin.PROGRAM))
    ended = await processes.run(sys.executable, "-I", "-S", "-c", _MEASURING, program, *words, env=environ)
    assert ended.code == plugin.DONE, ended
    assert shown in ended.printed, ended
    return Cost(*(float(one) for one in ended.complaint.split()))


@pytest.mark.nightly
async def test_status_is_quick_and_small(world: World, tmp_path: pathlib.Path, figure: Callable[[str], None]) -> None:
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.operator()
    await world.ask_for()
    await world.until_check("ControlPlaneNodes", "Unmet")
    file = tmp_path / "kubeconfig-person"
    file.write_text(yaml.safe_dump(world.server.kubeconfig()))
    environ = {**os.environ, "KUBECONFIG": str(file), "PYTHONPYCACHEPREFIX": str(tmp_path / "compiled")}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # The first one compiles what it imports.
    costs = [await _cost(environ, "Pending since", "status") for _ in range(RUNS + 1)][1:]
    least = [await _cost(environ, "kubectl-topology", "--version") for _ in range(RUNS // 2)]
    # The least of each: another process can only make it more.
    nothing, processor = (min(one.processor for one in each) for each in (least, costs))
    wall = statistics.median(one.wall for one in costs)
    most = max(one.mib for one in costs)
    figure(
        f"status, of {RUNS}: {wall:.2f} s (median), {processor:.2f} s of the processor (least); {most:.1f} MiB at most"
    )
    assert processor <= TIMES * nothing, f"{processor:.2f} s of the processor; {nothing:.2f} s to say the version"
    assert most <= MIB
