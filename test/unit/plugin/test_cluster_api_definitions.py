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


def owned(*managers: str, **parts: dict[str, Any]) -> dict[str, Any]:
    """A definition of which these managers have applied everything, and those in `parts` something."""
    return crd("v1beta1", "v1beta2", managers={**parts, **dict.fromkeys(managers, _ALL)})


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
    assert (f"oc topology explain {finding}" in printed(answer)) is (finding is not None)


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
