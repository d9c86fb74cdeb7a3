"""What earlier versions have left on a cluster: Infrastructure and ClusterOperator `topology`, in every phase.

Written by those versions themselves, in their own tests' cluster, and stored here as they stood on the server: one file
for each version, with what is alike in it written once. The files are named after what a record's baseline had then:
`pools-only` (the first one that moved a topology) and `operands` (the one before anything could be accepted), which has
what both wrote alike. `fields` are those of the definition that came with that version.
"""

from __future__ import annotations

import functools
import json
import pathlib
from typing import Any

import yaml
from test.unit.core import clusters

from topology_api import served

Raw = dict[str, Any]
FOLDER = pathlib.Path(__file__).parent / "records"
VERSIONS = ("pools-only", "operands")
PHASES = ("Idle", "Unsupported", "Pending", "Admitting", "Converging", "Completed")


@functools.cache
def _file(version: str) -> Raw:
    found: Raw = yaml.load((FOLDER / f"{version}.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    return found


def wrote_otherwise(version: str, phase: str) -> bool:
    """Whether that version left something else in this phase than the newest of them."""
    return phase in _file(version)["left"]


def left(version: str, phase: str) -> Raw:
    """Both objects: `infrastructure` with spec and status, `clusterOperator` with status."""
    stored = _file(version if wrote_otherwise(version, phase) else VERSIONS[-1])["left"][phase]
    # By way of text: what is written once in the file would otherwise be one object in both places.
    found: Raw = json.loads(json.dumps(stored))
    return found


def definition(version: str) -> Raw:
    """The definition that came with that version, as far as its fields go."""
    schema: Raw = {}
    for path in _file(version)["fields"]:
        place = schema
        for name in path.split("."):
            place = place.setdefault("properties", {}).setdefault(name, {})
    served_version = {"name": served.VERSION, "served": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": served.NAME},
        "spec": {"versions": [served_version]},
    }


def record(version: str, phase: str) -> Raw:
    """status.topologyTransition."""
    found: Raw = left(version, phase)["infrastructure"]["status"]["topologyTransition"]
    return found


def cluster(version: str, phase: str) -> clusters.Cluster:
    """The cluster in memory with what that version left on it."""
    made, found = clusters.Cluster(), left(version, phase)
    generation = found["infrastructure"]["status"]["topologyTransition"]["observedGeneration"]
    made.change(clusters.INFRASTRUCTURE, {"metadata": {"generation": generation}, **found["infrastructure"]})
    made.put(clusters.OPERATOR, found["clusterOperator"])
    return made
