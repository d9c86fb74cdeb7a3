"""What a process costs, from /proc: resident memory in MiB, CPU in seconds.

CPU comes from schedstat of every thread (nanoseconds), because the clock ticks of `stat` are ten milliseconds each and
an idle operator uses hardly more. A thread that ended takes its time along: the operator keeps its threads.
"""

from __future__ import annotations

import pathlib


def rss_mib(pid: int) -> float:
    """Resident memory of a process. Raises OSError when it is gone or smaps_rollup cannot be read."""
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) / 1024
    raise OSError(f"no Rss in smaps_rollup of process {pid}")


def cpu_seconds(pid: int) -> float:
    """CPU time that the living threads of a process have used."""
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
