"""Which of the shipped definitions applies to which cluster, what keeps each of them back, and what none may forget.

A definition that forgets a proof is refused: a deadlock is not left to the care of whoever writes the file.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pydantic
import pytest
import yaml

from topology_api.types import TopologyPair
from topology_api.vocabulary import CheckName, CheckStatus, Phase, Stage
from topology_controller import bindata
from topology_controller.checks import catalog
from topology_controller.definitions import load, model
from topology_controller.observe import facts

from ..core import worlds

ALL = worlds.TRANSITIONS
NAMES = [one.name for one in ALL.definitions]
HA, SNO, ARBITER, DUAL = "HighlyAvailable", "SingleReplica", "HighlyAvailableArbiter", "DualReplica"


def cluster(control_plane: str, infrastructure: str, platform: str, workers: int, desired: str | None) -> facts.Facts:
    """A cluster where everything holds but what the definition decides about."""
    return worlds.healthy(
        infrastructure=worlds.infrastructure(
            control_plane=control_plane, infrastructure=infrastructure, platform=platform, desired=desired
        ),
        other_nodes=tuple(facts.OtherNode(f"w-{index}", master=False, arbiter=False) for index in range(workers)),
        workers=tuple(worlds.worker(f"w-{index}") for index in range(workers)),
    )


@pytest.mark.parametrize(
    ("here", "desired", "name"),
    [
        ((SNO, SNO, "None", 0), HA, "sno-to-ha-compact"),
        ((SNO, HA, "External", 0), HA, "sno-to-ha-compact"),
        ((SNO, SNO, "None", 1), HA, "sno-to-ha-with-workers"),
        ((HA, SNO, "None", 0), HA, "infra-to-ha"),
        ((HA, SNO, "BareMetal", 1), HA, "infra-to-ha"),
        ((ARBITER, HA, "BareMetal", 0), HA, Phase.UNSUPPORTED),
        ((ARBITER, SNO, "None", 1), HA, Phase.UNSUPPORTED),
        ((SNO, SNO, "BareMetal", 0), HA, Phase.UNSUPPORTED),
        ((SNO, SNO, "AWS", 2), HA, Phase.UNSUPPORTED),
        ((HA, SNO, "AWS", 0), HA, Phase.UNSUPPORTED),
        ((SNO, SNO, "None", 0), DUAL, Phase.UNSUPPORTED),
        ((SNO, SNO, "None", 0), ARBITER, Phase.UNSUPPORTED),
        ((DUAL, HA, "None", 0), HA, Phase.UNSUPPORTED),
        ((HA, HA, "None", 0), HA, Phase.IDLE),
        ((SNO, SNO, "None", 0), SNO, Phase.IDLE),
        ((HA, SNO, "None", 2), None, Phase.IDLE),
    ],
)
def test_which_definition_applies(here, desired, name):
    control_plane, infrastructure, platform, workers = here
    found = worlds.decide(cluster(control_plane, infrastructure, platform, workers, desired), transitions=ALL)
    chosen = found.definition.name if found.definition is not None else found.phase
    assert chosen == name


@pytest.mark.parametrize("asked", ALL.definitions, ids=NAMES)
def test_a_cluster_that_has_everything_is_admitted(asked):
    found = worlds.decide(worlds.ready_for(asked), transitions=ALL)
    assert found.definition == asked
    assert found.phase is Phase.ADMITTING, found.note


def unmet(asked, known):
    found = catalog.ask(Stage.PREFLIGHT, asked, known, worlds.NOW)
    return {answer.name for answer in found if answer.status is not CheckStatus.MET}


def definition(name):
    found = ALL.named(name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["sno-to-ha-with-workers", "infra-to-ha"])
def test_infrastructure_needs_two_nodes_that_can_carry_it(name):
    """The shape called standby: three control-plane nodes that are no workers, and one worker."""
    known = dataclasses.replace(
        worlds.ready_for(definition(name)),
        control_plane_nodes=tuple(worlds.node(index, worker=False) for index in range(3)),
        other_nodes=(facts.OtherNode("w-0", master=False, arbiter=False),),
        workers=(worlds.worker("w-0"),),
    )
    assert unmet(definition(name), known) == {CheckName.ELIGIBLE_WORKERS}
    schedulable = tuple(worlds.node(index) for index in range(3))
    assert unmet(definition(name), dataclasses.replace(known, control_plane_nodes=schedulable)) == set()


def test_what_follows_infrastructure_only_is_not_waited_for_where_the_control_plane_moves_alone():
    """And the other way round: infra-to-ha asks nothing that follows the control plane."""
    asked = {spec.check for spec in definition("infra-to-ha").convergence.checks}
    follows = {group.check: group.follows for group in ALL.matrix.groups}
    assert {follows[check] for check in asked if check in follows} == {"infrastructure"}
    assert {check for check, word in follows.items() if word == "infrastructure"} <= asked
    for name in ("sno-to-ha-compact", "sno-to-ha-with-workers"):
        assert set(follows) <= {spec.check for spec in definition(name).convergence.checks}, name


@pytest.mark.parametrize("asked", ALL.definitions, ids=NAMES)
def test_the_matrix_knows_both_ends_of_every_definition(asked):
    """A topology that an operand has no figure for would make its check Unknown for ever."""
    for spec in asked.convergence.checks:
        group = ALL.matrix.group(spec.check)
        if group is None:
            continue
        for operand in group.operands:
            for infrastructure in asked.source.infrastructure:
                source = TopologyPair(control_plane=asked.source.control_plane, infrastructure=infrastructure)
                for pair in (source, asked.target.pair):
                    words = operand.replicas if isinstance(operand.replicas, dict) else operand.variant
                    assert words is None or group.topology(pair) in {key.value for key in words}, (operand.key, pair)


# -- a proof that is missing

FOLDER = bindata.root() / "transitions"
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
