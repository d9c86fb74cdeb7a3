"""Where the real binaries are, and OpenShift's definitions. `hack/envtest/envtest` gets them; here it is only asked.

KUBEBUILDER_ASSETS, then a cache keyed by the Go modules; with ENVTEST_KUBERNETES=1.33 the binaries of that release.
Nothing is built from here: a test run that compiled a Kubernetes for minutes would look as if it hung.
"""

import asyncio
import functools
import pathlib
import re
import subprocess

from . import SimulatorError

_HACK = pathlib.Path(__file__).parents[1]


class MissingError(SimulatorError):
    """Something is not there; the message is one line that says what to do."""


@functools.cache
def folder() -> pathlib.Path:
    """Return the folder that holds kube-apiserver, etcd and kubectl. Raises MissingError."""
    return asked_of("envtest", "path")


@functools.cache
def program(name: str) -> pathlib.Path:
    """Return etcd, etcdutl or kube-controller-manager; a folder with the others may lack one. Raises MissingError."""
    return asked_of("envtest", "path", name) / name


def etcd_progress_flag(etcd: pathlib.Path, seconds: int) -> str:
    """Return the flag that tells watches of idle keys every so often how far etcd is; 3.6 took `experimental` away.

    Raises MissingError where it cannot be run here, e.g. on another architecture.
    """
    try:
        answer = subprocess.run([etcd, "--version"], capture_output=True, text=True, timeout=30.0, check=False).stdout  # noqa: S603 - the binary that was looked for
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"{etcd} does not report a version; is it built for this machine? {error}") from None
    old = re.search(r"etcd Version: (3\.[0-5])\.", answer) is not None
    return f"--{'experimental-' if old else ''}watch-progress-notify-interval={seconds}s"


@functools.cache
def definitions(of: str = "openshift") -> pathlib.Path:
    """Return the folder that holds a set of definitions: those of openshift/api, or another one of hack/envtest.

    Raises MissingError.
    """
    return asked_of("envtest", "crds", of)


def asked_of(name: str, *what: str) -> pathlib.Path:
    """Return the folder that a script of hack/ answers with: hack/NAME/NAME. Raises MissingError."""
    script = _HACK / name / name
    try:
        asked = subprocess.run([script, *what], capture_output=True, text=True, timeout=30.0, check=False)  # noqa: S603 - our own script
    except OSError as error:
        raise MissingError(f"{script}: {error.strerror}; run this from a checkout of the repository") from None
    if asked.returncode != 0:
        raise MissingError(asked.stderr.strip().removeprefix(f"{name}: ") or f"{script} failed without a word")
    return pathlib.Path(asked.stdout.strip())


async def ran(*command: str | pathlib.Path) -> tuple[int, str, str]:
    """Run a program to its end; return its exit code, and what it has printed on its output and as errors."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe, start_new_session=True)
    try:
        output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, output.decode(errors="replace"), errors.decode(errors="replace")
