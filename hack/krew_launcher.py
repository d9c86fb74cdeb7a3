#!/usr/bin/env python3
"""Starts kubectl-topology from the folder that it was unpacked into, with a Python that its libraries are for.

Any Python 3 has to be able to read it, so that an old one gets a sentence and not a syntax error.
"""

import os
import pathlib
import shutil
import sys


def main() -> int:
    """Run the program with this Python, or with another one; return the exit code."""
    library = pathlib.Path(__file__).resolve().parent / "lib"
    # Names such as _pydantic_core.cpython-312-x86_64-linux-gnu.so.
    compiled = (library / "pydantic_core").glob("_pydantic_core.cpython-3*")
    minors = sorted(int(place.name.split("-")[1][1:]) for place in compiled)
    if sys.version_info.minor in minors:
        sys.path.insert(0, str(library))
        from kubectl_topology.main import main as program  # noqa: PLC0415 - it is beside this file

        return program()
    for minor in reversed(minors):
        python = shutil.which(f"python3.{minor}")
        if python:
            os.execv(python, [python, str(pathlib.Path(__file__).resolve()), *sys.argv[1:]])  # noqa: S606 - this file
    wanted = " or ".join(f"3.{minor}" for minor in minors)
    sys.stderr.write(f"kubectl-topology: wanted Python {wanted}, found {sys.version.split()[0]}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
