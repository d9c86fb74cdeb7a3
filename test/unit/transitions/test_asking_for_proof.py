"""A definition that forgets a proof is refused: a deadlock is not left to the care of whoever writes the file."""

from __future__ import annotations

import pathlib

import pydantic
import pytest
import yaml

from topology_controller.transitions import model

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
