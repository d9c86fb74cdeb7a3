"""The locked files: each requirement with its one version and the hashes that its files may have, and what they allow.

`audit` compares them with known vulnerabilities: of a database over the network, or of a folder of records in the OSV
format. `licence` is what a package declares by itself (PEP 639), else its licence field where that is a known name,
else its classifiers. A package that says nothing understandable, or a licence that is not allowed, is a fault.
"""

import collections
import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import license_expression  # type: ignore[import-untyped] # it has no types
import yaml
from packaging import requirements, utils, version

from . import ImageError, ran

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
    """Return the requirements of a locked file by name. Raises ImageError where it leaves something open."""
    locked: dict[str, Locked] = {}
    text = re.sub(r"(?m)^\s*#.*\n?", "", path.read_text(encoding="utf-8"))
    lines = (line.partition(" #")[0].strip() for line in re.sub(r"\\\n", " ", text).splitlines())
    for line in filter(None, lines):
        try:
            requirement = requirements.Requirement(_HASH.sub("", line).strip())
        except requirements.InvalidRequirement as error:
            # An option, too: where packages come from is not this file's affair.
            raise ImageError(f"{path.name}: {line[:80]}: {str(error).splitlines()[0]}") from None
        pins, hashes = list(requirement.specifier), _HASH.findall(line)
        pinned = len(pins) == 1 and pins[0].operator == "==" and "*" not in pins[0].version
        if requirement.url or not pinned or version.Version(pins[0].version).is_prerelease:
            raise ImageError(f"{path.name}: {line[:80]}: not one version, and a release")
        if not hashes or not all(map(_SHA256.fullmatch, hashes)):
            raise ImageError(f"{path.name}: {line[:80]}: not with whole sha256 hashes of its files")
        name, digests = utils.canonicalize_name(requirement.name), (digest.partition(":")[2] for digest in hashes)
        locked[name] = Locked(name, pins[0].version, str(requirement.marker or ""), frozenset(digests))
    return locked


_SECONDS = 300.0
Records = dict[str, list[dict[str, Any]]]


def records(folder: pathlib.Path) -> Records:
    """Return the records of a folder, by name of the package. Raises ImageError."""
    records_by_name: Records = collections.defaultdict(list)
    for path in sorted(folder.rglob("*")):
        if path.suffix not in {".json", ".yaml", ".yml"} or not path.is_file():
            continue
        content = path.read_text(encoding="utf-8")
        try:
            record = json.loads(content) if path.suffix == ".json" else yaml.load(content, yaml.CBaseLoader)  # noqa: S506 - safe: all of it stays text, dates too
        except (ValueError, yaml.YAMLError) as error:
            raise ImageError(f"{path}: {error}") from None
        if not isinstance(record, dict) or not isinstance(record.get("affected"), list):
            continue
        names = {
            utils.canonicalize_name(affected["package"]["name"])
            for affected in record["affected"]
            if affected.get("package", {}).get("ecosystem") == "PyPI"
        }
        for name in names:
            records_by_name[name].append(record)
    if not records_by_name:
        raise ImageError(f"{folder}: no record about a Python package in the OSV format (*.json, *.yaml)")
    return records_by_name


def affects(record: Mapping[str, Any], name: str, asked: str) -> bool:
    """Return whether a record is about this version: listed, or between `introduced` and `fixed` of a range."""
    wanted = version.Version(asked)
    for affected in record["affected"]:
        package = affected.get("package", {})
        if package.get("ecosystem") != "PyPI" or utils.canonicalize_name(package["name"]) != name:
            continue
        ranges = (each["events"] for each in affected.get("ranges", ()) if each.get("type") == "ECOSYSTEM")
        listed = any(_same(each, wanted) for each in affected.get("versions", ()))
        if listed or any(_within(events, wanted) for events in ranges):
            return True
    return False


def audit(files: Sequence[pathlib.Path], folder: pathlib.Path | None) -> int:
    """Audit locked files, and print what is known; return 0 for nothing, 1 for something.

    Raises ImageError, with code 3 where there is nothing to ask.
    """
    if folder is None:
        return _by_network(files)
    known = records(folder)
    locked = {(lock.name, lock.version) for file in files for lock in read(file).values()}
    matches = [
        (name, asked, record)
        for name, asked in sorted(locked)
        for record in known.get(name, ())
        if affects(record, name, asked)
    ]
    for name, asked, record in matches:
        print(f"{name} {asked}: {record['id']} {record.get('summary', '')}".strip())
    print(f"{len(locked)} packages, {len(matches)} known vulnerabilities")
    return 1 if matches else 0


