"""What a transition file may say, and what whoever wrote it is told when it may not."""

from __future__ import annotations

import pytest

from topology_api.types import TopologyPair
from topology_controller import bindata
from topology_controller.definitions import load, operands

COMMITTED = (bindata.root() / "transitions" / "sno-to-ha-compact.yaml").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sno-to-ha-compact.yaml").write_text(COMMITTED, encoding="utf-8")
    return tmp_path


def problems(folder):
    with pytest.raises(load.DefinitionError) as caught:
        load.load(folder)
    return [str(one).removeprefix(f"{folder}/") for one in caught.value.problems]


def test_the_committed_definitions_load():
    found = load.load(bindata.root() / "transitions")
    sno = TopologyPair(control_plane="SingleReplica", infrastructure="SingleReplica")
    done = TopologyPair(control_plane="HighlyAvailable", infrastructure="HighlyAvailable")
    assert "sno-to-ha-compact" in [one.name for one in found.starting_at(sno)]
    assert all(one.target.pair != done for one in found.starting_at(done))
    edge = next(one for one in found.edges() if one.name == "sno-to-ha-compact")
    assert (edge.source_control_plane, edge.target) == ("SingleReplica", done)
    assert edge.source_infrastructures == ("SingleReplica", "HighlyAvailable")


def test_it_waits_in_their_places_for_the_operands_that_follow_what_it_changes(folder):
    def waits(text):
        (folder / "sno-to-ha-compact.yaml").write_text(text, encoding="utf-8")
        (found,) = load.load(folder).definitions
        return [spec.check.value for spec in found.convergence.checks][6:]

    every = waits(COMMITTED)
    assert (every[0], every[-1]) == ("MachineConfigPoolsRolledOut", "GuardPodDisruptionBudgets")
    groups = operands.load(bindata.root()).groups
    assert set(every) == {group.check for group in groups}
    named = COMMITTED.replace("  operands: true", "    - {check: RouterReplicas}\n  operands: true")
    assert waits(named) == ["RouterReplicas", *(check for check in every if check != "RouterReplicas")]
    same = COMMITTED.replace("infrastructure: [SingleReplica, HighlyAvailable]", "infrastructure: [HighlyAvailable]")
    assert set(every) - set(waits(same)) == {group.check for group in groups if group.follows == "infrastructure"}
    assert waits(COMMITTED.replace("  operands: true\n", "")) == []


NAMED = "sno-to-ha-compact.yaml"


