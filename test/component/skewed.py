"""Runs the operator with a wall clock that a file moves: `python -m test.component.skewed FILE run ...`.

FILE holds seconds that are added to the time. Only what decides goes by the wall clock (`reconcile.utcnow`); what
waits, holds the lease or measures the age of evidence goes by the monotonic one, which nobody can move.
"""

from __future__ import annotations

import datetime as dt
import pathlib
import sys
from typing import Any

from topology_controller import cli, reconcile


def _moved(file: pathlib.Path) -> Any:
    class Moved(dt.datetime):
        """The time, and what the file says."""

        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:  # type: ignore[override]  # it need not be a Moved
            return dt.datetime.now(tz) + dt.timedelta(seconds=float(file.read_text()))

    return Moved


def main() -> int:
    """Run the operator by the moved clock."""
    vars(reconcile)["datetime"] = _moved(pathlib.Path(sys.argv[1]))
    return cli.main(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
