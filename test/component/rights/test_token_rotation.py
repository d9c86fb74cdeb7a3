"""The token is replaced while watches are open and a transition is under way, and the old one stops working.

The tokens are issued by the server and bound to a Secret each: deleting the Secret ends the token, as the end of a pod
does. The server remembers for ten seconds that a token was good.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from test import polling, skips
from test.component import cluster
from test.component.rights import pod, restricted_world
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib

    from test.component.process import Operator
    from test.component.rights.restricted_world import RestrictedWorld
    from topology_simulator.envtest import audit

_DEAD_SECONDS = 20.0
_WRITERS = 6
"""Who asks at one instant besides watches: the lease, the record, the ClusterOperator, events, a live read, a retry."""


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
        with contextlib.suppress(clients.ApiError):
            await staged.api.delete(restricted_world.SECRETS, name, cluster.OWN_NAMESPACE)


@pytest.fixture
def account(staged: RestrictedWorld, tmp_path: pathlib.Path) -> pod.ServiceAccount:
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    return pod.ServiceAccount(folder, staged.ground.session.server.kubeconfig())


@pytest.fixture
async def blocked(staged: RestrictedWorld, issue, account: pod.ServiceAccount) -> tuple[Operator, Issued]:
    """An operator with a first token, and a request that waits for a node.

    It runs as in a pod, in a folder that looks like a pod's.
    """
    if not pod.allowed(account.folder):
        pytest.skip(
            f"{skips.ELSEWHERE}no process can be shown a pod's folder: this needs root, or mount namespaces for users"
        )
    first = await issue()
    account.write(first.token)
    await cluster.set_ready(staged.api, "master-2", ready=False)
    await staged.ask_for()
    operator = await pod.start(account, staged.ground.session.server.port, staged.folder / "pod.log")
    staged.operators.append(operator)
    await operator.ready()
    await staged.until_phase("Pending")
    return operator, first


def refusals(log: audit.Log, found: list[audit.Event]) -> list[audit.Event]:
    """Every request of the operator that was answered with 401 since the log was opened."""
    found += [one for one in log.read() if one.code == 401 and one.agent.startswith("cluster-topology-operator/")]
    return found


async def test_a_new_token_is_taken_and_a_file_that_vanishes_is_waited_out(
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
