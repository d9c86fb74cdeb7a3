"""`fleet` as a process of its own, asked of a hub with works, and of what is no hub."""

from __future__ import annotations

import json
import pathlib
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml

from test.component import plugin
from test.component import surveyed_hub as hub
from topology_simulator.apiserver import server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SCHEMA = json.loads((pathlib.Path(__file__).parents[2] / "docs" / "schemas" / "fleet.json").read_text())


@pytest.fixture
async def place() -> AsyncIterator[server.ApiServer]:
    """A hub without a cluster."""
    made = hub.empty()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
def command(place: server.ApiServer, tmp_path: pathlib.Path) -> plugin.Plugin:
    return plugin.Plugin(tmp_path, place.kubeconfig())


def few(**messages: str) -> list[dict[str, Any]]:
    spec = hub.template()
    return [hub.surveyed(name.replace("_", "-"), message, spec) for name, message in messages.items()]


async def test_the_table_the_names_and_the_data_agree(place: server.ApiServer, command: plugin.Plugin) -> None:
    hub.add(place, few(edge_3="Ready", edge_1="Ready", edge_2="Done", edge_4="UnderWay: Pending"))
    hub.add(place, few(edge_5="Done"), available="Unknown")
    ended = await command.run("fleet")
    assert (ended.code, ended.complaint) == (plugin.DONE, "")
    assert ended.printed == "5 surveyed: 1 done, 1 under way, 2 ready, 1 unreachable\n"
    listed = await command.run("fleet", "--list", "Ready")
    assert (listed.code, listed.printed) == (plugin.DONE, "edge-1\nedge-3\n")
    nothing = await command.run("fleet", "--list", "Silent")
    assert (nothing.code, nothing.printed) == (plugin.DONE, "")
    code, answer = await command.json("fleet")
    jsonschema.Draft202012Validator(SCHEMA).validate(answer)
    assert code == plugin.DONE
    assert [item["name"] for item in answer["clusters"] if item["state"] == "Ready"] == ["edge-1", "edge-3"]
    assert yaml.safe_load((await command.run("fleet", "-o", "yaml")).printed)["counts"] == answer["counts"]


async def test_a_cluster_that_needs_a_person_is_exit_code_3_in_every_form(
    place: server.ApiServer, command: plugin.Plugin
) -> None:
    hub.add(place, few(edge_1="Ready", edge_2="Ready"))
    why = 'Apply failed with 1 conflict: conflict with "ops" using config.openshift.io/v1: .spec.desiredTopology'
    hub.add(place, [hub.refused("edge-2", why)])
    ended = await command.run("fleet")
    assert ended.code == plugin.BLOCKED
    assert "NEEDS A PERSON" in ended.printed
    assert why in ended.printed
    listed = await command.run("fleet", "--list", "NeedsAPerson")
    assert (listed.code, listed.printed) == (plugin.BLOCKED, "edge-2\n")
    assert (await command.json("fleet"))[0] == plugin.BLOCKED


async def test_what_is_no_hub_and_a_hub_without_a_survey_are_named(
    place: server.ApiServer, command: plugin.Plugin, tmp_path: pathlib.Path
) -> None:
    ended = await command.run("fleet")
    assert ended.code == plugin.FAILED
    assert ended.reason.startswith("no ManifestWork of topology-fleet.topology-survey is there")
    assert "cluster-topology-operator fleet work" in ended.reason
    hub.add(place, few(edge_1="Ready"))
    elsewhere = await command.run("fleet", "--namespace", "other")
    assert elsewhere.code == plugin.FAILED
    assert "other.topology-survey" in elsewhere.reason
    bare = server.ApiServer()
    await bare.start()
    try:
        cluster = await plugin.Plugin(tmp_path, bare.kubeconfig()).run("fleet")
    finally:
        await bare.stop()
    assert cluster.code == plugin.FAILED
    assert cluster.reason.endswith("this is no hub")
    gone = await plugin.Plugin(tmp_path, bare.kubeconfig()).run("fleet")
    assert gone.code == plugin.FAILED
    assert gone.reason.startswith("connection refused")
