"""Files of YAML that people write: whatever is in them, they are understood or refused with the documented error."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import strategies as st

from kubectl_topology import errors, manifest
from topology_controller import bindata
from topology_controller.definitions import load as transitions
from topology_controller.definitions import operands, settings
from topology_controller.definitions.read import DefinitionError
from topology_deploy import render
from topology_deploy.install_config import Rule

from . import bounds, documents

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

DEFINITION = (bindata.root() / "transitions" / "sno-to-ha-compact.yaml").read_text(encoding="utf-8")
OPERANDS = (bindata.root() / "operands" / "RouterReplicas.yaml").read_text(encoding="utf-8")
CONFIGURATION = """apiVersion: topology.openshift.io/v1
kind: TopologyOperatorConfig
logLevel: info
settleSeconds: 60
minimumNodeResources:
  cpu: 4
  memory: 14848Mi
transitions:
  sno-to-ha-compact:
    deadlineMinutes: 90
"""
INSTALL_CONFIG = """apiVersion: v1
baseDomain: example.org
controlPlane:
  name: master
  replicas: 1
compute:
- name: worker
  replicas: 0
platform:
  none: {}
pullSecret: '{"auths": {}}'
"""
MANIFEST = """apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata:
  name: cluster
spec:
  desiredTopology: HighlyAvailable
"""


def transition(folder: pathlib.Path, raw: bytes) -> list[str]:
    (folder / "sno-to-ha-compact.yaml").write_bytes(raw)
    try:
        transitions.load(folder)
    except DefinitionError as error:
        return [str(one) for one in error.problems]
    return []


def operand(folder: pathlib.Path, raw: bytes) -> list[str]:
    if not (folder / "operands").is_dir():
        shutil.copytree(bindata.root() / "operands", folder / "operands")
        for name in ("startup-readers.yaml", "single-node-settings.yaml", "optional-operators.yaml"):
            shutil.copy(bindata.root() / name, folder)
    (folder / "operands" / "RouterReplicas.yaml").write_bytes(raw)
    try:
        operands.load(folder)
    except DefinitionError as error:
        return [str(one) for one in error.problems]
    return []


def configuration(folder: pathlib.Path, raw: bytes) -> list[str]:
    try:
        settings.load(folder / "config.yaml", raw, ["sno-to-ha-compact"])
    except DefinitionError as error:
        told = list(settings.complaints(error))
    else:
        told = []
    # It becomes the message of a condition, which people read.
    assert sum(map(len, told)) < 4096
    return told


def install_config(folder: pathlib.Path, raw: bytes) -> list[str]:
    try:
        report = render.examine(raw, folder / "install-config.yaml", tuple(Rule))
    except DefinitionError as error:
        return [problem.text for problem in error.problems]
    assert render.text(report).endswith("\n")
    assert set(report["rules"]) == set(Rule)
    return []


def manifests(folder: pathlib.Path, raw: bytes) -> list[str]:
    (folder / "one.yaml").write_bytes(raw)
    try:
        manifest.read(str(folder / "one.yaml"))
    except errors.InputError as error:
        return list(error.problems)
    return []


@dataclass(frozen=True)
class Reader:
    """Who reads such files, what a good one is, and whether only what is unknown may be in it besides."""

    read: Callable[[pathlib.Path, bytes], list[str]]
    good: str


READERS = {
    "transition definition": Reader(transition, DEFINITION),
    "operand file": Reader(operand, OPERANDS),
    "configuration file": Reader(configuration, CONFIGURATION),
    "install-config": Reader(install_config, INSTALL_CONFIG),
    "manifest of a repository": Reader(manifests, MANIFEST),
}


@pytest.fixture(scope="module", params=READERS, ids=lambda name: name.replace(" ", "-"))
def reader(request, tmp_path_factory):
    return READERS[request.param], tmp_path_factory.mktemp("any")


def test_a_good_file_is_understood(reader):
    about, folder = reader
    assert about.read(folder, about.good.encode()) == []


# A line of a YAML file becomes tokens, events, nodes with their places, and values: hundreds of bytes for one.
_TIMES = 2000


@bounds.fuzz(st.data())
def test_any_file_is_understood_or_refused_in_time_and_memory(reader, data):
    about, folder = reader
    raw = data.draw(documents.near(about.good))
    with bounds.ended(len(raw)):
        told = about.read(folder, raw)
    assert all(told)


@bounds.fuzz(st.data())
def test_any_value_in_any_place_is_understood_or_refused_by_name(reader, data):
    about, folder = reader
    told = about.read(folder, documents.replaced(data, yaml.safe_load(about.good)))
    assert all(told)
    if about.read in {transition, operand, configuration}:
        assert [one for one in told[:1] if not one.startswith(str(folder))] == []


@pytest.mark.parametrize("merged", [False, True], ids=["aliases", "merge-keys"])
def test_aliases_of_aliases_are_never_written_out(reader, merged):
    about, folder = reader
    raw = (about.good + documents.bomb(60, 9, merged=merged)).encode()
    with bounds.kept(len(raw), times=_TIMES, beside=20 * bounds.MIB):
        about.read(folder, raw)
