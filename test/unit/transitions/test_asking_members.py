"""EtcdMembersDirect in definitions: named by a file, or added to all where certificates are given."""

from __future__ import annotations

import pathlib

import pydantic
import pytest
import yaml

from topology_api.vocabulary import CheckName
from topology_controller.definitions import load, model

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "bindata" / "transitions"
DIRECT, COUNTED = CheckName.ETCD_MEMBERS_DIRECT, CheckName.ETCD_VOTING_MEMBERS


@pytest.fixture
def written():
    return yaml.safe_load((FOLDER / "sno-to-ha-compact.yaml").read_text())


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


@pytest.mark.parametrize(
    ("stage", "spec", "said"),
    [
        ("preflight", {"check": "EtcdMembersDirect"}, "needs atLeast"),
        ("preflight", {"check": "EtcdMembersDirect", "atLeast": 2}, "must ask for atLeast 3"),
        ("preflight", {"check": "EtcdMembersDirect", "atLeast": 3, "wanted": True}, "does not take wanted"),
        ("convergence", {"check": "EtcdMembersDirect", "atLeast": 3}, "cannot be asked in convergence"),
    ],
)
def test_a_definition_that_asks_wrongly_is_refused(written, stage, spec, said):
    (written["preflight"] if stage == "preflight" else written["convergence"]["checks"]).append(spec)
    with pytest.raises(pydantic.ValidationError, match=said):
        model.Definition.model_validate(written)
