"""The operator as it runs in a pod: the folder of its service account, and the token in it swapped as a kubelet does.

A kubelet never writes into a file that is there: it fills a new folder, and renames a link over the one that leads to
the old. The command line has no option for the folder, as no pod needs one; so the process gets a mount namespace of
its own, in which the folder lies where a pod has it. Not every kernel allows that to every user: see `allowed`.
"""

from __future__ import annotations

import base64
import itertools
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from test import processes
from test.component import process

if TYPE_CHECKING:
    import pathlib

_PLACE = "/run/secrets/kubernetes.io/serviceaccount"
_SCRIPT = """set -e
[ "$(readlink -f /var/run)" = /run ] || mount -t tmpfs tmpfs /var/run
mount -t tmpfs tmpfs /run
mkdir -p "$PLACE" "/var$PLACE"
mount --bind "$FOLDER" "$PLACE"
mount --bind "$FOLDER" "/var$PLACE"
exec "$@"
"""
_TRY_SECONDS = 20.0


class ServiceAccount:
    """The folder: `token` and `ca.crt`, both links through `..data`."""

    def __init__(self, folder: pathlib.Path, kubeconfig: dict[str, Any]) -> None:
        self.folder = folder
        self._authority = base64.b64decode(kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"])
        self._versions = itertools.count()
        self._data = folder / "..data"

    def write(self, token: str) -> None:
        """Swap the content, as a kubelet does."""
        fresh = self.folder / f"..{next(self._versions)}"
        fresh.mkdir(parents=True)
        (fresh / "token").write_text(token)
        (fresh / "ca.crt").write_bytes(self._authority)
        link = self.folder / "..data_tmp"
        link.symlink_to(fresh.name)
        old = self._data.resolve() if self._data.is_symlink() else None
        link.rename(self._data)
        for name in ("token", "ca.crt"):
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        if old is not None:
            shutil.rmtree(old)

    def vanish(self) -> None:
        """Leave links that lead nowhere, until the next `write`."""
        old = self._data.resolve()
        self._data.unlink()
        shutil.rmtree(old)


def _inside(folder: pathlib.Path, *command: str) -> tuple[list[str], dict[str, str]]:
    environment = {**os.environ, "PLACE": _PLACE, "FOLDER": str(folder), "HOME": "/nonexistent"}
    environment.pop("KUBECONFIG", None)
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", _SCRIPT, "sh", *command], environment


def allowed(folder: pathlib.Path) -> bool:
    """Can a process here be shown a pod's folder? Kernels may keep mount namespaces from users."""
    command, environment = _inside(folder, "true")
    try:
        done = subprocess.run(  # noqa: S603 - a command of our own
            command, env=environment, capture_output=True, timeout=_TRY_SECONDS, check=False
        )
    except OSError:
        return False
    return done.returncode == 0


async def start(account: ServiceAccount, port: int, log: pathlib.Path, *flags: str) -> process.Operator:
    """Start an operator in a pod's surroundings; it finds the API server on a loopback port by its environment."""
    operator = [sys.executable, "-m", "topology_controller", "run", "--bind-address", "127.0.0.1:0"]
    command, environment = _inside(account.folder, *operator, "--settle-seconds", "0", *process.LEASE, *flags)
    environment |= {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(port)}
    environment |= {"PYTHONUNBUFFERED": "1", "POD_NAME": "operator-pod"}
    started = await processes.logged(*command, log=log, env=environment)
    return process.Operator("operator-pod", log, started)
