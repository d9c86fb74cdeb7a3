"""A served Infrastructure definition that is much larger than ours, as a release payload has it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from topology_api import crd
from topology_api.types import TopologyPair

EDGES = (
    crd.Edge(
        name="sno-to-ha-compact",
        source_control_plane="SingleReplica",
        source_infrastructures=("SingleReplica", "HighlyAvailable"),
        target=TopologyPair(control_plane="HighlyAvailable", infrastructure="HighlyAvailable"),
    ),
)


@pytest.fixture
def edges():
    return EDGES


def payload_definition() -> dict[str, Any]:
    """Make a definition with two versions, hundreds of fields, rules and columns of its own, and none of ours."""
    made = crd.infrastructure(EDGES)
    made["metadata"].update(
        annotations={
            "api-approved.openshift.io": "https://example.com/470",
            "include.release.openshift.io/ibm": "true",
        },
        resourceVersion="123",
    )
    version = made["spec"]["versions"][0]
    version["additionalPrinterColumns"] = [
        {"name": "PHASE", "type": "string", "jsonPath": ".status.platform", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    schema = version["schema"]["openAPIV3Schema"]
    schema["required"] = ["spec"]
    schema[crd.RULES] = [
        {"rule": "!has(self.spec) || true", "message": "not ours"},
        {"rule": "true", "fieldPath": ".spec.platformSpec", "message": "not ours either"},
    ]
    spec, status = schema["properties"]["spec"], schema["properties"]["status"]
    for part in (spec, status):
        del part[crd.OPEN]
        for number in range(150):
            part["properties"][f"field/{number}~x"] = {
                "type": "object",
                "properties": {f"inner{index}": {"type": "string", "maxLength": index + 1} for index in range(8)},
            }
    del spec["properties"][crd.DESIRED]
    del status["properties"][crd.RECORD]
    spec["properties"]["platformSpec"][crd.RULES] = [{"rule": "true", "message": "deeper"}]
    other = copy.deepcopy(version)
    other.update(name="v1alpha1", storage=False, deprecated=True)
    made["spec"]["versions"] = [other, version]
    made["spec"]["conversion"] = {"strategy": "None"}
    made["status"] = {"storedVersions": ["v1"], "conditions": []}
    return made


@pytest.fixture
def payload():
    return payload_definition()
