"""Where the real binaries are. `hack/envtest/envtest` finds and builds them; here it is only asked.

KUBEBUILDER_ASSETS, then a cache keyed by the Go modules. Nothing is built from here: a test run that compiled a
Kubernetes for minutes would look as if it hung.
"""

from __future__ import annotations

import functools
import pathlib
import subprocess

_SCRIPT = pathlib.Path(__file__).parents[2] / "envtest" / "envtest"


class MissingError(Exception):
    """The binaries are not there; the message is one line that says what to do."""


@functools.cache
def folder() -> pathlib.Path:
    """Return the folder that holds kube-apiserver, etcd and kubectl. Raises MissingError."""
    try:
        asked = subprocess.run([_SCRIPT, "path"], capture_output=True, text=True, timeout=30.0, check=False)  # noqa: S603 - our own script
    except OSError as error:
        raise MissingError(f"{_SCRIPT}: {error.strerror}; run this from a checkout of the repository") from None
    if asked.returncode != 0:
        raise MissingError(asked.stderr.strip().removeprefix("envtest: ") or f"{_SCRIPT} failed without a word")
    return pathlib.Path(asked.stdout.strip())
