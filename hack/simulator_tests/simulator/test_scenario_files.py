"""Scenario files: those that are shipped, and what a wrong one is told."""

from __future__ import annotations

import pytest
import yaml

from topology_simulator import scenario

GOOD = {
    "name": "mine",
    "summary": "a story",
    "steps": [{"join": ["master-1"]}, {"request": "HighlyAvailable"}],
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


def test_a_good_file_is_understood(load):
    found = load(GOOD)
    assert found.steps[1].request.topology == "HighlyAvailable"
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
        ({"steps": [{"join": ["Master 1"]}]}, r"step 1 → join → step 1: String should match"),
        ({"steps": [field("gadget")]}, r"step 1 → wait-for → field: 'gadget' is none of .*infrastructure"),
        ({"steps": []}, r"steps"),
        ({"expect": {"phase": "Idle", "topology": "HA", "conditions": {}}}, r"expect → topology: String should match"),
        ({"steps": [{"hold": "dns"}]}, r"step 1 → hold: 'dns' is none of .*console"),
        ({"steps": [{"run-printed": {}}]}, r"step 1 → run-printed: exactly one of advisory, condition .* found none"),
        ({"steps": [{"evict-operator": False}]}, r"step 1 → evict-operator: Input should be True"),
        ({"cluster": {"without": ["Everything"]}}, r"cluster → without → .*: Input should be 'Build', 'CSI"),
        ({"cluster": {"objects": [{"apiVersion": "v2", "kind": "Node"}]}}, r"objects: no kind Node in v2 is known"),
        ({"cluster": {"objects": [{"apiVersion": "v1", "kind": "Node"}]}}, r"objects: Node has no metadata.name"),
        ({"cluster": {"registry": "Unmanaged"}}, r"cluster → registry: Input should be 'Managed' or 'Removed'"),
        ({"deadline-minutes": 0}, r"deadline-minutes: Input should be greater than or equal to 1"),
        ({"cluster": {"pools": [{"machines": 1}]}}, r"cluster → pools → .*name: Field required"),
        ({"version": {"release": "4.19"}}, r"version → release: Input should be '4.20', '4.21', '4.22' or 'main'"),
        ({"steps": [{"restore": "somehow"}]}, r"step 1 → restore: Input should be 'raised' or 'plain'"),
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


def test_a_cluster_is_given_in_the_words_of_its_shape(load):
    asked = {
        "control-plane": "HighlyAvailable",
        "masters": 3,
        "workers": 1,
        "schedulable": False,
        "without": ["Console"],
    }
    shape = load(GOOD | {"cluster": asked}).shape()
    assert (shape.control_plane, shape.infrastructure, shape.masters) == ("HighlyAvailable", "SingleReplica", 3)
    assert (shape.workers, shape.schedulable, shape.without) == (1, False, ("Console",))
