"""The operators that are real: where their programs are, what a cluster has for them, and their processes.

operators.toml pins them, `lab` (the script beside it) builds them, needs/ has the objects that an installer or another
operator makes for each. What a real one makes is not installed.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from topology_deploy import manifests
from topology_simulator import cluster, configured, install, kinds, kubeconfig, machines, operands
from topology_simulator.actors import console, etcd_operator, machine_config, native, static_pods, version, workloads
from topology_simulator.apiserver import patch
from topology_simulator.envtest import openshift
from topology_simulator.etcd import keeping

from . import played, services

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from topology_simulator import shape
    from topology_simulator.actors import actor
    from topology_simulator.envtest import server

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
PINS: dict[str, dict[str, Any]] = tomllib.loads((HERE / "operators.toml").read_text(encoding="utf-8"))
_RELEASE = os.environ.get("RELEASE", "")
for _pin in PINS.values():
    if _commit := _pin.get("releases", {}).get(_RELEASE):
        _pin.update(branch=f"release-{_RELEASE}", commit=_commit)
CONTROLLERS = (
    "deployment", "replicaset", "statefulset", "daemonset", "disruption", "garbage-collector", "serviceaccount-token",
    "endpoints", "endpointslice",
)  # fmt: skip
"""Of kube-controller-manager."""
_BESIDE = {name for pin in PINS.values() for name in pin.get("beside", ())}
NAMES = tuple(name for name, pin in PINS.items() if "start" in pin and name not in _BESIDE)
"""Those that can be named."""
_FEATURES = "vendor/github.com/openshift/api/features/features.go"
_DEFAULT = re.compile(r"\bconfigv1\.Default\b|\binDefault\(\)")
_PLACEHOLDER = re.compile(r"placeholder\.url\.oc\.will\.replace\.this\.org/placeholdernamespace:([a-z0-9-]+)")
_IMAGE = "quay.io/lab/{}@sha256:" + "a" * 64
_AUTHENTICATOR = "system:serviceaccount:openshift-oauth-apiserver:openshift-authenticator"


@dataclass(frozen=True, slots=True)
class Program:
    """A program of a real operator, built."""

    name: str
    pin: Mapping[str, Any]
    built: pathlib.Path

    @property
    def commit(self) -> str:
        """Which sources it is built from."""
        return f"{self.pin['repository']} {self.pin['branch']} {self.pin['commit'][:8]}"


def lab(*words: str) -> str:
    """Ask the builder, which complains on the screen; exits as it does."""
    asked = subprocess.run([HERE / "lab", *words], stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - ours
    if asked.returncode:
        sys.exit(asked.returncode)
    return asked.stdout.strip()


def built(names: Collection[str]) -> list[Program]:
    """Build what is missing, the servers too, which is announced on the screen; exits with 2 without sources."""
    each_one = [each for first in names for each in (first, *PINS[first].get("beside", ()))]
    programs = [Program(name, PINS[name], pathlib.Path(lab("build", name))) for name in each_one]
    servers = subprocess.run([ROOT / "hack" / "envtest" / "envtest", "build"], stdout=subprocess.DEVNULL, check=False)  # noqa: S603 - ours
    if servers.returncode:
        sys.exit(2)
    return programs


def instead(names: Collection[str]) -> dict[type[actor.Actor], type[actor.Actor]]:
    """Return what plays another part than in a cluster in a box: what is real there plays none."""
    parts: dict[type[actor.Actor], type[actor.Actor]] = {
        workloads.Workloads: played.other(played.Workloads, operators=workloads.Workloads.operators.difference(names)),
        console.Console: played.Console,
    }
    if "mco" in names:
        parts[machine_config.MachineConfig] = played.Daemons
    alone: dict[str, type[actor.Actor]] = {"cvo": version.Version, "ingress": workloads.Ingress}
    alone |= {"console": console.Console, "config": native.NativeController}
    for name, part in alone.items():
        if name in names:
            parts[part] = played.other(part, step=played.nothing, watched=())
    installed = tuple(pods for pods in operands.STATIC_PODS if pods.operator not in names)
    parts[static_pods.StaticPods] = played.other(static_pods.StaticPods, installed=installed)
    if "etcd" in names:
        parts[etcd_operator.EtcdOperator] = played.Etcds
    readers = tuple(reader for reader in operands.READERS if reader.app.removesuffix("-operator") not in names)
    parts[workloads.OperatorPods] = played.other(workloads.OperatorPods, readers=readers)
    return parts


def definitions(names: Collection[str]) -> list[dict[str, Any]]:
    """Return what is served: OpenShift's own definitions, more than a cluster in a box has, and those of no module."""
    groups = {group for name in ("every", *names) for group in PINS[name].get("groups", ())}
    loose = listed(names, "loose") - listed(names, "aggregated")
    unchecked = [install.of_anything(kind, status={}) for kind in loose]
    for each in unchecked:
        each["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, in a lab"}
    return [*openshift.definitions(), *openshift.others(groups), *unchecked]


