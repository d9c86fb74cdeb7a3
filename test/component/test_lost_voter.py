"""A control-plane node fails while there are two voters: no quorum, no API. The operator lives, and begins anew.

Once while the request waits, and once while the change itself is sent: etcd may execute that write when it has a quorum
again, and may not. A member that is gone for good is restored from a backup: without a quorum none can be removed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from test import polling
from test.component import backend, cluster, process
from topology_simulator import cluster as simulated
from topology_simulator import kinds
from topology_simulator.envtest import server as members

if TYPE_CHECKING:
    from test.component import real
    from test.component.world import World
    from topology_simulator.apiserver import requests


async def _failed(operator: process.Operator) -> float:
    _, text = await operator.ask("/metrics")
    return sum(map(float, re.findall(r'(?m)^rest_client_requests_total{.*code="(?:<error>|5..)".* (\S+)$', text)))


async def _lost(operator: process.Operator, second: members.Second) -> None:
    before = await _failed(operator)
    await polling.until("requests fail", lambda: _failed(operator), 30.0, holds=lambda now: now > before)
    assert ((await operator.ask("/healthz"))[0], operator.alive) == (200, True)
    await second.start()


async def test_one_of_two_voters_is_lost_waiting_and_changing(there: World, real_server: real.Session) -> None:
    homes = (await there.api.get(kinds.CONFIG_MAPS, simulated.ETCD_ENDPOINTS, simulated.ETCD_NAMESPACE))["data"]
    third = max(homes, key=homes.__getitem__)
    operator = await there.idle_operator(lease=process.PATIENT)
    async with members.Second(real_server.server.etcd_url) as second:
        await cluster.set_endpoints(there.api, {third: None})
        await there.ask_for()
        await there.until_check("EtcdVotingMembers", "Unmet")
        await second.kill()
        await _lost(operator, second)
        await operator.ready(30.0)
        assert (await there.pair(), there.server.topology_changes) == (there.installed, [])

        there.server.before(backend.is_change, lambda _: second.kill())
        before = there.server.mark()

        def asked() -> list[requests.Record]:
            log = sorted(there.server.asked(before), key=lambda request: request.time)
            return [request for request in log if request.resource == "infrastructures" and not request.watch]

        def lost() -> list[int]:
            return [n for n, request in enumerate(asked()) if request.verb == "patch" and request.code != 200]

        await cluster.set_endpoints(there.api, {third: homes[third]})
        await polling.until("the change has no answer", lost, 30.0)
        await _lost(operator, second)
        await there.completed_once(seconds=60.0)
    assert asked()[lost()[0] + 1].verb == "get", "it looks before it writes again"
