"""A definition that forgets a proof is refused: a deadlock is not left to the care of whoever writes the file."""

from __future__ import annotations

import pathlib

import pydantic
import pytest
import yaml

from topology_controller.definitions import model

FILE = pathlib.Path(__file__).resolve().parents[3] / "bindata" / "transitions" / "sno-to-ha-compact.yaml"


@pytest.fixture
def written():
    return yaml.safe_load(FILE.read_text())


def refused(written) -> str:
    with pytest.raises(pydantic.ValidationError) as error:
        model.Definition.model_validate(written)
    return str(error.value)


@pytest.mark.parametrize(
    "check",
    [
        "NoUpgradeInProgress",
        "ClusterOperatorsStable",
        "ControlPlaneNodes",
        "DedicatedWorkers",
        "EtcdVotingMembers",
        "EtcdHealthy",
        "EtcdOperatorAlive",
    ],
)
def test_a_proof_is_missing(written, check):
    written["preflight"] = [asked for asked in written["preflight"] if asked["check"] != check]
    assert f"preflight must ask {check}" in refused(written)


@pytest.mark.parametrize("check", ["ControlPlaneNodes", "EtcdVotingMembers"])
@pytest.mark.parametrize("number", [1, 2])
def test_two_are_not_enough(written, check, number):
    for asked in written["preflight"]:
        if asked["check"] == check:
            asked["atLeast"] = number
    assert f"check {check} must ask for atLeast 3" in refused(written)


def test_infrastructure_alone_needs_no_new_voters(written):
    written["source"]["controlPlane"] = "HighlyAvailable"
    written["source"]["infrastructure"] = ["SingleReplica"]
    written["preflight"] = [
        asked for asked in written["preflight"] if asked["check"] not in {"EtcdHealthy", "EtcdVotingMembers"}
    ]
    assert model.Definition.model_validate(written).target.infrastructure == "HighlyAvailable"


FURTHER = FILE.parent / "sno-to-ha-with-workers.yaml"


@pytest.mark.parametrize("found", [None, 1])
def test_infrastructure_that_becomes_highly_available_needs_room(found):
    written = yaml.safe_load(FURTHER.read_text())
    for stage in (written["preflight"], written["convergence"]["checks"]):
        for asked in list(stage):
            if asked["check"] == "EligibleWorkers":
                stage.remove(asked)
    if found is not None:
        written["preflight"].append({"check": "EligibleWorkers", "atLeast": found})
    assert "preflight must ask EligibleWorkers with atLeast 2 before infrastructure becomes HighlyAv" in refused(
        written
    )


def test_infrastructure_that_is_highly_available_already_needs_none():
    written = yaml.safe_load(FURTHER.read_text())
    written["source"]["infrastructure"] = ["HighlyAvailable"]
    written["preflight"] = [asked for asked in written["preflight"] if asked["check"] != "EligibleWorkers"]
    assert model.Definition.model_validate(written).workers.min == 1


@pytest.mark.parametrize(
    ("stage", "spec", "said"),
    [
        ("preflight", {"check": "ConsoleReplicas"}, "cannot be asked in preflight"),
        ("preflight", {"check": "MachineConfigControllerObserved"}, "cannot be asked in preflight"),
        ("preflight", {"check": "EligibleWorkers"}, "needs atLeast"),
        ("convergence", {"check": "DedicatedWorkers"}, "cannot be asked in convergence"),
        ("convergence", {"check": "RouterReplicas", "atLeast": 2}, "does not take atLeast"),
    ],
)
def test_a_check_is_asked_where_it_makes_sense_and_with_what_it_takes(written, stage, spec, said):
    specs = written["preflight"] if stage == "preflight" else written["convergence"]["checks"]
    specs[:] = [asked for asked in specs if asked["check"] != spec["check"]]
    specs.append(spec)
    assert said in refused(written)
