"""What a configuration changes of the work: the next decision, what is said, and what is admitted; nothing else."""

import asyncio
import contextlib
import dataclasses
import pathlib
import re
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import yaml
from test.unit.configuration.files import HEAD, NAMES, Volume
from test.unit.core import clusters, worlds

from topology_api import vocabulary
from topology_api.types import TopologyTransition
from topology_api.vocabulary import ConditionType, Phase, Reason
from topology_controller import bindata
from topology_controller.decide.state import Step
from topology_controller.definitions import settings
from topology_controller.report import clusteroperator

LOOK = settings.PERIOD + settings.BREATH + 0.01
BAD = "/etc/config.yaml:3: logLevel is 'loud'"
DEGRADED = ConditionType.DEGRADED


@contextlib.asynccontextmanager
async def configured(volume: Volume) -> AsyncIterator[tuple[clusters.Cluster, clusters.Running]]:
    """An operator at work that follows this file."""
    cluster = clusters.Cluster()
    chosen = settings.Current(volume.file, worlds.ONLY_COMPACT)
    following = asyncio.create_task(chosen.run())
    try:
        async with clusters.running(cluster, configuration=chosen) as operator:
            await asyncio.sleep(1)
            yield cluster, operator
    finally:
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


def message(cluster: clusters.Cluster, type_: str = "Degraded") -> str:
    said = cluster.objects[clusters.OPERATOR]["status"]["conditions"]
    return str(next(one["message"] for one in said if one["type"] == type_))


# -- followed at run time


@pytest.mark.looptime
async def test_settle_time_and_deadline_follow_in_the_middle_of_a_transition(tmp_path):
    volume = Volume(tmp_path)
    volume.swap(f"{HEAD}settleSeconds: 3600\n")
    async with configured(volume) as (cluster, _):
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(2)
        assert cluster.phase == "Converging"
        volume.swap(f"{HEAD}settleSeconds: 3600\ndeadlineMinutes: 1\n")
        await asyncio.sleep(61)
        assert cluster.condition("Degraded") == ("True", "TransitionStuck")
        assert message(cluster).startswith("Overdue since 2026-03-01T12:01:01Z, and nothing progresses. ")
        volume.swap(f"{HEAD}settleSeconds: 3600\ntransitions: {{sno-to-ha-compact: {{deadlineMinutes: 120}}}}\n")
        await asyncio.sleep(LOOK)
        assert cluster.condition("Degraded") == ("False", "AsExpected")
        cluster.follow()
        await asyncio.sleep(600)
        assert cluster.phase == "Converging", "quiet for ten minutes is not quiet for an hour"
        volume.swap(f"{HEAD}settleSeconds: 5\n")
        await asyncio.sleep(LOOK)
        assert (cluster.phase, cluster.changes) == ("Completed", 1)


# -- a bad file


@pytest.mark.looptime
async def test_a_bad_file_is_degraded_with_its_line_changes_nothing_else_and_clears(tmp_path):
    volume = Volume(tmp_path)
    volume.swap(f"{HEAD}settleSeconds: 5\n")
    async with configured(volume) as (cluster, _):
        calm = [(one["type"], one["status"]) for one in cluster.objects[clusters.OPERATOR]["status"]["conditions"]]
        volume.swap(f"{HEAD}settleSeconds: 5\nskipChecks: [EtcdHealthy]\n")
        await asyncio.sleep(LOOK)
        assert cluster.condition("Degraded") == ("True", "ConfigurationInvalid")
        assert f"{volume.file}:4: unknown key 'skipChecks'" in message(cluster)
        said = [(one["type"], one["status"]) for one in cluster.objects[clusters.OPERATOR]["status"]["conditions"]]
        assert [one for one in said if one not in calm] == [("Degraded", "True")]
        writes = len(cluster.writes)
        await asyncio.sleep(3000)
        assert len(cluster.writes) == writes, "said once"
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(2)
        cluster.follow()
        await asyncio.sleep(10)
        assert cluster.phase == "Completed", "the last good one is in force, and admits"
        assert cluster.condition("Degraded") == ("True", "ConfigurationInvalid")
        assert cluster.condition("Upgradeable") == ("True", "AsExpected")
        volume.swap(None)
        await asyncio.sleep(LOOK)
        assert cluster.condition("Degraded") == ("False", "AsExpected")


