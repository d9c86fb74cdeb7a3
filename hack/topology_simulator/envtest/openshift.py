"""The definitions that the real API server is given: OpenShift's own, of the feature set that clusters run by default.

They come from the Go module github.com/openshift/api (`binaries.definitions`). Infrastructure is the Default variant
with our part patched into it, as `manifests --crd-patch` does on a cluster. The stand-ins in crds/ serve the embedded
server; here only those remain whose kind the module does not have.
"""

import functools
import json
import pathlib
import re
from collections.abc import Collection, Iterator
from typing import Any

import yaml

from topology_api import crd, crd_patch, types

from .. import SimulatorError, binaries, install

STAND_INS = (
    "baremetalhosts.metal3.io",
    "prometheusrules.monitoring.coreos.com",
    "servicemonitors.monitoring.coreos.com",
)
"""Kinds of others: of the Prometheus operator, whose definitions cluster-monitoring-operator ships (assets/), and of
the bare metal operator (metal3-io/baremetal-operator config/base/crds), by way of cluster-baremetal-operator."""
_MANIFESTS = "*/*/zz_generated.crd-manifests/*.crd.yaml"
_FEATURE_SET = "release.openshift.io/feature-set:"
_PROFILE = "include.release.openshift.io/self-managed-high-availability:"
_NAME = re.compile(r"^  name: (\S+)$", re.MULTILINE)
_TRANSITIONS = pathlib.Path(__file__).parents[3] / "bindata" / "transitions"


def definitions() -> list[dict[str, Any]]:
    """Return every definition of the simulated cluster. Raises binaries.MissingError, SimulatorError."""
    served = {definition["metadata"]["name"]: definition for definition in payload()}
    ours = served[crd.NAME]
    return list({**served, crd.NAME: crd_patch.apply(ours, crd_patch.add(ours, tuple(_edges())))}.values())


def payload() -> list[dict[str, Any]]:
    """Return them as a release brings them, without our part in Infrastructure. Raises like `definitions`."""
    return [json.loads(text) for text in _read()]


@functools.cache
def _read() -> tuple[str, ...]:
    texts = [path.read_text() for path in sorted(binaries.definitions().glob(_MANIFESTS))]
    crds = []
    for stand_in in install.definitions():
        name = stand_in["metadata"]["name"]
        if name in STAND_INS:
            crds.append(stand_in)
            continue
        ours = _defaults(name, texts)
        if len(ours) != 1:
            raise SimulatorError(
                f"{len(ours)} definitions of {name} are for a self-managed cluster by default, not one"
            )
        crds.append(yaml.load(ours[0], install.LOADER))  # noqa: S506 - a safe one
    return tuple(json.dumps(definition) for definition in crds)


def others(groups: Collection[str]) -> list[dict[str, Any]]:
    """Return what a release brings by default of these groups and the simulated cluster lacks, for real operators.

    Of several versions of one it is the first, v1. Raises binaries.MissingError.
    """
    texts = [path.read_text() for path in sorted(binaries.definitions().glob(_MANIFESTS))]
    names = {match[1] for text in texts if (match := _NAME.search(text)) and match[1].partition(".")[2] in groups}
    names -= {stand_in["metadata"]["name"] for stand_in in install.definitions()}
    chosen = (_defaults(name, texts) for name in sorted(names))
    return [yaml.load(several[0], install.LOADER) for several in chosen if several]  # noqa: S506 - a safe one


def _defaults(name: str, texts: list[str]) -> list[str]:
    """Return the definitions of that name that a self-managed cluster may run when no feature set is chosen."""
    named = [text for text in texts if f"\n  name: {name}\n" in text]
    plain = [text for text in named if _FEATURE_SET not in text or f"{_FEATURE_SET} Default\n" in text]
    return [text for text in plain if _PROFILE in text] if len(plain) > 1 else plain


def _edges() -> Iterator[crd.Edge]:
    for path in sorted(_TRANSITIONS.glob("*.yaml")):
        definition = yaml.load(path.read_text(), install.LOADER)  # noqa: S506 - a safe one
        source, target = definition["source"], definition["target"]
        yield crd.Edge(
            name=definition["name"],
            source_control_plane=source["controlPlane"],
            source_infrastructures=tuple(source["infrastructure"]),
            target=types.TopologyPair.model_validate(target),
        )
