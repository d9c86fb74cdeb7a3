"""Runs a command unless it has passed for the files as they are: `proven.py [--if-changed] FILE FOLDER... -- COMMAND`.

For tests of what most commits leave alone. FILE, which is committed, has a sum over the names and contents of the
FOLDERs for which COMMAND passed last; such a file does not count itself, nor does what git ignores. With `--if-changed`
nothing runs where that sum is still right. The exit code is the command's.
"""

import hashlib
import pathlib
import subprocess
import sys

IF_CHANGED = "--if-changed"
_NAME = "passed"
_ROOT = pathlib.Path(__file__).resolve().parents[1]


def total(folders: list[str]) -> str:
    """Return the sum of what is in these folders now. Raises subprocess.CalledProcessError outside of git."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *folders]
    listed = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - our own words
    result = hashlib.sha256()
    for name in sorted(set(listed.stdout.split("\0"))):
        file = _ROOT / name
        if name and file.name != _NAME and file.is_file():
            result.update(f"{name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return result.hexdigest()


def main(words: list[str]) -> int:
    """Run the command where that is wanted; return the exit code."""
    options, command = words[: words.index("--")], words[words.index("--") + 1 :]
    place, *folders = (word for word in options if word != IF_CHANGED)
    file, before = _ROOT / place, total(folders)
    if IF_CHANGED in options and file.exists() and file.read_text().strip() == before:
        print(f"not run: {place} says that it passed for {', '.join(folders)} as they are: {' '.join(command)}")  # noqa: T201
        return 0
    code = subprocess.run(command, check=False).returncode  # noqa: S603 - what the caller wants
    if code == 0 and total(folders) == before:
        file.write_text(f"{before}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