@pytest.mark.looptime
async def test_bad_from_the_start_nothing_is_admitted_until_it_is_mended(tmp_path):
    volume = Volume(tmp_path)
    volume.swap("minimumNodeResources: {cpu: 64}\n")
    async with configured(volume) as (cluster, _):
        assert cluster.condition("Degraded") == ("True", "ConfigurationInvalid")
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(600)
        assert (cluster.phase, cluster.changes) == ("Pending", 0)
        assert "no transition begins" in message(cluster, "Progressing")
        volume.swap(HEAD)
        await asyncio.sleep(LOOK + 1)
        assert (cluster.phase, cluster.changes) == ("Converging", 1)


def records() -> dict[Phase, TopologyTransition]:
    return {one.phase: one for one in (worlds.admitting(), worlds.converging(), worlds.completed())}


@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize("phase", [None, *records()])
def test_a_bad_file_is_said_besides_every_decision_and_takes_nothing_away(phase, holds):
    record = records().get(phase) if phase else None
    known = worlds.recorded(worlds.healthy(), record)
    if phase in {Phase.CONVERGING, Phase.COMPLETED}:
        known = worlds.moved(known, record)
    term = worlds.term(attempt="mine")
    calm = worlds.decide(known, term)
    found = worlds.decide(known, dataclasses.replace(term, misconfigured=BAD, unconfigured=holds))
    assert found.misconfigured is not None
    assert found.misconfigured.reason is Reason.CONFIGURATION_INVALID
    assert Step.CHANGE not in found.steps
    if not holds or phase in {Phase.CONVERGING, Phase.COMPLETED}:
        assert dataclasses.replace(found, misconfigured=None) == calm
    else:
        assert found.phase is Phase.PENDING
    said = {one.type: one for one in clusteroperator.conditions(found)}
    assert (said[DEGRADED].reason, said[DEGRADED].message) == (Reason.CONFIGURATION_INVALID, BAD)


def test_what_is_wrong_with_the_transition_is_said_first_and_both_are():
    known = worlds.moved(worlds.healthy(), worlds.converging())
    found = worlds.decide(known, worlds.term(misconfigured=BAD), worlds.NOW + timedelta(hours=2))
    said = next(one for one in clusteroperator.conditions(found) if one.type is DEGRADED)
    assert said.reason is Reason.TRANSITION_STUCK
    assert said.message.endswith(f"Besides, ConfigurationInvalid: {BAD}")


# -- what is shipped


def test_the_shipped_configmap_is_empty_made_once_and_mounted_where_the_operator_looks():
    text = (bindata.root() / "manifests" / "0000_30_topology-operator_05_config.yaml").read_text()
    shipped = yaml.safe_load(text)
    lines = [line.removeprefix("#").removeprefix("     ") for line in text.splitlines() if line.startswith("#     ")]
    example = yaml.safe_load("\n".join(lines))["data"][vocabulary.CONFIGURATION_KEY]
    assert settings.load(pathlib.Path(), example.encode(), NAMES).transitions, "the example in its comment"
    assert "data" not in shipped, "applying a newer version must leave alone what an administrator has written"
    metadata = shipped["metadata"]
    assert metadata["name"] == vocabulary.CONFIGURATION
    assert metadata["annotations"]["release.openshift.io/create-only"] == "true"
    (deployment,) = bindata.root().glob("manifests/*deployment.yaml")
    pod = yaml.safe_load(deployment.read_text())["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (place,) = [one.partition("=")[2] for one in container["args"] if one.startswith("--config=")]
    folder, _, key = place.rpartition("/")
    assert key == vocabulary.CONFIGURATION_KEY
    (mount,) = [one for one in container["volumeMounts"] if one["mountPath"] == folder]
    assert "subPath" not in mount, "such a file is never swapped"
    (volume,) = [one for one in pod["volumes"] if one["name"] == mount["name"]]
    assert volume["configMap"] == {"name": vocabulary.CONFIGURATION, "optional": True}


def test_the_example_of_the_page_is_a_configuration_and_the_page_has_every_key(tmp_path):
    page = (bindata.root().parent / "docs" / "configuration.md").read_text()
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    example = yaml.safe_load(block)["data"][vocabulary.CONFIGURATION_KEY]
    assert settings.load(tmp_path, example.encode(), NAMES) != settings.DEFAULTS
    keys = {field.alias or name for name, field in settings.Configuration.model_fields.items()}
    told = {row.partition("`")[2].partition("`")[0] for row in page.splitlines() if row.startswith("| `")}
    assert told == (keys - {"minimumNodeResources"}) | {"minimumNodeResources.cpu", "minimumNodeResources.memory"}
    assert ", ".join(f"`{name}`" for name in NAMES) in page
