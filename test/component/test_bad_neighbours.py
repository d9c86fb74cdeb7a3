"""What one bad neighbour writes costs what it is about, and nothing else: no other object, and no candidate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from test import polling
from test.component import backend, cluster
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World

DEEP = 1_500
"""Levels: more than Python's decoder takes, and far fewer than kube-apiserver does."""


async def nest(world: World, name: str) -> None:
    """Nest the extension of a ClusterOperator too deeply for anything that is written in Python, ourselves included."""
    nested = b'{"a":' * DEEP + b"1" + b"}" * DEEP
    if world.server.is_real:
        path = kinds.CLUSTER_OPERATORS.path(name, subresource="status")
        body = b'{"status":{"extension":' + nested + b"}}"
        media = {"Content-Type": "application/merge-patch+json"}
        access = world.api._access
        async with world.api._opened().patch(access.server + path, data=body, headers=media) as answer:
            assert answer.status == 200, await answer.text()
        return
    assert isinstance(world.server, backend.Embedded)
    await world.api.patch_status(kinds.CLUSTER_OPERATORS, name, {"extension": {"a": 1}})
    store = f"{kinds.CLUSTER_OPERATORS.group}/{kinds.CLUSTER_OPERATORS.plural}"
    item = world.server.storage.get(store, "", name)
    assert item is not None
    encoded = json.dumps(item.obj, separators=(",", ":")).encode()
    item.encoded[kinds.CLUSTER_OPERATORS.api_version] = encoded.replace(b'{"a":1}', nested)


@pytest.mark.on_real
async def test_an_object_nested_too_deeply_is_named_and_ends_with_itself(world: World) -> None:
    world.echo.on = False
    await nest(world, "ingress")
    await world.idle_operator()
    await world.ask_for()
    check = await world.until_check("ClusterOperatorsStable", "Unknown")
    assert "clusteroperators.config.openshift.io/ingress: malformed: nested too deeply" in check["message"]
    assert (await world.record())["phase"] == "Pending"
    await world.api.patch_status(kinds.CLUSTER_OPERATORS, "ingress", {"extension": None})
    await world.until_check("ClusterOperatorsStable", "Met")
    await world.echo.go_on()
    await world.until_phase("Completed")


@pytest.mark.on_real
async def test_a_lease_whose_changes_cannot_be_counted_further_is_taken_over(world: World) -> None:
    spec = {"holderIdentity": "", "leaseTransitions": 2**31 - 1}
    lease = kinds.LEASES.new(cluster.OWN_LEASE, cluster.OWN_NAMESPACE, spec=spec)
    await world.api.create(kinds.LEASES, lease)
    operator = await world.operator("operator-a")

    async def held() -> bool:
        return await world.holder() == "operator-a"

    await polling.until("the lease is taken", held)
    taken = await world.api.get(kinds.LEASES, cluster.OWN_LEASE, cluster.OWN_NAMESPACE)
    assert taken["spec"]["leaseTransitions"] == 1
    assert "waiting for the lease" not in operator.words()


@pytest.mark.on_real
@pytest.mark.parametrize("field", ["leaseTransitions", "leaseDurationSeconds"])
async def test_a_lease_with_more_than_32_bits_is_refused(world: World, field: str) -> None:
    """The rule that made one write keep every candidate out: both servers have it, in the same words."""
    lease = kinds.LEASES.new("other", cluster.OWN_NAMESPACE, spec={field: 2**31})
    with pytest.raises(clients.ApiError) as refused:
        await world.api.create(kinds.LEASES, lease)
    assert refused.value.code == 400
    assert f"cannot unmarshal number 2147483648 into Go struct field LeaseSpec.spec.{field} of type int32" in str(
        refused.value
    )