def _by_network(files: Sequence[pathlib.Path]) -> int:
    tool = pathlib.Path(sys.executable).with_name("pip-audit")
    command = [str(tool), "--disable-pip", "--require-hashes", "--progress-spinner=off", "--vulnerability-service=osv"]
    command += [word for file in files for word in ("--requirement", str(file))]
    with tempfile.TemporaryDirectory(prefix="audit-") as cache:
        try:
            done = ran([*command, "--cache-dir", cache], _SECONDS)
        except subprocess.TimeoutExpired:
            done = subprocess.CompletedProcess(command, 1, "", f"no answer in {_SECONDS:.0f} s")
    # It ends with 1 both when it finds something and when it cannot ask; only what it found is on its output.
    if done.returncode != 0 and not done.stdout.strip():
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        error = ImageError(
            "not audited, no advisory source is at hand: give a folder of OSV records (ADVISORIES=FOLDER) or a "
            f"network. pip-audit: {last}"
        )
        error.code = 3
        raise error
    print(done.stdout + done.stderr, end="")
    return done.returncode


def _same(listed: str, wanted: version.Version) -> bool:
    try:
        return version.Version(listed) == wanted
    except version.InvalidVersion:
        return False


def _within(events: Sequence[Mapping[str, str]], wanted: version.Version) -> bool:
    """Return whether a version is affected, by the rule of the OSV schema: the last event before it decides."""
    affected = False
    order = sorted(events, key=lambda event: version.Version(next(iter(event.values()))))
    for event in order:
        kind, text = next(iter(event.items()))
        at = version.Version(text)
        if kind == "introduced" and wanted >= at:
            affected = True
        elif (kind == "fixed" and wanted >= at) or (kind == "last_affected" and wanted > at):
            affected = False
    return affected


_PAGE = pathlib.Path(__file__).parents[2] / "docs" / "development" / "image.md"
ALLOWED = frozenset(
    re.findall(r"(?m)^\| `([\w.-]+)` \|", _PAGE.read_text(encoding="utf-8").partition("## Licences")[2])
)
"""What may be in the image; the page says what it asks of a distributor of the image."""
_NAMES: dict[str, str | None] = yaml.safe_load(pathlib.Path(__file__).with_name("licences.yaml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Licensed:
    """A package and its SPDX expression."""

    name: str
    version: str
    expression: str


@functools.cache
def _licensing() -> Any:
    return license_expression.get_spdx_licensing()


def licence(name: str) -> Licensed:
    """Return the licence of a package that is installed here. Raises ImageError."""
    distribution = metadata.distribution(name)
    about = distribution.metadata
    stated = [*(about[field] for field in ("License-Expression", "License") if field in about)]
    stated += [text for text in about.get_all("Classifier") or [] if text.startswith("License ::")]
    for text in stated:
        expression = expressed(text or "")
        if expression is not None:
            return Licensed(about["Name"], distribution.version, expression)
    raise ImageError(f"{about['Name']} {distribution.version} says of its licence: {[text for text in stated if text]}")


def expressed(text: str) -> str | None:
    """Return the SPDX expression that a text means, None when it means none for sure."""
    text = _NAMES.get(text, text) or ""
    if not text or _licensing().validate(text).errors:
        return None
    return str(_licensing().parse(text))


def refused(expression: str) -> list[str]:
    """Return the licences of an expression that are not allowed; one of several that are offered is enough."""
    return _refused(_licensing().parse(expression))


def _refused(part: Any) -> list[str]:
    if isinstance(part, _licensing().OR):
        ways = [_refused(way) for way in part.args]
        return [] if [] in ways else [name for way in ways for name in way]
    if isinstance(part, _licensing().AND):
        return [name for each in part.args for name in _refused(each)]
    return [] if str(part) in ALLOWED else [str(part)]


def table(locked: Iterable[Locked]) -> str:
    """Return the table of docs/development/image.md. Raises ImageError."""
    rows = [licence(lock.name) for lock in locked]
    lines = ["| package | version | licence |", "|---|---|---|"]
    lines += [
        f"| {row.name} | {row.version} | {row.expression} |" for row in sorted(rows, key=lambda row: row.name.lower())
    ]
    return "\n".join(lines) + "\n"
