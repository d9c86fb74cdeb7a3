"""The token is replaced while watches are open and a transition is under way, and the old one stops working.

The tokens are issued by the server and bound to a Secret each: deleting the Secret ends the token, as the end of a pod
does. The server remembers for ten seconds that a token was good.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from test import polling, skips
from test.component import cluster
from test.component.rights import pod, restricted_world
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component.rights.restricted_world import RestrictedWorld
    from topology_simulator.envtest import audit

_DEAD_SECONDS = 20.0
_WRITERS = 6
"""Who asks at one instant besides watches: the lease, the record, the ClusterOperator, events, a live read, a retry."""


class Tokens:
    """Tokens of the operator's account, each bound to a Secret of its own, by whose name it is known."""

    def __init__(self, staged: RestrictedWorld) -> None:
        self._staged = staged
        self.issued: list[str] = []

    async def issue(self) -> str:
        name = f"bound-{len(self.issued)}"
        made = restricted_world.SECRETS.new(name, cluster.OWN_NAMESPACE)
        secret = await self._staged.api.create(restricted_world.SECRETS, made)
        self.issued.append(name)
        return await self._staged.ground.token(self._staged.api, bound_to=secret)

    async def end(self, number: int) -> None:
        await self._staged.api.delete(restricted_world.SECRETS, self.issued[number], cluster.OWN_NAMESPACE)

    async def answer(self, token: str) -> int:
        """Ask with it."""
        async with self._staged.as_operator(token) as api:
            return await restricted_world.code_of(api.get(kinds.INFRASTRUCTURES, "cluster"))


@pytest.fixture
async def tokens(staged: RestrictedWorld) -> AsyncIterator[Tokens]:
    made = Tokens(staged)
    yield made
    for number in range(len(made.issued)):
        with contextlib.suppress(clients.ApiError):
            await made.end(number)


def refusals(log: audit.Log, found: list[audit.Event]) -> list[audit.Event]:
    """Every request of the operator that was answered with 401 since the log was opened."""
    found += [one for one in log.read() if one.code == 401 and one.agent.startswith("cluster-topology-operator/")]
    return found


@pytest.mark.nightly
async def test_a_new_token_is_taken_and_a_file_that_vanishes_is_waited_out(
    staged: RestrictedWorld, tokens: Tokens, tmp_path: pathlib.Path
) -> None:
    """Swapped in good time, as by a kubelet, one refused request is all. Without a new one little is asked.

    The operator runs as in a pod, in a folder that looks like a pod's, with a request that waits for a node.
    """
    server = staged.ground.session.server
    account = pod.ServiceAccount(tmp_path / "serviceaccount", server.kubeconfig())
    first = await tokens.issue()
    account.write(first)
    if not pod.allowed(account.folder):
        pytest.skip(
            f"{skips.ELSEWHERE}no process can be shown a pod's folder: this needs root, or mount namespaces for users"
        )
    await cluster.set_ready(staged.api, "master-2", ready=False)
    await staged.ask_for()
    operator = await pod.start(account, server.port, staged.folder / "pod.log")
    staged.operators.append(operator)
    await operator.ready()
    await staged.until_phase("Pending")
    holder = await staged.holder()
    log = server.audit()
    refused: list[audit.Event] = []
    account.write(await tokens.issue())
    await tokens.end(0)
    await polling.until(
        "the old token is refused", lambda: tokens.answer(first), _DEAD_SECONDS, holds=lambda code: code == 401
    )
    await polling.until("the operator has met that", lambda: refusals(log, refused), 5.0)
    await operator.ready()
    # Usually the one renewal of the lease that met it first; whatever was on its way with it may have met it too.
    assert len(refusals(log, refused)) <= _WRITERS, refused
    assert "the lease was not renewed" not in operator.words()
    assert "cannot watch" not in operator.words()

    account.vanish()
    await tokens.end(1)
    known = len(refused)
    await polling.until("it is refused without a file", lambda: len(refusals(log, refused)) > known, _DEAD_SECONDS)
    begin = refused[known].time
    account.write("half a tok\nen")
    later = len(refused)
    await polling.until("it is refused with garbage", lambda: len(refusals(log, refused)) > later, 5.0)
    account.write(await tokens.issue())

    await cluster.set_ready(staged.api, "master-2", ready=True)
    await staged.completed_once(seconds=20.0)
    await operator.ready()
    assert await staged.holder() == holder
    assert operator.words().count("leading as") == 1, "the same process with the same lease"
    seconds = refused[-1].time - begin
    assert len(refusals(log, refused)) - known <= _WRITERS + 3 * seconds, [(one.time, one.uri) for one in refused]
    assert "the lease was not renewed" in operator.words()
