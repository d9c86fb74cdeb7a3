"""What earlier versions have left on a cluster: Infrastructure and ClusterOperator `topology`, in every phase.

Written by those versions themselves, in their own tests' cluster, and stored here as they stood on the server. The
folders are named after what a record's baseline had then: `pools-only` (the first one that moved a topology) and
`operands` (the one before anything could be accepted), which has what both wrote alike. `crd.yaml` is the definition
that came with that version.
"""

from __future__ import annotations

import copy
import functools
import json
import pathlib
from typing import Any

from test.unit.core import clusters

Raw = dict[str, Any]
FOLDER = pathlib.Path(__file__).parent / "records"
VERSIONS = ("pools-only", "operands")
PHASES = ("Idle", "Unsupported", "Pending", "Admitting", "Converging", "Completed")


@functools.cache
def _read(version: str, phase: str) -> str:
    file = FOLDER / version / f"{phase.lower()}.json"
    return (file if file.exists() else FOLDER / VERSIONS[-1] / file.name).read_text()


def wrote_otherwise(version: str, phase: str) -> bool:
    """Whether that version left something else in this phase than the newest of them."""
    return (FOLDER / version / f"{phase.lower()}.json").exists()


def left(version: str, phase: str) -> Raw:
    """Both objects: `infrastructure` with spec and status, `clusterOperator` with status."""
    found: Raw = json.loads(_read(version, phase))
    return found


def record(version: str, phase: str) -> Raw:
    """status.topologyTransition."""
    found: Raw = left(version, phase)["infrastructure"]["status"]["topologyTransition"]
    return found


def cluster(version: str, phase: str) -> clusters.Cluster:
    """The cluster in memory with what that version left on it."""
    made = clusters.Cluster()
    found = copy.deepcopy(left(version, phase))
    generation = found["infrastructure"]["status"]["topologyTransition"]["observedGeneration"]
    made.change(clusters.INFRASTRUCTURE, {"metadata": {"generation": generation}, **found["infrastructure"]})
    made.put(clusters.OPERATOR, found["clusterOperator"])
    return made
