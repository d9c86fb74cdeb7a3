"""`audit --capi`: what is found in the definitions of Cluster API, and what is not."""

from __future__ import annotations

import contextlib
import json
import pathlib
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_controller.observe import facts, fields, parse
from topology_controller.plugin import capi, capi_findings, document, printing

from ..core import worlds
from . import infrastructure_api, replies

CLUSTERS = "clusters.cluster.x-k8s.io"
INSTALLER = "capi-operator.openshift.io/InstallerController"
VALID = jsonschema.Draft202012Validator(
    json.loads((pathlib.Path(__file__).parents[3] / "docs" / "schemas" / "audit-capi.json").read_text())
)
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


def audited(
    *raws: dict[str, Any],
    unmanaged: tuple[str, ...] | None = (),
    operator: Any = None,
    requirements: tuple[tuple[str, capi_findings.Incompatible], ...] = (),
    unread: bool = False,
) -> tuple[dict[str, Any], int]:
    definitions = tuple(map(capi_findings.definition, raws))
    reading = capi.Reading(
        infrastructure=parse.infrastructure(infrastructure_api.Api().raw),
        names=frozenset(each.name for each in definitions),
        definitions=definitions,
        operator=operator or (None if unmanaged is None else capi_findings.Operator(unmanaged, "4.22.1-a", "4.22.1-b")),
        requirements=requirements,
        unread=({"what": "clusterapis", "why": "forbidden", "right": "get clusterapis"},) if unread else (),
        now=worlds.NOW,
    )
    made, code = capi.audit(reading)
    answer = replies.through_json(made)
    assert not list(VALID.iter_errors(answer))
    return answer, code


def named(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(found["name"], found["definition"]) for found in answer["findings"]]


def printed(answer: dict[str, Any], width: int = 0) -> str:
    sheet = document.Document(width)
    printing.definitions(sheet, answer)  # type: ignore[arg-type] # it went through JSON
    return sheet.text()


def test_a_core_definition_that_the_platform_needs_and_may_not_touch_is_the_known_deadlock() -> None:
    answer, code = audited(crd("v1beta1"), unmanaged=(CLUSTERS,))
    assert (code, answer["verdict"]) == (3, "Inconsistent")
    assert named(answer) == [("CAPIVersionMissing", CLUSTERS)]
    text = printed(answer)
    assert "serves v1beta1; the platform needs v1beta2 and may not add it" in text
    assert "oc topology explain CAPIVersionMissing" in text
    assert "cluster-capi-operator has applied 4.22.1-a, wants 4.22.1-b, and leaves 1 definition alone" in text


@pytest.mark.parametrize(
    ("raw", "unmanaged"),
    [
        pytest.param(crd("v1beta1", "v1beta2"), (CLUSTERS,), id="v1beta2-is-served"),
        pytest.param(crd("v1beta1"), (), id="the-platform-may-add-it"),
        pytest.param(crd("v1beta1"), None, id="there-is-no-such-operator"),
        pytest.param(
            crd("v1beta1", name="metal3machines.infrastructure.cluster.x-k8s.io"),
            ("metal3machines.infrastructure.cluster.x-k8s.io",),
            id="a-provider-has-versions-of-its-own",
        ),
    ],
)
def test_what_is_no_deadlock(raw: dict[str, Any], unmanaged: tuple[str, ...] | None) -> None:
    answer, code = audited(raw, unmanaged=unmanaged)
    assert (code, answer["verdict"], answer["findings"]) == (0, "Consistent", [])
    assert "No known dead end." in printed(answer)


