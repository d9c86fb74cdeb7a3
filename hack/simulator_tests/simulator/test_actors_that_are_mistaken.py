"""An actor retries what an API server refuses; what its definition does not know is our mistake, and ends the box."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from topology_simulator import client, cluster, install, kinds, kubeconfig, pace
from topology_simulator.actors import hub, static_pods
from topology_simulator.apiserver import server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def access() -> AsyncIterator[kubeconfig.Access]:
    served = server.ApiServer()
    await served.start()
    try:
        yield kubeconfig.access(served.kubeconfig())
    finally:
        await served.stop()


async def test_a_field_that_no_definition_has_ends_the_actors(
    access: kubeconfig.Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch = static_pods.StaticPods.patch

    async def mistaken(self: static_pods.StaticPods, *arguments: Any) -> None:
        arguments[2].get("status", {})["nothingOfTheKind"] = 1
        await patch(self, *arguments)

    monkeypatch.setattr(static_pods.StaticPods, "patch", mistaken)
    async with client.Client(access) as api:
        await install.install(api, cluster.Shape(masters=3))
        grown = {"controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable"}
        with pytest.RaisesGroup(pytest.RaisesGroup(pytest.RaisesExc(client.ApiError, match="nothingOfTheKind"))):
            async with asyncio.timeout(20), hub.Actors(access, pace.FAST):
                await api.patch_status(kinds.INFRASTRUCTURES, "cluster", grown)
                await asyncio.Event().wait()


async def test_a_client_that_is_strict_is_refused_what_another_one_loses(access: kubeconfig.Access) -> None:
    async with client.Client(access) as lax, client.Client(access, strict=True) as strict:
        await install.install(lax, cluster.Shape())
        lost = {"nothingOfTheKind": 1}
        assert "nothingOfTheKind" not in (await lax.patch_status(kinds.ETCDS, "cluster", lost))["status"]
        with pytest.raises(client.ApiError) as patched:
            await strict.patch_status(kinds.ETCDS, "cluster", lost)
        seen = await lax.get(kinds.ETCDS, "cluster")
        with pytest.raises(client.ApiError) as put:
            await strict.put(kinds.ETCDS, {**seen, "status": {**seen["status"], **lost}}, "status")
    assert [(one.value.code, one.value.unknown_field) for one in (patched, put)] == [(422, True), (400, True)]
