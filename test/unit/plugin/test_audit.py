"""`audit`: the shape of a live cluster, what disagrees in it, and what could not be read.

`audit --capi`: what is found in the definitions of Cluster API, and what is not.
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kubectl_topology import capi, cluster, consistency, errors
from kubectl_topology.commands import audit
from topology_controller.observe import facts, fields, parse

from ..core import worlds
from ..core.strategies import worlds_of_any_kind
from . import infrastructure_api, replies

HA = {"desired": None, "control_plane": "HighlyAvailable", "infrastructure": "HighlyAvailable"}


def _ended(known: facts.Facts) -> tuple[dict[str, Any], int]:
    answer, code = audit.audit(replies.seen(known), worlds.TRANSITIONS)
    found = replies.through_json(answer)
    replies.conforms(found)
    return found, code


def _machines(
    masters: int, workers: int = 0, *, arbiters: int = 0, schedulable: bool = True, **infrastructure: Any
) -> facts.Facts:
    others = [facts.OtherNode(f"worker-{index}", master=False, arbiter=False) for index in range(workers)]
    others += [facts.OtherNode(f"arbiter-{index}", master=False, arbiter=True) for index in range(arbiters)]
    nodes = [dataclasses.replace(worlds.node(), name=f"node-{one}", worker=schedulable) for one in range(masters)]
    known = worlds.healthy(control_plane_nodes=tuple(nodes), other_nodes=tuple(others), scheduler=schedulable)
    return worlds.with_infrastructure(known, **{**HA, **infrastructure})


@pytest.mark.parametrize(
    ("known", "shape", "disagreeing"),
    [
        (_machines(1, control_plane="SingleReplica", infrastructure="SingleReplica"), "single-node", []),
        (_machines(3, schedulable=False), "standby", ["InfrastructureNodes"]),
        (_machines(3, 2, schedulable=False), "HA", []),
        (_machines(2, arbiters=1, control_plane="HighlyAvailableArbiter"), "TNA", []),
        (_machines(3, 1, infrastructure="SingleReplica"), "unclassified", ["InfrastructureNodes"]),
        (_machines(0, 2, schedulable=False, control_plane="External"), "unclassified", []),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_each_shape_is_named_and_only_disagreements_change_the_exit_code(
    known: facts.Facts, shape: str, disagreeing: list[str]
) -> None:
    found, code = _ended(known)
    assert found["shape"] == shape
    assert [one["question"] for one in found["disagreements"]] == disagreeing
    assert code == (3 if disagreeing else 0)
    assert [one for one in found["open"] if one["missing"] != ["fencing"]] == [], "everything else was answered"
    assert f"\nShape     {shape}\n" in replies.printed(found)


def test_labels_that_nobody_has_read_are_not_counted() -> None:
    known = dataclasses.replace(_machines(3), control_plane_nodes=(worlds.node(0), worlds.BROKEN))
    assert audit.control_plane_workers(known) is None
    found, _ = _ended(known)
    assert "controlPlaneWorkers" in {name for one in found["open"] for name in one["missing"]}


def test_what_is_not_known_leaves_several_shapes_and_is_no_disagreement() -> None:
    known = dataclasses.replace(_machines(3, 2), scheduler=worlds.BROKEN, other_nodes=worlds.BROKEN)
    found, code = _ended(known)
    assert (found["shape"], code) == (None, 0)
    assert found["candidates"] == ["compact", "standby", "HA"]
    assert found["vector"]["mastersSchedulable"] is None
    assert "cannot tell: compact or standby or HA" in replies.printed(found)


@given(known=worlds_of_any_kind())
def test_any_cluster_gets_an_answer_and_what_is_unknown_is_named(known: facts.Facts) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    found, code = _ended(known)
    codes = {"Consistent": 0, "Inconsistent": 3, "CannotTell": 1}
    assert (code, bool(found["disagreements"])) == (codes[found["verdict"]], found["verdict"] == "Inconsistent")
    answered = {one["question"] for one in found["disagreements"]} | {one["question"] for one in found["open"]}
    assert answered <= {one.value for one in consistency.Question}
    for one in found["open"]:
        for name in one["missing"]:
            value = found["vector"][name]
            assert value is None or name in {"controlPlaneTopology", "infrastructureTopology"}, (one, value)


# Read live


async def test_rights_that_lack_are_named_and_a_crd_without_our_fields_is_not_even_asked_for() -> None:
    server = infrastructure_api.Api()
    census = await cluster.census(server.made(), worlds.TRANSITIONS)
    answer, code = audit.audit(census, worlds.TRANSITIONS)
    found = replies.through_json(answer)
    replies.conforms(found)
    assert (found["verdict"], code) == ("CannotTell", errors.ExitCode.FAILED)
    assert {one["right"] for one in found["unread"]} == {"list nodes", "get schedulers.config.openshift.io/cluster"}
    grant = "oc adm policy add-cluster-role-to-user cluster-reader USER"
    assert grant in replies.printed(found)
    assert (found["shape"], found["vector"]["controlPlaneNodes"]) == ("single-node", None)
    assert set(server.asked) == {"get infrastructures", "get schedulers", "get leases", "list nodes"}


CLUSTERS = "clusters.cluster.x-k8s.io"
INSTALLER = "capi-operator.openshift.io/InstallerController"
_ALL: dict[str, Any] = {"f:group": {}, "f:names": {"f:kind": {}}, "f:scope": {}, "f:versions": {}}


def crd(
    *versions: str,
    name: str = CLUSTERS,
    gone: tuple[str, ...] = (),
    stored: tuple[str, ...] | None = None,
    managers: dict[str, dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """A definition that serves these versions and no longer those that are gone; the last served one is stored."""
    listed = [{"name": one, "served": True, "storage": one == versions[-1]} for one in versions]
    listed += [{"name": one, "served": False, "storage": False} for one in gone]
    owners = {"hypershift": _ALL} if managers is None else managers
    return {
        "metadata": {
            "name": name,
            "managedFields": [
                {"manager": who, "operation": "Apply", "fieldsV1": {"f:spec": parts}} for who, parts in owners.items()
            ],
        },
        "spec": {"group": name.partition(".")[2], "versions": listed},
        "status": {"storedVersions": list(versions[-1:] if stored is None else stored)},
    }


def owned(*managers: str, **parts: dict[str, Any]) -> dict[str, Any]:
    """A definition of which these managers have applied everything, and those in `parts` something."""
    return crd("v1beta1", "v1beta2", managers={**parts, **dict.fromkeys(managers, _ALL)})


def audited(
    *raws: dict[str, Any],
    unmanaged: tuple[str, ...] | None = (),
    requirements: tuple[tuple[str, capi.Requirement], ...] = (),
    unread: bool = False,
) -> tuple[dict[str, Any], int]:
    definitions = tuple(map(capi.definition, raws))
    reading = capi.Reading(
        infrastructure=parse.infrastructure(infrastructure_api.Api().raw),
        names=frozenset(each["name"] for each in definitions),
        definitions=definitions,
        platform=_platform(unmanaged, unread=unread),
        requirements=requirements,
        unread=({"what": "clusterapis", "why": "forbidden", "right": "get clusterapis"},) if unread else (),
        now=worlds.NOW,
    )
    made, code = capi.audit(reading)
    answer = replies.through_json(made)
    replies.conforms(answer)
    return answer, code


def _platform(unmanaged: tuple[str, ...] | None, *, unread: bool) -> capi.Platform:
    if unread or unmanaged is None:
        return capi._unread_platform(facts.Unobserved("clusterapis", "forbidden") if unread else None)
    status = {"currentRevision": "4.22.1-a", "desiredRevision": "4.22.1-b"}
    return capi.platform({"spec": {"unmanagedCustomResourceDefinitions": list(unmanaged)}, "status": status})


def named(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(found["name"], found["definition"]) for found in answer["findings"]]


OTHER = "metal3machines.infrastructure.cluster.x-k8s.io"


@pytest.mark.parametrize(
    ("raw", "unmanaged", "finding"),
    [
        pytest.param(crd("v1beta1"), (CLUSTERS,), "CAPIVersionMissing", id="needed-and-not-to-be-touched"),
        pytest.param(crd("v1beta1", "v1beta2"), (CLUSTERS,), None, id="v1beta2-is-served"),
        pytest.param(crd("v1beta1"), (), None, id="the-platform-may-add-it"),
        pytest.param(crd("v1beta1"), None, None, id="there-is-no-such-operator"),
        pytest.param(crd("v1beta1", name=OTHER), (OTHER,), None, id="a-provider-has-versions-of-its-own"),
        pytest.param(owned("hypershift", INSTALLER), (), "CAPITwoOwners", id="both-apply-the-same"),
        pytest.param(
            owned(INSTALLER, hypershift={"f:group": {}, "f:names": {}}), (), "CAPITwoOwners",
            id="the-last-has-the-versions",
        ),
        pytest.param(owned("hypershift", INSTALLER), (CLUSTERS,), None, id="the-platform-leaves-it-alone"),
        pytest.param(
            owned("hypershift", "backplane-operator", INSTALLER), (CLUSTERS,), "CAPITwoOwners", id="two-others-remain"
        ),
        pytest.param(owned("cluster-capi-operator", INSTALLER), (), None, id="one-party-by-two-names"),
        pytest.param(
            owned(INSTALLER, **{"service-ca-operator": {"f:conversion": {}}}), (), None, id="who-injects-owns-nothing"
        ),
        pytest.param(owned(), (), None, id="nothing-is-known-of-managers"),
        pytest.param(
            crd("v1beta1", "v1beta2", gone=("v1alpha4",), stored=("v1alpha4", "v1beta2")), (),
            "CAPIStoredVersionNotServed", id="objects-in-a-version-that-is-gone",
        ),
        pytest.param(crd("v1beta1", "v1beta2", gone=("v1alpha4",)), (), None, id="nothing-is-stored-in-it"),
    ],
)  # fmt: skip
def test_which_dead_end_is_found(raw: dict[str, Any], unmanaged: tuple[str, ...] | None, finding: str | None) -> None:
    answer, code = audited(raw, unmanaged=unmanaged)
    name = raw["metadata"]["name"]
    assert named(answer) == ([] if finding is None else [(finding, name)])
    assert (code, answer["verdict"]) == ((0, "Consistent") if finding is None else (3, "Inconsistent"))
    assert (f"oc topology explain {finding}" in replies.printed(answer)) is (finding is not None)


def test_without_the_list_only_what_holds_either_way_is_found() -> None:
    fought = crd("v1beta1", managers={"hypershift": _ALL, INSTALLER: _ALL})
    answer, code = audited(fought, unread=True)
    assert (code, answer["verdict"], named(answer)) == (1, "CannotTell", [])
    assert (answer["platform"]["present"], answer["definitions"][0]["unmanaged"]) == (None, None)
    assert "No known dead end, as far as it could be read." in replies.printed(answer)
    lost = crd("v1beta1", gone=("v1alpha4",), stored=("v1alpha4",))
    answer, code = audited(lost, unread=True)
    assert (code, named(answer)) == (3, [("CAPIStoredVersionNotServed", CLUSTERS)])


def test_no_definition_is_nothing_to_look_at() -> None:
    answer, code = audited(unmanaged=None)
    assert (code, answer["verdict"]) == (0, "NothingToLookAt")
    assert "nothing to look at" in replies.printed(answer)


def test_a_requirement_that_is_not_met_stands_with_its_definition() -> None:
    condition = {"type": "Compatible", "status": "False", "reason": "RequirementsNotMet", "message": "no field x"}
    raw: dict[str, Any] = {
        "metadata": {"name": "clusters-active"},
        "status": {"crdName": CLUSTERS, "conditions": [{"type": "Admitted", "status": "False"}, condition]},
    }
    requirement = capi.incompatible(raw)
    assert requirement is not None
    answer, code = audited(crd("v1beta1", "v1beta2"), requirements=(requirement,))
    assert code == 0
    assert answer["definitions"][0]["incompatible"] == [
        {"name": "clusters-active", "reason": "RequirementsNotMet", "message": "no field x"}
    ]
    assert "of clusters-active (RequirementsNotMet): no field x" in replies.printed(answer)
    for status in ("True", "Unknown"):
        raw["status"]["conditions"] = [{**condition, "status": status}]
        assert capi.incompatible(raw) is None


_FIELDS = ("metadata.managedFields", "spec.versions", "spec.group", "status.storedVersions", "status.conditions")


@given(path=st.sampled_from(_FIELDS), value=replies.any_json(st.text(max_size=5)))
def test_whatever_stands_in_a_field_is_read_or_named_as_malformed(path: str, value: Any) -> None:
    raw = crd("v1beta1")
    part, _, field = path.partition(".")
    raw[part][field] = value
    for reduce in (capi.definition, capi.platform, capi.incompatible):
        with contextlib.suppress(fields.Malformed):
            reduce(raw)