@pytest.mark.parametrize(
    ("old", "new", "further", "text"),
    [
        ("settleSeconds:", "settleSecond:", 0, "did you mean 'settleSeconds'?"),
        ("workers: {max: 0}", "worker: {max: 0}", 0, "unknown key 'worker'; allowed: convergence, name,"),
        ("check: EtcdHealthy}", "check: EtcdHealty}", 0, "unknown check 'EtcdHealty'; allowed: ClusterOper"),
        ("check: EtcdHealthy}", "check: UpgradesBlocked}", 0, "part of every admission"),
        ("atLeast: 3", "atLeast: 0", 0, "preflight[3].atLeast is 0; input should be greater than or equal to 1"),
        ("atLeast: 3", 'atLeast: "3"', 0, "preflight[3].atLeast is '3'; input should be a valid integer"),
        ("wanted: true", "wanted: 1", 0, "preflight[6].wanted is 1; input should be a valid boolean"),
        (", atLeast: 3}", "}", 0, "needs atLeast"),
        ("settleSeconds: 60", "settleSeconds: .nan", 0, "convergence.settleSeconds is nan"),
        ("deadlineMinutes: 30", "deadlineMinutes: 1e9", 0, "convergence.deadlineMinutes is"),
        ("platforms: [None, External]", "platforms: [no, External]", 0, "'no' reads as bool; write true"),
        ("platforms: [None, External]", "platforms: [2026-01-01]", 0, "reads as timestamp; quote it"),
        ("controlPlane: SingleReplica", "controlPlane: SingleReplika", 0, "did you mean 'SingleReplica'?"),
        ("workers: {max: 0}", "workers: {min: 2, max: 0}", 0, "smaller than workers.min"),
        ("workers: {max: 0}", "name: again", 0, "'name' stands here twice (first in line 1)"),
        ("workers: {max: 0}", "on: 1", 0, "the key 'on' reads as bool; quote it"),
        ("workers: {max: 0}", "workers: &w {max: *w}", 0, "anchors and aliases"),
        ("workers: {max: 0}", "workers: !secret {max: 0}", 0, "tags are not used here"),
        ("workers: {max: 0}", "workers: {max: 0", 1, "is not YAML:"),
        ("workers: {max: 0}", "---", 1, "a second document starts here"),
        ("summary: Single node grows to a three-node compact cluster\n", "", -1, "key summary is missing"),
        ("name: sno-to-ha-compact", "name: sno-to-ha", 0, "wanted 'sno-to-ha-compact'"),
    ],
)
def test_a_mistake_names_file_line_and_what_is_allowed(folder, old, new, further, text):
    assert old in COMMITTED
    (folder / NAMED).write_text(COMMITTED.replace(old, new, 1), encoding="utf-8")
    found = problems(folder)
    line = COMMITTED.count("\n", 0, COMMITTED.index(old)) + 1 + further
    expected = f"{NAMED}:{line}: "
    assert [one for one in found if one.startswith(expected) and text in one], f"no {expected}...{text} in {found}"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is empty"),
        (b"- a\n", ":1: is not a mapping"),
        (b"a: \xff\n", ":1: is not UTF-8"),
        (b"[" * 1000, ":1: nested too deeply"),
        (b"name: " + b"[" * 40 + b"]" * 40, ":1: nested too deeply"),
        (b"a: \x00\n", "is not YAML"),
    ],
)
def test_what_is_no_definition_at_all_says_so(tmp_path, content, text):
    (tmp_path / "broken.yaml").write_bytes(content)
    assert [one for one in problems(tmp_path) if one.startswith("broken.yaml") and text in one], problems(tmp_path)


def test_all_problems_of_all_files_come_at_once(folder):
    (folder / NAMED).write_text(
        COMMITTED.replace("settleSeconds: 60", "settleSeconds: -1").replace("atLeast: 3", "atLeast: 9", 1),
        encoding="utf-8",
    )
    (folder / "second.yaml").write_text("name: second\n", encoding="utf-8")
    (folder / "third.yml").write_text(COMMITTED, encoding="utf-8")
    found = problems(folder)
    assert len([one for one in found if one.startswith(NAMED)]) == 2, found
    assert [one for one in found if one.startswith("second.yaml:1: key preflight is missing")], found
    assert [one for one in found if one.startswith("third.yml: ") and ".yaml" in one], found


def test_two_definitions_for_the_same_cluster_are_refused(folder):
    room = "  - {check: EtcdHealthy}\n"
    text = COMMITTED.replace(room, "  - {check: EligibleWorkers, atLeast: 2}\n" + room, 1)
    text = text.replace("sno-to-ha-compact", "another").replace("{max: 0}", "{min: 0, max: 3}")
    (folder / "another.yaml").write_text(text, encoding="utf-8")
    assert [one for one in problems(folder) if "could match the same cluster" in one], problems(folder)
    (folder / "another.yaml").write_text(text.replace("{min: 0, max: 3}", "{min: 1}"), encoding="utf-8")
    assert len(load.load(folder).definitions) == 2


def test_a_folder_that_is_missing_or_empty_is_refused(tmp_path):
    assert "cannot be read" in problems(tmp_path / "absent")[0]
    (tmp_path / "README.md").write_text("not a definition", encoding="utf-8")
    assert "at least one definition" in problems(tmp_path)[0]
    (tmp_path / "a.yaml").mkdir()
    assert "is no regular file" in problems(tmp_path)[0]
