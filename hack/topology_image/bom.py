"""`make sbom`: what is in the application layer, as CycloneDX 1.6; what the base image has is not in it.

cyclonedx-py lists the environment that was built. Added here is the file that each package came from, by the hash that
pip found and the locked file allows, and the version that was stamped. The same layer gives the same list.
"""

import hashlib
import json
import os
import pathlib
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from cyclonedx import schema
from packaging import utils

from . import ImageError, locks, ran

_SECONDS = 120.0
_ROOT_REF = "root-component"


def environment(interpreter: pathlib.Path, pyproject: pathlib.Path, epoch: int) -> dict[str, Any]:
    """Return what cyclonedx-py finds in an environment. Raises ImageError."""
    tool = pathlib.Path(sys.executable).with_name("cyclonedx-py")
    flags = ["--sv", "1.6", "--output-reproducible", "--validate", "--pyproject", str(pyproject)]
    variables = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "PYTHONDONTWRITEBYTECODE": "1"}
    done = ran([str(tool), "environment", *flags, str(interpreter)], _SECONDS, env=variables)
    if done.returncode != 0:
        raise ImageError(f"cyclonedx-py: {done.stderr.strip()}")
    bom: dict[str, Any] = json.loads(done.stdout)
    return bom


def completed(
    environment_bom: dict[str, Any],
    version: str,
    wheel: str,
    installed: Mapping[str, str],
    locked: Mapping[str, locks.Locked],
) -> dict[str, Any]:
    """Return the list with hashes and our own version.

    `wheel` is the sha256 of our own wheel, `installed` that of every other file by the name of its package. Raises
    ImageError for a package that has none, whose hash is not among the locked ones, or that is not locked at all.
    """
    bom: dict[str, Any] = json.loads(json.dumps(environment_bom))
    root = bom["metadata"]["component"]
    root |= {"version": version, "purl": f"pkg:generic/{root['name']}@{version}", "hashes": _hashes([wheel])}
    for component in bom["components"]:
        name = utils.canonicalize_name(component["name"])
        lock, digest = locked.get(name), installed.get(name)
        if lock is None:
            raise ImageError(f"{component['name']} is in the layer and in no locked file")
        if component["version"] != lock.version or digest not in lock.hashes:
            raise ImageError(f"{name} {component['version']} with hash {digest} is not what is locked: {lock.version}")
        component["hashes"] = _hashes([digest])
    missing = set(installed) - {utils.canonicalize_name(component["name"]) for component in bom["components"]}
    if missing:
        raise ImageError(f"installed, and not in the list: {sorted(missing)}")
    return bom


def text(bom: dict[str, Any]) -> str:
    """Return the list as it is written. Raises ImageError where it is not what the schema wants."""
    written = json.dumps(bom, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    from cyclonedx.validation import json as validation  # noqa: PLC0415 - takes seconds to import

    wrong = validation.JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(written)
    if wrong is not None:
        raise ImageError(f"not CycloneDX 1.6: {wrong}")
    names = {_ROOT_REF, *(component["bom-ref"] for component in bom["components"])}
    listed = {dependency["ref"] for dependency in bom["dependencies"]}
    if listed != names:
        raise ImageError(f"the graph speaks of {sorted(listed ^ names)}")
    return written


def hashes_of(report: pathlib.Path) -> dict[str, str]:
    """Return the sha256 of every file that pip installed, by name, from its report."""
    installed = json.loads(report.read_text(encoding="utf-8"))
    return {
        utils.canonicalize_name(wheel["metadata"]["name"]): wheel["download_info"]["archive_info"]["hashes"]["sha256"]
        for wheel in installed["install"]
    }


def hash_of(wheels: pathlib.Path) -> str:
    """Return the sha256 of the one wheel of a folder. Raises ImageError."""
    built = sorted(wheels.glob("*.whl"))
    if len(built) != 1:
        raise ImageError(f"{wheels}: {len(built)} wheels")
    return hashlib.sha256(built[0].read_bytes()).hexdigest()


def _hashes(digests: Iterable[str | None]) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": digest} for digest in digests if digest is not None]
