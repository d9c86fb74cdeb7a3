"""For which files of hack/ and api/ the simulator's own tests have passed: a sum over their names and contents.

`passed` holds it, committed, in one line. The file itself does not count, nor does what git ignores.
"""

from __future__ import annotations

import hashlib
import pathlib
import subprocess

FOLDERS = ("hack", "api")
_ROOT = pathlib.Path(__file__).resolve().parents[2]
_PASSED = pathlib.Path(__file__).with_name("passed")


def total(root: pathlib.Path = _ROOT) -> str:
    """Return the sum of what is in these folders now. Raises subprocess.CalledProcessError outside of git."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *FOLDERS]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)  # noqa: S603 - our own words
    result = hashlib.sha256()
    for name in sorted(set(listed.stdout.split("\0"))):
        file = root / name
        if name and file != _PASSED and file.is_file():
            result.update(f"{name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return result.hexdigest()


def passed() -> str:
    """Return the sum of the files for which all tests have passed; empty where nothing is known."""
    return _PASSED.read_text().strip() if _PASSED.exists() else ""


def write(of: str) -> None:
    """Note that all tests have passed for files of this sum."""
    _PASSED.write_text(f"{of}\n")
