"""The token is replaced while watches are open and a transition is under way, and the old one stops working.

The tokens are issued by the server and bound to a Secret each: deleting the Secret ends the token, as the end of a pod
does. The server remembers for ten seconds that a token was good.

A kubelet never writes into a file that is there: it fills a new folder, and renames a link over the one that leads to
the old. The command line has no option for the folder, as no pod needs one; so the process gets a mount namespace of
its own, in which the folder lies where a pod has it. Not every kernel allows that to every user.
"""

from __future__ import annotations

import base64
import itertools
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from test import polling, processes, skips
from test.component import cluster, process
from test.component.rights import restoring, restricted_world
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib

    from test.component.rights.restricted_world import RestrictedWorld
    from topology_simulator.envtest import audit

_DEAD_SECONDS = 20.0
_WRITERS = 6
"""Who asks at one instant besides watches: the lease, the record, the ClusterOperator, events, a live read, a retry."""


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


def can_be_shown(folder: pathlib.Path) -> bool:
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


class Issued:
    """A token that can be ended."""

    def __init__(self, staged: RestrictedWorld, secret: dict[str, Any], token: str) -> None:
        self._staged = staged
        self._name = secret["metadata"]["name"]
        self.token = token

    async def end(self) -> None:
        await self._staged.api.delete(restricted_world.SECRETS, self._name, cluster.OWN_NAMESPACE)

    async def is_dead(self) -> bool:
        """Ask with it."""
        async with self._staged.as_operator(self.token) as api:
            return await restricted_world.code_of(api.get(kinds.INFRASTRUCTURES, "cluster")) == 401


@pytest.fixture
async def issue(staged: RestrictedWorld):
    made: list[str] = []

    async def issued() -> Issued:
        name = f"bound-{len(made)}"
        meta = {"name": name, "namespace": cluster.OWN_NAMESPACE}
        secret = await staged.api.create(
            restricted_world.SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": meta}
        )
        made.append(name)
        return Issued(staged, secret, await staged.ground.token(staged.api, bound_to=secret))

    yield issued
    for name in made:
        await restoring.forget(staged.api, restricted_world.SECRETS, name, cluster.OWN_NAMESPACE)


@pytest.fixture
def account(staged: RestrictedWorld, tmp_path: pathlib.Path) -> ServiceAccount:
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    return ServiceAccount(folder, staged.ground.session.server.kubeconfig())


@pytest.fixture
async def blocked(staged: RestrictedWorld, issue, account: ServiceAccount) -> tuple[process.Operator, Issued]:
    """An operator with a first token, and a request that waits for a node.

    It runs as in a pod, in a folder that looks like a pod's.
    """
    if not can_be_shown(account.folder):
        pytest.skip(
            f"{skips.ELSEWHERE}no process can be shown a pod's folder: this needs root, or mount namespaces for users"
        )
    first = await issue()
    account.write(first.token)
    await cluster.set_ready(staged.api, "master-2", ready=False)
    await staged.ask_for()
    operator = await start(account, staged.ground.session.server.port, staged.folder / "pod.log")
    staged.operators.append(operator)
    await operator.ready()
    await staged.until_phase("Pending")
    return operator, first


def refusals(log: audit.Log, found: list[audit.Event]) -> list[audit.Event]:
    """Every request of the operator that was answered with 401 since the log was opened."""
    found += [one for one in log.read() if one.code == 401 and one.agent.startswith("cluster-topology-operator/")]
    return found


async def test_a_new_token_is_taken_and_a_file_that_vanishes_or_holds_garbage_is_waited_out(
    staged: RestrictedWorld, blocked, issue, account
) -> None:
    """Swapped in good time, as by a kubelet, one refused request is all. Without a new one little is asked."""
    operator, first = blocked
    holder = await staged.holder()
    log = staged.ground.session.server.audit()
    refused: list[audit.Event] = []

    async def refused_more(number: int) -> bool:
        return len(refusals(log, refused)) >= number

    second = await issue()
    account.write(second.token)
    await first.end()
    await polling.until("the old token is refused", first.is_dead, _DEAD_SECONDS)
    await polling.until("the operator has met that", lambda: refused_more(1), 5.0)
    await operator.ready()
    # Usually the one renewal of the lease that met it first; whatever was on its way with it may have met it too.
    assert len(refusals(log, refused)) <= _WRITERS, refused
    assert "the lease was not renewed" not in operator.words()
    assert "cannot watch" not in operator.words()

    account.vanish()
    await second.end()
    known = len(refused)
    await polling.until("it is refused without a file", lambda: refused_more(known + 1), _DEAD_SECONDS)
    begin = refused[known].time
    account.write("half a tok\nen")
    later = len(refused)
    await polling.until("it is refused with garbage in the file", lambda: refused_more(later + 1), 5.0)
    account.write((await issue()).token)

    await cluster.set_ready(staged.api, "master-2", ready=True)
    await staged.completed_once(seconds=20.0)
    await operator.ready()
    assert await staged.holder() == holder
    assert operator.words().count("leading as") == 1, "the same process with the same lease"
    seconds = refused[-1].time - begin
    assert len(refusals(log, refused)) - known <= _WRITERS + 3 * seconds, [(one.time, one.uri) for one in refused]
    assert "the lease was not renewed" in operator.words()
