"""`fleet` as a process of its own, asked of a hub with the works of 3,500 clusters, and of hubs that are in trouble."""

from __future__ import annotations

import collections
import json
import os
import pathlib
import sys
import time
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml

from test import processes
from test.component import plugin
from test.component import surveyed_hub as hub
from topology_simulator.apiserver import faults, server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

CLUSTERS = 3500
SECONDS, MIB = 5.0, 150.0
RUNS = 3
"""Another process can only make it longer: the least of so many counts."""
REFUSED_SECONDS = 15.0
"""Beside what such a command takes on this machine, now: much less than all pages of a list may take."""
KIB = (6.0, 14.0)
"""How large a work is. The rules of the survey are most of it."""
SCHEMA = json.loads((pathlib.Path(__file__).parents[2] / "docs" / "schemas" / "fleet.json").read_text())
MESSAGES = (
    ("Ready", "Ready"), ("Ready", "Ready"), ("Done", "Done"), ("UnderWay: Converging", "UnderWay"),
    ("NotReady: sno-to-ha-compact: ControlPlaneNodes, EtcdVotingMembers", "NotReady"), ("Ready", "Ready"),
    ("Silent", "Silent"),
)  # fmt: skip
EVIL = "\x1b[2J\x1b]0;owned\x07"
_MEASURING = """
import os, pathlib, sys, time
from topology_controller.plugin import main
code = main.main(sys.argv[1:])
status = pathlib.Path("/proc/self/status").read_text()
print(next(line for line in status.splitlines() if line.startswith("VmHWM")), time.process_time(), file=sys.stderr)
sys.exit(code)
"""
"""A process of its own, which says at its end how much memory it ever had, and how many seconds of a core it took."""


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


def fleet() -> tuple[list[dict[str, Any]], collections.Counter[str]]:
    """The works of a large fleet, and how many clusters are in which state."""
    spec = hub.template()
    works, counts = [], collections.Counter[str]()
    for number in range(CLUSTERS):
        message, state = MESSAGES[number % len(MESSAGES)]
        if number % 500 == 1:
            message, state = "NeedsAPerson: TransitionStuck", "NeedsAPerson"
        works.append(hub.surveyed(f"edge-{number:04}", message, spec, since="2026-03-01T11:00:00Z"))
        counts[state] += 1
    return works, counts


def few(**messages: str) -> list[dict[str, Any]]:
    spec = hub.template()
    return [hub.surveyed(name.replace("_", "-"), message, spec) for name, message in messages.items()]


async def test_3500_works_are_counted_within_seconds_and_little_memory(
    place: server.ApiServer, tmp_path: pathlib.Path, figure: Callable[[str], None]
) -> None:
    works, counts = fleet()
    kib = hub.size(works[0]) / 1024
    assert KIB[0] <= kib <= KIB[1], f"a work has {kib:.1f} KiB"
    hub.add(place, works)
    del works
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(place.kubeconfig()))
    environ = {**os.environ, "KUBECONFIG": str(file), "PYTHONPYCACHEPREFIX": str(tmp_path / "compiled")}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    best, most = float("inf"), 0.0
    for _ in range(RUNS):
        ended = await processes.run(sys.executable, "-c", _MEASURING, "fleet", "-o", "json", env=environ)
        _, kibibytes, _, seconds = ended.complaint.split()
        best, most = min(best, float(seconds)), max(most, int(kibibytes) / 1024)
        assert ended.code == plugin.BLOCKED, ended.complaint
    jsonschema.Draft202012Validator(SCHEMA).validate(ended.answer)
    assert ended.answer["surveyed"] == CLUSTERS
    assert {state: number for state, number in ended.answer["counts"].items() if number} == counts
    figure(f"fleet, {CLUSTERS} works of {kib:.1f} KiB: {best:.1f} s of a core, {most:.0f} MiB at most")
    assert best <= SECONDS
    assert most <= MIB
    lists = [record for record in place.requests if record.verb == "list" and "manifestworks" in record.path]
    assert len(lists) >= RUNS * CLUSTERS / 500, "paged"


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


async def test_nothing_that_a_cluster_says_moves_a_cursor(place: server.ApiServer, command: plugin.Plugin) -> None:
    hub.add(place, few(edge_1=f"NeedsAPerson: {EVIL}", edge_2=f"NotReady: {EVIL}: {EVIL}", edge_3=EVIL))
    for words in (("fleet",), ("fleet", "-o", "yaml"), ("fleet", "-o", "json"), ("fleet", "--list", "NeedsAPerson")):
        ended = await command.run(*words)
        assert ended.code == plugin.BLOCKED, words
        assert "\x1b" not in ended.printed, words
        assert "\x07" not in ended.printed, words
    assert "1 not reported yet" in (await command.run("fleet")).printed


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
        began = time.perf_counter()
        cluster = await plugin.Plugin(tmp_path, bare.kubeconfig()).run("fleet")
        answered = time.perf_counter() - began
    finally:
        await bare.stop()
    assert cluster.code == plugin.FAILED
    assert cluster.reason.endswith("this is no hub")
    began = time.perf_counter()
    gone = await plugin.Plugin(tmp_path, bare.kubeconfig()).run("fleet")
    assert time.perf_counter() - began < REFUSED_SECONDS + 10 * answered, "it waits for a server that is not there"
    assert gone.code == plugin.FAILED
    assert gone.reason.startswith("connection refused")


async def test_a_right_that_lacks_is_named(place: server.ApiServer, command: plugin.Plugin) -> None:
    hub.add(place, few(edge_1="Ready"))
    refusal = place.faults.add(faults.Fault(action="status", code=403, resource="manifestworks"))
    ended = await command.run("fleet")
    assert ended.code == plugin.FAILED
    assert ended.reason.startswith(
        "forbidden: you need permission to list manifestworks.work.open-cluster-management.io"
    )
    place.faults.remove(refusal)
    place.faults.add(faults.Fault(action="status", code=403, resource="managedclusters"))
    counted = await command.run("fleet")
    assert counted.code == plugin.DONE, "what is not known is said, and the rest counted"
    assert "1 surveyed: 1 ready" in counted.printed
    assert "permission to list managedclusters" in " ".join(counted.printed.split())


async def test_a_hub_that_is_slow_is_waited_for_and_one_that_is_silent_is_not(
    place: server.ApiServer, command: plugin.Plugin
) -> None:
    hub.add(place, few(edge_1="Ready"))
    slow = place.faults.add(faults.Fault(action="slow", resource="manifestworks", delay=1.0))
    ended = await command.run("fleet")
    assert (ended.code, ended.printed) == (plugin.DONE, "1 surveyed: 1 ready\n")
    place.faults.remove(slow)
    place.faults.add(faults.Fault(action="silent", resource="manifestworks"))
    silent = await command.run("fleet", "--request-timeout", "500ms")
    assert silent.code == plugin.FAILED
    assert "no answer from" in silent.reason


async def test_a_page_that_fails_once_is_asked_for_again(place: server.ApiServer, command: plugin.Plugin) -> None:
    hub.add(place, few(edge_1="Ready", edge_2="Done"))
    place.faults.add(faults.Fault(action="status", code=503, resource="manifestworks", count=1))
    place.faults.add(faults.Fault(action="drop", resource="managedclusters", count=1))
    ended = await command.run("fleet")
    assert (ended.code, ended.printed) == (plugin.DONE, "2 surveyed: 1 done, 1 ready\n")