@pytest.mark.parametrize(
    ("managers", "unmanaged", "two"),
    [
        pytest.param({"hypershift": _ALL, INSTALLER: _ALL}, (), True, id="both-apply-the-same"),
        pytest.param(
            {"hypershift": {"f:group": {}, "f:names": {}}, INSTALLER: _ALL}, (), True, id="the-last-has-the-versions"
        ),
        pytest.param({"hypershift": _ALL, INSTALLER: _ALL}, (CLUSTERS,), False, id="the-platform-leaves-it-alone"),
        pytest.param(
            {"hypershift": _ALL, "backplane-operator": _ALL, INSTALLER: _ALL}, (CLUSTERS,), True, id="two-others-remain"
        ),
        pytest.param({"cluster-capi-operator": _ALL, INSTALLER: _ALL}, (), False, id="one-party-by-two-names"),
        pytest.param(
            {INSTALLER: _ALL, "service-ca-operator": {"f:conversion": {}}}, (), False, id="who-injects-owns-nothing"
        ),
        pytest.param({}, (), False, id="nothing-is-known-of-managers"),
    ],
)  # fmt: skip
def test_two_owners(managers: dict[str, dict[str, Any]], unmanaged: tuple[str, ...], *, two: bool) -> None:
    answer, code = audited(crd("v1beta1", "v1beta2", managers=managers), unmanaged=unmanaged)
    assert named(answer) == ([("CAPITwoOwners", CLUSTERS)] if two else [])
    assert code == (3 if two else 0)


def test_objects_in_a_version_that_is_gone() -> None:
    answer, code = audited(crd("v1beta1", "v1beta2", gone=("v1alpha4",), stored=("v1alpha4", "v1beta2")))
    assert (code, named(answer)) == (3, [("CAPIStoredVersionNotServed", CLUSTERS)])
    assert "has v1alpha4 in status.storedVersions and serves v1beta1, v1beta2" in printed(answer)
    answer, code = audited(crd("v1beta1", "v1beta2", gone=("v1alpha4",)))
    assert (code, named(answer)) == (0, []), "nothing is stored in it"


def test_without_the_list_only_what_holds_either_way_is_found() -> None:
    refused = facts.Unobserved("clusterapis", "forbidden")
    fought = crd("v1beta1", managers={"hypershift": _ALL, INSTALLER: _ALL})
    answer, code = audited(fought, operator=refused, unread=True)
    assert (code, answer["verdict"], named(answer)) == (1, "CannotTell", [])
    assert (answer["platform"]["present"], answer["definitions"][0]["unmanaged"]) == (None, None)
    assert "No known dead end, as far as it could be read." in printed(answer)
    lost = crd("v1beta1", gone=("v1alpha4",), stored=("v1alpha4",))
    answer, code = audited(lost, operator=refused, unread=True)
    assert (code, named(answer)) == (3, [("CAPIStoredVersionNotServed", CLUSTERS)])


def test_no_definition_is_nothing_to_look_at() -> None:
    answer, code = audited(unmanaged=None)
    assert (code, answer["verdict"]) == (0, "NothingToLookAt")
    assert "nothing to look at" in printed(answer)


def test_a_requirement_that_is_not_met_stands_with_its_definition() -> None:
    condition = {"type": "Compatible", "status": "False", "reason": "RequirementsNotMet", "message": "no field x"}
    raw: dict[str, Any] = {
        "metadata": {"name": "clusters-active"},
        "status": {"crdName": CLUSTERS, "conditions": [{"type": "Admitted", "status": "False"}, condition]},
    }
    requirement = capi_findings.incompatible(raw)
    assert requirement is not None
    answer, code = audited(crd("v1beta1", "v1beta2"), requirements=(requirement,))
    assert code == 0
    assert answer["definitions"][0]["incompatible"] == [
        {"name": "clusters-active", "reason": "RequirementsNotMet", "message": "no field x"}
    ]
    assert "of clusters-active (RequirementsNotMet): no field x" in printed(answer)
    for status in ("True", "Unknown"):
        raw["status"]["conditions"] = [{**condition, "status": status}]
        assert capi_findings.incompatible(raw) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
_FIELDS = ("metadata.managedFields", "spec.versions", "spec.group", "status.storedVersions", "status.conditions")


@given(path=st.sampled_from(_FIELDS), value=_JSON)
def test_whatever_stands_in_a_field_is_read_or_named_as_malformed(path: str, value: Any) -> None:
    raw = crd("v1beta1")
    part, _, field = path.partition(".")
    raw[part][field] = value
    for reduce in (capi_findings.definition, capi_findings.operator, capi_findings.incompatible):
        with contextlib.suppress(fields.Malformed):
            reduce(raw)
