"""Scenario files: those that are shipped, and what a wrong one is told."""

from __future__ import annotations

import pytest
import yaml

from topology_simulator import scenario

GOOD = {
    "name": "mine",
    "summary": "a story",
    "steps": [{"join": ["master-1"]}, {"wish": "HighlyAvailable"}],
    "expect": {"phase": "Pending", "topology": "SingleReplica/SingleReplica", "conditions": {}},
}


@pytest.fixture
def load(tmp_path):
    def loaded(content):
        path = tmp_path / "mine.yaml"
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return scenario.load(str(path))

    return loaded


@pytest.mark.parametrize("name", scenario.names())
def test_a_shipped_scenario_loads(name):
    assert scenario.load(name).name == name


def test_the_shipped_scenarios_are_those_that_were_promised():
    assert {"happy-path", "learner-stuck", "node-flaps", "hosted", "upgrade-starts"} <= set(scenario.names())


def test_a_good_file_is_understood(load):
    found = load(GOOD)
    assert found.steps[1].wish.topology == "HighlyAvailable"
    assert not found.cluster.hosted


def field(kind):
    return {"wait-for": {"field": {"kind": kind, "name": "a", "path": "b", "equals": "c"}}}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"colour": "red"}, r"colour: Extra inputs"),
        ({"steps": [{"jion": ["a"]}]}, r"step 1 → jion: Extra inputs"),
        ({"steps": [{"join": ["a"]}, {"up": "a", "down": "b"}]}, r"step 2: exactly one of .* found down, up"),
        ({"steps": [{"wait-for": {"within": 3}}]}, r"step 1 → wait-for: exactly one of .* found none"),
        ({"steps": [{"wait-for": {"phase": "Done"}}]}, r"step 1 → wait-for → phase: Input should be 'Idle'"),
        ({"steps": [{"pause": -1}]}, r"step 1 → pause: Input should be greater than 0"),
        ({"steps": [{"join": ["Master 1"]}]}, r"step 1 → join → step 1: String should match"),
        ({"steps": [field("gadget")]}, r"step 1 → wait-for → field: 'gadget' is none of .*infrastructure"),
        ({"steps": []}, r"steps"),
        ({"expect": {"phase": "Idle", "topology": "HA", "conditions": {}}}, r"expect → topology: String should match"),
        ({"name": "other"}, r"name is 'other', but the file is called 'mine'"),
    ],
)
def test_a_wrong_file_is_told_where_and_why(load, change, told):
    with pytest.raises(scenario.ScenarioError, match=told) as error:
        load(GOOD | change)
    assert "mine.yaml" in str(error.value)


@pytest.mark.parametrize("text", ["a: [", "- 1", ""])
def test_what_is_no_scenario_at_all_is_refused(load, text):
    with pytest.raises(scenario.ScenarioError, match=r"mine\.yaml"):
        load(text)


def test_an_unknown_name_is_answered_with_those_that_exist():
    with pytest.raises(scenario.ScenarioError, match=r"no scenario 'sad-path'; there are happy-path"):
        scenario.load("sad-path")
