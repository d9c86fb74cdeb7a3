"""`python -m simulator_tests` runs the simulator's own tests, all of them, and notes for which files they passed.

With `--if-changed` it runs nothing where that is noted already. What follows is given to pytest: with that a run may
have left something out, so that it is not noted. The exit code is pytest's.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys

from simulator_tests import proven

IF_CHANGED = "--if-changed"
_COMMAND = "make test-hack"


def main(words: list[str]) -> int:
    """Run them where that is wanted; return the exit code."""
    before = proven.total()
    if IF_CHANGED in words and before == proven.passed():
        print(f"not run: the simulator's own tests passed for hack/ and api/ as they are; {_COMMAND} runs them")  # noqa: T201
        return 0
    more = [word for word in words if word != IF_CHANGED]
    folder = str(pathlib.Path(__file__).parent)
    command = [sys.executable, "-m", "pytest", "--apiserver", "both", *more, folder]
    code = subprocess.run(command, check=False).returncode  # noqa: S603 - pytest, and what the caller adds
    partial = [word for word in more if word not in {"-q", "-n"} and not word.isdigit()]
    if code == 0 and not partial and proven.total() == before:
        proven.write(before)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
