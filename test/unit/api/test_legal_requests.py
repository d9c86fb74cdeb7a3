"""What the API server answers to a request, by the rules in the generated definition.

One object, `cluster`, is driven through the API of the embedded server exactly as a person or the operator would.
"""

from collections.abc import Awaitable
from typing import Any

import pytest
from test import sentences

from topology_api import crd
from topology_controller import bindata
from topology_controller.definitions import load
from topology_simulator import client, kinds, kubeconfig
from topology_simulator.apiserver import server

HEAD = {"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"}}
CONVERGING = {"phase": "Converging", "target": {"controlPlane": "HighlyAvailable", "infrastructure": "HighlyAvailable"}}


class Cluster:
    """Infrastructure `cluster`, and who writes it."""

    def __init__(self, api: client.Client) -> None:
        self._api = api

    async def create(self, **parts: Any) -> None:
        await self._api.create(kinds.INFRASTRUCTURES, {**HEAD, **parts})

    async def ask_for(self, value: str | None) -> None:
        await self.patch({"spec": {"desiredTopology": value}})

    async def patch(self, change: dict[str, Any]) -> None:
        await self._api.patch(kinds.INFRASTRUCTURES, "cluster", change)

    async def status(self, **fields: Any) -> None:
        await self._api.patch_status(kinds.INFRASTRUCTURES, "cluster", fields)


async def refused(write: Awaitable[None], *words: str) -> None:
    with pytest.raises(client.ApiError) as caught:
        await write
    assert caught.value.code == 422
    assert "no such key" not in caught.value.message
    for word in ("spec.desiredTopology", *words):
        assert word in caught.value.message


@pytest.fixture
async def cluster():
    """An API server with the rules of the shipped definitions, and nothing stored."""
    api = server.ApiServer(crds=[crd.infrastructure(load.load(bindata.root() / "transitions").edges())])
    await api.start()
    try:
        async with client.Client(kubeconfig.Access(api.url)) as connected:
            yield Cluster(connected)
    finally:
        await api.stop()


@pytest.fixture
async def single(cluster):
    await cluster.create(spec={})
    await cluster.status(controlPlaneTopology="SingleReplica", infrastructureTopology="SingleReplica")
    return cluster


async def test_a_request_before_there_is_a_status_is_refused_with_what_to_do(cluster):
    await refused(cluster.create(spec={"desiredTopology": "HighlyAvailable"}), "let its status be set")
    # A status in the body of a create is dropped by the API server: it does not help.
    status = {"controlPlaneTopology": "SingleReplica"}
    await refused(cluster.create(spec={"desiredTopology": "HighlyAvailable"}, status=status), "let its status be set")
    await cluster.create()
    await refused(cluster.ask_for("HighlyAvailable"), "let its status be set")


@pytest.mark.parametrize(
    ("here", "asked"),
    [
        ("SingleReplica", ("SingleReplica", "HighlyAvailable", "HighlyAvailable", None)),
        # By what the control plane is already: infrastructure alone follows.
        ("HighlyAvailable", ("HighlyAvailable", None, "HighlyAvailable")),
    ],
)
async def test_what_is_legal_is_accepted_and_never_in_the_way_of_status(single, here, asked):
    await single.status(controlPlaneTopology=here)
    for topology in asked:
        await single.ask_for(topology)
    await single.ask_for("HighlyAvailable")
    for topology in ("DualReplica", "External", "SingleReplica"):
        await single.status(controlPlaneTopology=topology)


@pytest.fixture
async def converging(single):
    await single.ask_for("HighlyAvailable")
    there = {"controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable"}
    await single.status(**there, topologyTransition=CONVERGING)
    return single


async def test_while_converging_the_request_stays(converging):
    await refused(
        converging.ask_for(None), "the cluster is converging", "leave spec.desiredTopology at HighlyAvailable"
    )
    await refused(converging.ask_for("SingleReplica"), "there is no way back")
    await refused(converging.patch({"spec": None}), "the cluster is converging")
    await converging.ask_for("HighlyAvailable")


@pytest.mark.parametrize("field", ["controlPlaneTopology", "infrastructureTopology"])
async def test_when_status_was_set_back_the_request_can_be_removed_and_made_again(converging, field):
    await converging.status(**{field: "SingleReplica"})
    await converging.ask_for(None)
    await converging.ask_for("HighlyAvailable")


@pytest.mark.parametrize(
    ("here", "desired", "words"),
    [
        ("HighlyAvailable", "DualReplica", "two nodes with fencing run etcd under pacemaker"),
        ("HighlyAvailable", "SingleReplica", "(making a control plane smaller is not supported)"),
        (
            "HighlyAvailableArbiter",
            "DualReplica",
            "nothing leads from there, because what the machine config operator made for the arbiter",
        ),
        ("SingleReplica", "DualReplica", "; allowed: HighlyAvailable, SingleReplica (no change) or unset"),
        ("SingleReplica", "HighlyAvailableArbiter", sentences.HIGHLY_AVAILABLE_IS_LEFT),
        ("DualReplica", "HighlyAvailable", "nothing leads from there, so remove the request"),
    ],
)
async def test_what_nothing_leads_to_is_refused_with_the_reason_and_what_is_legal(single, here, desired, words):
    await single.status(controlPlaneTopology=here)
    await refused(
        single.ask_for(desired), f"{desired} cannot be reached from status.controlPlaneTopology {here}", words
    )
