"""A stand-in leaves out what OpenShift's own definition has, and adds nothing to it; what is read is there.

`parity.definitions` compares. Values are held against the real server itself by `test_openshift_definitions`: those
that are installed, and those that operators write later.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from simulator_tests.parity import definitions
from topology_simulator import cluster as simulated

if TYPE_CHECKING:
    import pytest

Schema = dict[str, Any]
ETCDS = "etcds.operator.openshift.io"


def test_every_stand_in_keeps_to_the_real_definition() -> None:
    lost = [text for name in definitions.names() for text in definitions.wrong(name)]
    assert not lost, "\n".join(lost)


def test_what_the_operator_reads_is_in_the_real_definitions() -> None:
    missing = [text for name in definitions.names() for text in definitions.misread(name)]
    assert not missing, "\n".join(missing)


def test_what_is_installed_is_in_the_real_definitions() -> None:
    lost = [text for obj in simulated.objects(definitions.SHAPE) for text in definitions.pruned(obj)]
    assert not lost, "\n".join(lost)


def test_a_field_that_openshift_calls_otherwise_is_found_where_it_is_read_written_and_promised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    originals = definitions.real()
    changed = {**originals, ETCDS: renamed(originals[ETCDS])}
    monkeypatch.setattr(definitions, "real", lambda: changed)
    (etcd,) = [one for one in simulated.objects(definitions.SHAPE) if one["kind"] == "Etcd"]
    path = ".status.nodeStatuses[].currentRevision"
    assert definitions.wrong(ETCDS) == [f"{ETCDS}: {path}: is pruned"]
    assert definitions.misread(ETCDS) == [f"{ETCDS}: {path.replace('[]', '')} is read, and really not there"]
    assert definitions.pruned(etcd) == [f"{ETCDS}: {path} is pruned"]


def renamed(definition: Schema) -> Schema:
    """Return a definition of Etcd in which the revision of a node has another name."""
    changed = copy.deepcopy(definition)
    for version in changed["spec"]["versions"]:
        fields = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
        node = fields["nodeStatuses"]["items"]["properties"]
        node["presentRevision"] = node.pop("currentRevision")
    return changed


def test_a_state_that_openshift_would_not_keep_is_found() -> None:
    (version,) = [one for one in simulated.objects(definitions.SHAPE) if one["kind"] == "ClusterVersion"]
    assert definitions.refused(version) == []
    broken = copy.deepcopy(version)
    broken["status"]["history"][0]["state"] = 7
    del broken["status"]["desired"]
    broken["status"]["requested"] = {}
    name = "clusterversions.config.openshift.io"
    pruned, missing, mistyped = definitions.refused(broken)
    assert pruned == f"{name}: .status.requested is pruned"
    assert missing == f"{name}: status.desired: Required value"
    assert mistyped.startswith(f"{name}: status.history[].state: Invalid value")
