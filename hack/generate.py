"""Writes the files that are generated and committed: bindata/crd/infrastructures.yaml.

`make generate` runs it; `--check` only says whether the committed file is current (exit code 1 when it is not).
"""

from __future__ import annotations

import argparse
import pathlib
import sys

from topology_controller import manifests

COMMITTED = pathlib.Path(__file__).resolve().parent.parent / "bindata" / "crd" / "infrastructures.yaml"


def main(arguments: list[str] | None = None) -> int:
    """Write the file, or compare it; return the exit code."""
    parser = argparse.ArgumentParser(description="Write the generated files of bindata/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is not current")
    check: bool = parser.parse_args(arguments).check
    wanted = manifests.whole_crd()
    current = COMMITTED.exists() and COMMITTED.read_text(encoding="utf-8") == wanted
    if check:
        if not current:
            print(f"{COMMITTED} is not current: run make generate", file=sys.stderr)  # noqa: T201 - a command of the repository
        return 0 if current else 1
    if not current:
        COMMITTED.parent.mkdir(parents=True, exist_ok=True)
        COMMITTED.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