def listed(names: Collection[str], what: str) -> set[kinds.Kind]:
    """Return the kinds that operators.toml lists as `loose` or `aggregated`."""
    return {kinds.any_kind(obj) for name in names for obj in PINS[name].get(what, ())}


class Setting:
    """What the programs of a run find: objects in the cluster, and files in a folder each."""

    def __init__(
        self, names: Collection[str], programs: Collection[Program], kind: shape.Shape, served: server.RealServer
    ) -> None:
        self._names, self._programs, self._shape = names, programs, kind
        bundle: str = served.kubeconfig()["clusters"][0]["cluster"]["certificate-authority-data"]
        self._well = f"127.0.0.1:{keeping.free_ports(1)[0]}"
        with warnings.catch_warnings(action="ignore"):  # of its length
            client = served.client_authority.client(_AUTHENTICATOR)
        texts = {"authority": base64.b64decode(bundle), "client": client.certificate, "client-key": client.key}
        texts |= {name: (served.folder / "certs" / name).read_bytes() for name in ("apiserver.crt", "apiserver.key")}
        self._words = {f"{{{name}}}": json.dumps(text.decode())[1:-1] for name, text in texts.items()}
        self._words |= {"{well}": self._well, "{bundle}": bundle}
        self.needed = {_key(obj): obj for name in ("every", *names) for obj in self._needs(name)}
        """What else they need; `objects` takes out what is merged into another."""
        if "etcd" in names:
            # Members listen at the addresses of their nodes; another run has others.
            machines.network = ipaddress.IPv4Address("127.0.0.0") + (1 + os.getpid() % 65534) * 256

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield what there is before anybody acts, namespaces first."""
        installed = (self._as_found(obj) for obj in cluster.objects(self._shape) if not self._made(obj))
        applied = (obj for program in self._programs for obj in self._applied(program))
        for obj in (*installed, *applied):
            yield patch.merge(obj, self.needed.pop(_key(obj), {}))

    def _made(self, obj: dict[str, Any]) -> bool:
        """Whether a real operator makes an object: where `makes` has how its namespace and name begin."""
        makes = [each for name in self._names for each in PINS[name].get("makes", {}).items()]
        starts = [start for kind, starts in makes if kinds.named(kind) is kinds.kind_of(obj) for start in starts]
        return "/".join(filter(None, _key(obj)[1:])).startswith(tuple(starts))

    def _needs(self, name: str) -> list[dict[str, Any]]:
        file = HERE / "needs" / f"{name}.yaml"
        text = file.read_text(encoding="utf-8") if file.exists() else "[]"
        for word, content in self._words.items():
            text = text.replace(word, content)
        return list(yaml.safe_load(text))

    def _as_found(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return an object as it is before its real operator has seen it."""
        kind = kinds.kind_of(obj)
        if kind is kinds.FEATURE_GATES:
            self._switch(obj["status"]["featureGates"][0])
            self._gates = {**obj, "metadata": {}}
        elif kind is kinds.CLUSTER_VERSIONS and "cvo" in self._names:
            obj["spec"]["overrides"] = [manifests.OVERRIDE]
        elif kind is kinds.OPENSHIFT_API_SERVERS and "config" in self._names:
            # It waits for that, which no source was found to write: cluster-openshift-apiserver-operator, release-4.22.
            obj["status"]["readyReplicas"] = 3
        elif kind is kinds.NODES and "mco" in self._names:
            notes = obj["metadata"]["annotations"]
            theirs = [name for name in notes if name.startswith(cluster.PREFIX)]
            obj["metadata"]["annotations"] = {name: note for name, note in notes.items() if name not in theirs}
        return obj

    def _switch(self, gates: dict[str, Any]) -> None:
        """Let there be every gate that a program knows; on are those that its sources have on by default."""
        files = (program.built / _FEATURES for program in self._programs if "features" in program.pin["files"])
        texts = [file.read_text(encoding="utf-8") for file in files]
        known = {gate: True for program in self._programs for gate in program.pin.get("gates", ())}
        known |= {gate: on for text in texts for gate, on in _gates(text)}
        known |= {gate["name"]: on for on in (True, False) for gate in gates["enabled" if on else "disabled"]}
        for part, member in (("enabled", True), ("disabled", False)):
            gates[part] = [{"name": gate} for gate, on in sorted(known.items()) if on is member]

    def _applied(self, program: Program) -> Iterator[dict[str, Any]]:
        """Yield the manifests of a program that the version operator would have applied."""
        for file in program.pin.get("manifests", ()):
            text = (program.built / program.pin["files"].split()[0] / file).read_text(encoding="utf-8")
            yield from yaml.safe_load_all(self._released(text))

    def _released(self, text: str) -> str:
        """Return a manifest as a release has it."""
        text = _PLACEHOLDER.sub(lambda match: _IMAGE.format(match[1]), text)
        return text.replace(manifests.RELEASE, self._shape.version)

    def command(self, program: Program, place: pathlib.Path, served: server.RealServer) -> list[str]:
        """Write a program's files to its own folder, and return how it is started."""
        folder = place / program.name
        folder.mkdir()
        kubeconfig.write(folder / "kubeconfig", served.kubeconfig(program.name))
        for obj in self._applied(program):
            for name, content in (obj.get("data") or {}).items():
                (folder / name).write_text(content, encoding="utf-8")
        image = configured.version(self._shape)["status"]["desired"]["image"]
        if program.name == "cvo":
            self._payload(folder / "payload")
        elif program.name == "config":
            (folder / "gates").mkdir()
            (folder / "gates" / "default.yaml").write_text(json.dumps(self._gates), encoding="utf-8")
        elif program.name == "etcd":
            played.Etcds.mounted = folder / "run"
            played.Etcds.mounted.mkdir()
        (port,) = keeping.free_ports(1)
        words = {
            "folder": folder, "files": program.built, "version": self._shape.version, "image": image, "port": port,
            "certs": served.folder / "certs", "well": self._well, "proxy": services.PORT,
        }  # fmt: skip
        settings = [f"{name}={value.format(**words)}" for name, value in program.pin["environment"].items()]
        started = [*program.pin.get("inside", ()), f"{program.built / program.name}", *program.pin["start"]]
        return ["/usr/bin/env", *settings, *(word.format(**words) for word in started)]

    def _payload(self, folder: pathlib.Path) -> None:
        """Write a release's payload: the definition of Infrastructure as it ships, and what this operator brings."""
        (folder / "manifests").mkdir(parents=True)
        released = folder / "release-manifests"
        released.mkdir()
        (plain,) = (each for each in openshift.payload() if each["metadata"]["name"] == manifests.OVERRIDE["name"])
        (released / "0000_10_infrastructures.crd.yaml").write_text(yaml.safe_dump(plain), encoding="utf-8")
        for file in sorted((ROOT / "bindata" / "manifests").glob("*.yaml")):
            (released / file.name).write_text(self._released(file.read_text(encoding="utf-8")), encoding="utf-8")
        stream = {"metadata": {"name": self._shape.version}, "spec": {"tags": []}}
        references = {"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", **stream}
        metadata = {"kind": "cincinnati-metadata-v0", "version": self._shape.version, "previous": []}
        for name, content in (("image-references", references), ("release-metadata", metadata)):
            (released / name).write_text(json.dumps(content), encoding="utf-8")


def _key(obj: dict[str, Any]) -> tuple[str, str, str]:
    return kinds.any_kind(obj).path(), obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _gates(source: str) -> Iterator[tuple[str, bool]]:
    """Yield the feature gates that openshift/api features/features.go declares, and whether each is on by default."""
    for declared in source.split("newFeatureGate(")[1:]:
        words = declared.partition("mustRegister")[0]
        if words.startswith('"'):
            yield words.split('"')[1], _DEFAULT.search(words) is not None
