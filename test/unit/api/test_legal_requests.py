"""What the API server answers to a request, by the rules in the generated definition.

One object, `cluster`, is driven through the API of the embedded server exactly as a person or the operator would.
"""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest
from test import sentences

from topology_api import crd
from topology_controller import bindata
from topology_controller.definitions import load
from topology_simulator.apiserver import server

ALL = "/apis/config.openshift.io/v1/infrastructures"
ONE = f"{ALL}/cluster"
CONVERGING = {
    "phase": "Converging",
    "target": {"controlPlane": "HighlyAvailable", "infrastructure": "HighlyAvailable"},
}


class InfrastructureApi:
    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def send(self, method: str, path: str, body: Any, media: str = "application/json") -> tuple[int, Any]:
        async with self._session.request(
            method, self._url + path, data=json.dumps(body), headers={"Content-Type": media}
        ) as answer:
            return answer.status, await answer.json()

    async def create(self, **parts: Any) -> tuple[int, Any]:
        body = {"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"}}
        return await self.send("POST", ALL, {**body, **parts})

    async def ask_for(self, value: str | None) -> tuple[int, Any]:
        return await self.send("PATCH", ONE, {"spec": {"desiredTopology": value}}, "application/merge-patch+json")

    async def status(self, **fields: Any) -> tuple[int, Any]:
        return await self.send("PATCH", f"{ONE}/status", {"status": fields}, "application/merge-patch+json")


def refused(answer: tuple[int, Any], *words: str) -> None:
    code, body = answer
    assert code == 422, body
    assert "no such key" not in body["message"], body["message"]
    assert "spec.desiredTopology" in body["message"], body["message"]
    for word in words:
        assert word in body["message"], body["message"]


def accepted(answer: tuple[int, Any]) -> Any:
    code, body = answer
    assert code in {200, 201}, body
    return body


@pytest.fixture
async def cluster():
    """An API server with the rules of the shipped definitions, and nothing stored."""
    api = server.ApiServer(crds=[crd.infrastructure(load.load(bindata.root() / "transitions").edges())])
    await api.start()
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
            yield InfrastructureApi(session, api.url)
    finally:
        await api.stop()


@pytest.fixture
async def single(cluster):
    accepted(await cluster.create(spec={}))
    accepted(await cluster.status(controlPlaneTopology="SingleReplica", infrastructureTopology="SingleReplica"))
    return cluster


async def test_a_request_before_there_is_a_status_is_refused_with_what_to_do(cluster):
    refused(await cluster.create(spec={"desiredTopology": "HighlyAvailable"}), "let its status be set")
    # A status in the body of a create is dropped by the API server: it does not help.
    status = {"controlPlaneTopology": "SingleReplica"}
    refused(await cluster.create(spec={"desiredTopology": "HighlyAvailable"}, status=status), "let its status be set")
    accepted(await cluster.create())
    refused(await cluster.ask_for("HighlyAvailable"), "let its status be set")


@pytest.mark.parametrize(
    ("here", "asked"),
    [
        ("SingleReplica", ("SingleReplica", "HighlyAvailable", "HighlyAvailable", None)),
        # By what the control plane is already: infrastructure alone follows.
        ("HighlyAvailable", ("HighlyAvailable", None, "HighlyAvailable")),
    ],
)
async def test_what_is_legal_is_accepted_and_never_in_the_way_of_status(single, here, asked):
    accepted(await single.status(controlPlaneTopology=here))
    for topology in asked:
        accepted(await single.ask_for(topology))
    accepted(await single.ask_for("HighlyAvailable"))
    for topology in ("DualReplica", "External", "SingleReplica"):
        accepted(await single.status(controlPlaneTopology=topology))


@pytest.fixture
async def converging(single):
    accepted(await single.ask_for("HighlyAvailable"))
    accepted(
        await single.status(
            controlPlaneTopology="HighlyAvailable",
            infrastructureTopology="HighlyAvailable",
            topologyTransition=CONVERGING,
        )
    )
    return single


async def test_while_converging_the_request_stays(converging):
    refused(
        await converging.ask_for(None), "the cluster is converging", "leave spec.desiredTopology at HighlyAvailable"
    )
    refused(await converging.ask_for("SingleReplica"), "there is no way back")
    whole = await converging.send("PATCH", ONE, [{"op": "remove", "path": "/spec"}], "application/json-patch+json")
    refused(whole, "the cluster is converging")
    accepted(await converging.ask_for("HighlyAvailable"))


@pytest.mark.parametrize("field", ["controlPlaneTopology", "infrastructureTopology"])
async def test_when_status_was_set_back_the_request_can_be_removed_and_made_again(converging, field):
    accepted(await converging.status(**{field: "SingleReplica"}))
    accepted(await converging.ask_for(None))
    accepted(await converging.ask_for("HighlyAvailable"))


async def test_a_record_keeps_each_check_once(single):
    check = {"stage": "Preflight", "name": "EtcdHealthy", "status": "Met", "message": "all is well"}
    check["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    accepted(
        await single.status(topologyTransition={"phase": "Pending", "checks": [check, {**check, "name": "Other"}]})
    )
    code, body = await single.status(topologyTransition={"phase": "Pending", "checks": [check, check]})
    assert code == 422, body
    assert "Duplicate" in body["message"], body["message"]


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
    accepted(await single.status(controlPlaneTopology=here))
    refused(
        await single.ask_for(desired), f"{desired} cannot be reached from status.controlPlaneTopology {here}", words
    )
