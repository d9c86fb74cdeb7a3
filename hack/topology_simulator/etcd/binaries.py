"""The etcd that members run: the one beside the real API server, of KUBEBUILDER_ASSETS or built by hack/envtest.

ENVTEST_KUBERNETES=1.33 means the etcd of that release.
"""

from __future__ import annotations

import functools
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import etcd
from ..envtest import binaries as assets

if TYPE_CHECKING:
    import pathlib

_VERSION = re.compile(r"etcd Version: (\S+)")
_SECONDS = 20.0


class MissingError(etcd.EtcdError):
    """No etcd binary; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Binary:
    """An executable and the version that it reports."""

    path: pathlib.Path
    version: str


@functools.cache
def installed() -> Binary:
    """Return the etcd of this machine. Raises MissingError."""
    try:
        path = assets.etcd()
    except assets.MissingError as error:
        raise MissingError(str(error)) from None
    version = version_of(path)
    if not version:
        raise MissingError(f"{path} does not report a version; is it built for this machine?")
    return Binary(path, version)


def progress_flag(version: str, seconds: int) -> str:
    """Return the flag that tells watches of idle keys every so often how far etcd is; 3.6 took `experimental` away."""
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    name = "watch-progress-notify-interval"
    return f"--{name if numbers >= (3, 6) else f'experimental-{name}'}={seconds}s"


def version_of(path: pathlib.Path) -> str:
    """Return the version that a binary reports; empty when it cannot be run here, e.g. on another architecture."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603 - the binary that was looked for
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = _VERSION.search(done.stdout)
    return match[1] if match else ""
