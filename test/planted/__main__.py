"""`python -m test.planted [NAME...]`: plants the named faults, or all, and prints who catches each.

Exit code 0 when every fault is caught, 1 when one survives or the list does not fit the sources, 2 for bad usage.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from . import planting

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None, source: pathlib.Path = planting.ROOT) -> int:
    """Plant, print, count."""
    known = {fault.name: fault for fault in planting.faults(source / planting.LIST.relative_to(planting.ROOT))}
    parser = argparse.ArgumentParser(prog="python -m test.planted", description="plant faults, see who catches them")
    parser.add_argument("names", metavar="NAME", nargs="*", help="a fault; all of them when none is named")
    names = parser.parse_args(argv).names or list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"there is no fault {unknown[0]!r}; known: {', '.join(known)}")
    chosen = [known[name] for name in names]
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="planted-") as folder:
            caught = _table(chosen, planting.Copy(source, pathlib.Path(folder)))
    except planting.PlantingError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    _say(f"{caught} of {len(chosen)} planted faults were caught, in {time.monotonic() - began:.0f} s")
    return 0 if caught == len(chosen) else 1


def _table(chosen: list[planting.Fault], copy: planting.Copy) -> int:
    """Print a row as soon as it is known; return how many were caught. Raises PlantingError for unsound tests."""
    tests = planting.tests_of(chosen)
    began = time.monotonic()
    copy.sound(tests)
    _say(f"{len(tests)} tests pass without a fault, in {time.monotonic() - began:.0f} s\n")
    widths = [max(map(len, column)) for column in zip(*((one.name, one.breaks) for one in chosen), strict=True)]
    caught = 0
    for fault in chosen:
        began = time.monotonic()
        try:
            who = copy.plant(fault)
        except planting.PlantingError as error:
            verdict = f"NO VERDICT: {error}"
        else:
            caught += bool(who)
            verdict = who or "SURVIVED"
        cells = (f"{fault.name:<{widths[0]}}", f"{fault.breaks:<{widths[1]}}", f"{time.monotonic() - began:5.1f} s")
        _say("  ".join((*cells, verdict)))
    _say("")
    return caught


def _say(text: str) -> None:
    """Print a line now: the next may take its time."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
