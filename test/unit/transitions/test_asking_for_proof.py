"""A definition that forgets a proof is refused: a deadlock is not left to the care of whoever writes the file."""

from __future__ import annotations

import pathlib
from typing import Any

import pydantic
import pytest
import yaml

from topology_api.vocabulary import CheckName
from topology_controller.definitions import load, model

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "bindata" / "transitions"
DIRECT, COUNTED = CheckName.ETCD_MEMBERS_DIRECT, CheckName.ETCD_VOTING_MEMBERS


def document(name: str = "sno-to-ha-compact") -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    return content


@pytest.fixture
def written() -> dict[str, Any]:
    return document()


def without(content: dict[str, Any], *checks: str) -> None:
    content["preflight"] = [asked for asked in content["preflight"] if asked["check"] not in checks]


def refused(content: dict[str, Any]) -> str:
    with pytest.raises(pydantic.ValidationError) as error:
        model.Definition.model_validate(content)
    return str(error.value)


@pytest.mark.parametrize(
    "check",
    [
        *("NoUpgradeInProgress", "ClusterOperatorsStable", "ControlPlaneNodes", "DedicatedWorkers"),
        *("EtcdVotingMembers", "EtcdHealthy", "EtcdOperatorAlive"),
    ],
)
def test_a_proof_is_missing(written, check):
    without(written, check)
    assert f"preflight must ask {check}" in refused(written)


@pytest.mark.parametrize("check", ["ControlPlaneNodes", "EtcdVotingMembers"])
@pytest.mark.parametrize("number", [1, 2])
def test_two_are_not_enough(written, check, number):
    for asked in written["preflight"]:
        if asked["check"] == check:
            asked["atLeast"] = number
    assert f"check {check} must ask for atLeast 3" in refused(written)


def test_infrastructure_alone_needs_no_new_voters(written):
    written["source"] = {**written["source"], "controlPlane": "HighlyAvailable", "infrastructure": ["SingleReplica"]}
    without(written, "EtcdHealthy", "EtcdVotingMembers")
    assert model.Definition.model_validate(written).target.infrastructure == "HighlyAvailable"


@pytest.mark.parametrize("found", [None, 1])
def test_infrastructure_that_becomes_highly_available_needs_room(found):
    written = document("sno-to-ha-with-workers")
    checks = written["convergence"]["checks"]
    checks[:] = [asked for asked in checks if asked["check"] != "EligibleWorkers"]
    without(written, "EligibleWorkers")
    if found is not None:
        written["preflight"].append({"check": "EligibleWorkers", "atLeast": found})
    assert "preflight must ask EligibleWorkers with atLeast 2 before" in refused(written)
    without(written, "EligibleWorkers")
    written["source"]["infrastructure"] = ["HighlyAvailable"]
    assert model.Definition.model_validate(written).workers.min == 1, "which has it already needs none"


@pytest.mark.parametrize(
    ("stage", "spec", "said"),
    [
        ("preflight", {"check": "ConsoleReplicas"}, "cannot be asked in preflight"),
        ("preflight", {"check": "EligibleWorkers"}, "needs atLeast"),
        ("convergence", {"check": "DedicatedWorkers"}, "cannot be asked in convergence"),
        ("convergence", {"check": "RouterReplicas", "atLeast": 2}, "does not take atLeast"),
        ("preflight", {"check": "EtcdMembersDirect"}, "needs atLeast"),
        ("preflight", {"check": "EtcdMembersDirect", "atLeast": 2}, "must ask for atLeast 3"),
        ("preflight", {"check": "EtcdMembersDirect", "atLeast": 3, "wanted": True}, "does not take wanted"),
        ("convergence", {"check": "EtcdMembersDirect", "atLeast": 3}, "cannot be asked in convergence"),
    ],
)
def test_a_check_is_asked_where_it_makes_sense_and_with_what_it_takes(written, stage, spec, said):
    specs = written["preflight"] if stage == "preflight" else written["convergence"]["checks"]
    specs[:] = [asked for asked in specs if asked["check"] != spec["check"]]
    specs.append(spec)
    assert said in refused(written)


# -- etcd's members themselves: named by a file, or added to all where certificates are given


def test_with_certificates_every_definition_that_counts_voters_asks_them_too():
    for before, after in zip(
        load.load(FOLDER).definitions, load.load(FOLDER, members_directly=True).definitions, strict=True
    ):
        counted = {spec.check: spec.at_least for spec in before.preflight}
        asked = {spec.check: spec.at_least for spec in after.preflight}
        if COUNTED in counted:
            assert asked == {**counted, DIRECT: counted[COUNTED]}
        else:
            assert after == before
        assert after.convergence == before.convergence
    assert load.load(FOLDER, members_directly=True).asks(DIRECT)


def test_a_definition_that_names_it_keeps_its_own_number(written):
    written["preflight"].append({"check": "EtcdMembersDirect", "atLeast": 5})
    definition = model.Definition.model_validate(written)
    assert definition.asking_members() is definition
    assert definition.preflight[-1].at_least == 5
