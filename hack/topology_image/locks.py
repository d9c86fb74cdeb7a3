"""The locked files, read: each requirement with its one version and the hashes that its files may have.

`faults` is what can be said of a locked file without any network: that it leaves nothing open. Whether a version was
cancelled (yanked) only the index knows; `uv pip compile` would not have chosen one.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from packaging import requirements, utils, version

FILES = ("requirements.lock", "requirements-build.lock", "requirements-dev.lock", "requirements-go.lock")
_HASH = re.compile(r"--hash=(\S+)")
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Locked:
    """One requirement; `name` is in its normal form, `hashes` are sha256 in hexadecimal."""

    name: str
    version: str
    marker: str
    hashes: frozenset[str]


def read(path: pathlib.Path) -> dict[str, Locked]:
    """Return the requirements of a locked file that `faults` finds nothing wrong with, by name."""
    locked: dict[str, Locked] = {}
    for line in _lines(path.read_text(encoding="utf-8")):
        requirement = requirements.Requirement(_HASH.sub("", line).strip())
        name = utils.canonicalize_name(requirement.name)
        hashes = frozenset(digest.partition(":")[2] for digest in _HASH.findall(line))
        locked[name] = Locked(name, next(iter(requirement.specifier)).version, str(requirement.marker or ""), hashes)
    return locked


def faults(text: str) -> list[str]:
    """Return what a locked file leaves open, a sentence for each; nothing for one that leaves nothing open."""
    wrong = []
    for line in _lines(text):
        if line.startswith("-"):
            wrong.append(f"{line}: an option; where packages come from is not this file's affair")
            continue
        try:
            requirement = requirements.Requirement(_HASH.sub("", line).strip())
        except requirements.InvalidRequirement as error:
            wrong.append(f"{line[:80]}: {str(error).splitlines()[0]}")
            continue
        wrong += [f"{requirement.name}: {fault}" for fault in _open_ends(requirement, _HASH.findall(line))]
    return wrong


def _open_ends(requirement: requirements.Requirement, hashes: list[str]) -> Iterator[str]:
    if requirement.url is not None:
        yield f"comes from {requirement.url}"
        return
    pins = list(requirement.specifier)
    if len(pins) != 1 or pins[0].operator != "==" or "*" in pins[0].version:
        yield f"{requirement.specifier or 'any version'} is not one version"
    elif version.Version(pins[0].version).is_prerelease:
        yield f"{pins[0].version} is not a release"
    if not hashes:
        yield "no hash"
    yield from (f"hash {digest}: not a whole sha256" for digest in hashes if not _SHA256.fullmatch(digest))


def _lines(text: str) -> Iterator[str]:
    """Return the logical lines, without comments."""
    for line in re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n?", "", text)).splitlines():
        kept = line.partition(" #")[0].strip()
        if kept:
            yield kept
