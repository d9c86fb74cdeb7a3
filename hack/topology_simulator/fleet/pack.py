"""What the engines are given: what `cluster-topology-operator fleet` prints, as objects, so that users' text is played.

Only the times of a roll-out are shorter, because a story has minutes. `edit` is where a mutant takes a safeguard out of
the text (mutants.yaml); one that changes nothing is an error. Here are also the kinds of a hub, and objects of kinds
that are in no table: the engines' and those that give rights.
"""

import copy
import functools
import pathlib
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from topology_api import vocabulary

from .. import client, install, kinds

Edit = Callable[[str], str]

TARGET = "HighlyAvailable"
WAVE = vocabulary.WAVE_LABEL
NAME, NAMESPACE = "topology", "topology-fleet"
AGENT_NAMESPACE, AGENT_ACCOUNT = "open-cluster-management-agent", "klusterlet-work-sa"
POLICY_AGENT_NAMESPACE, POLICY_AGENT_ACCOUNT = "open-cluster-management-agent-addon", "config-policy-controller-sa"
_SURVEY = "topology-survey"
_POLICY_ROLE = "topology-fleet-policy-controller"
_ENGINES = ("work", "policy")
_CANCEL = "# CANCEL what is left."
_ON_HUB = ("Placement", "ManifestWorkReplicaSet")


class Pack:
    """The pack of one roll-out, with or without an edit of its text."""

    def __init__(self, edit: Edit | None = None) -> None:
        printed = {engine: _printed(engine) for engine in _ENGINES}
        self._texts = printed if edit is None else {name: edit(text) for name, text in printed.items()}
        if edit is not None and self._texts == printed:
            raise ValueError("the edit changes nothing of the pack")

    def rights(self) -> list[dict[str, Any]]:
        """Return the roles of the engines' agents on a cluster, bound.

        OCM aggregates them by their label, which takes kube-controller-manager; the bindings stand in for that.
        """
        bound = []
        for role in self._read("work", "ClusterRole"):
            name = role["metadata"]["name"]
            namespace, account = (
                (POLICY_AGENT_NAMESPACE, POLICY_AGENT_ACCOUNT)
                if name == _POLICY_ROLE
                else (AGENT_NAMESPACE, AGENT_ACCOUNT)
            )
            subject = {"kind": "ServiceAccount", "namespace": namespace, "name": account}
            bound += [role, binding(name, subject)]
        return bound

    def survey(self) -> list[dict[str, Any]]:
        """Return what lets each cluster say where it is: a namespace that reaches the clusters, and the survey."""
        survey = [obj for obj in self._read("work", *_ON_HUB) if obj["metadata"]["name"] == _SURVEY]
        return [*self._read("work", "Namespace", "ManagedClusterSetBinding"), *survey]

    def roll_out(
        self, *, soak_seconds: int, deadline_seconds: int, max_concurrency: int, target: str = TARGET
    ) -> list[dict[str, Any]]:
        """Return what lets the hub convert its fleet."""
        shorter = {
            r"minSuccessTime: \d+m": f"minSuccessTime: {soak_seconds}s",
            r"progressDeadline: \d+m": f"progressDeadline: {deadline_seconds}s",
            r"maxConcurrency: \d+": f"maxConcurrency: {max_concurrency}",
            rf"spec: {{{vocabulary.DESIRED}: {TARGET}}}": f"spec: {{{vocabulary.DESIRED}: {target}}}",
        }
        text = self._texts["work"]
        for old, new in shorter.items():
            text, number = re.subn(old, new, text)
            if number != 1:
                raise ValueError(f"the pack says {old!r} {number} times")
        return [obj for obj in _objects(text) if obj["kind"] in _ON_HUB and obj["metadata"]["name"] == NAME]

    def work_spec(self) -> dict[str, Any]:
        """Return the spec of the ManifestWork that each cluster is given."""
        sets = self._read("work", "ManifestWorkReplicaSet")
        (template,) = (obj["spec"]["manifestWorkTemplate"] for obj in sets if obj["metadata"]["name"] == NAME)
        return copy.deepcopy(template)

    def withdrawal(self) -> list[str]:
        """Return the command that the pack prints for a roll-out that was stopped, without the name of its program."""
        _, _, last = self._texts["work"].partition(_CANCEL)
        lines = [line.removeprefix("# ").strip() for line in last.splitlines()]
        first = next(number for number, line in enumerate(lines) if line.startswith("oc "))
        return shlex.split("\n".join(lines[first:]))[1:]

    def policy(self, name: str = NAME, *, enforced: bool = False) -> dict[str, Any]:
        """Return the spec of the ConfigurationPolicy of a policy, as a cluster gets it.

        The action of the Policy stands above that of what is in it. `enforced` is what TALM makes of it in its turn.
        """
        (parent,) = (obj for obj in self._read("policy", "Policy") if obj["metadata"]["name"] == name)
        (template,) = parent["spec"]["policy-templates"]
        action = "enforce" if enforced else parent["spec"]["remediationAction"]
        return {**template["objectDefinition"]["spec"], "remediationAction": action}

    def _read(self, engine: str, *wanted: str) -> list[dict[str, Any]]:
        return [obj for obj in _objects(self._texts[engine]) if obj["kind"] in wanted]


@functools.cache
def _printed(engine: str) -> str:
    size = ("--canary", "edge-1", "--clusters", "16", "--max-concurrency", "16")
    command = (sys.executable, "-m", "topology_deploy", "fleet", engine, "--to", TARGET, *size)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own program


def _objects(text: str) -> list[dict[str, Any]]:
    return [obj for obj in yaml.load_all(text, install.LOADER) if obj]


RBAC = "rbac.authorization.k8s.io"
CLUSTER_GROUP, WORK_GROUP = "cluster.open-cluster-management.io", "work.open-cluster-management.io"
MANAGED_CLUSTERS = kinds.Kind(CLUSTER_GROUP, "managedclusters", "ManagedCluster")
DECISIONS = kinds.Kind(CLUSTER_GROUP, "placementdecisions", "PlacementDecision", namespaced=True, version="v1beta1")
WORKS = kinds.Kind(WORK_GROUP, "manifestworks", "ManifestWork", namespaced=True)
REPLICA_SETS = kinds.Kind(
    WORK_GROUP, "manifestworkreplicasets", "ManifestWorkReplicaSet", namespaced=True, version="v1alpha1"
)
CONFIGURATION_POLICIES = kinds.Kind(
    "policy.open-cluster-management.io", "configurationpolicies", "ConfigurationPolicy", namespaced=True
)


RIGHTS: dict[str, list[dict[str, Any]]] = yaml.safe_load(pathlib.Path(__file__).with_name("rights.yaml").read_text())
"""What a registration makes of a work agent, on the hub and on its cluster."""


def binding(name: str, *subjects: dict[str, str], namespace: str = "") -> dict[str, Any]:
    """Return what gives these subjects a ClusterRole of the same name, in one namespace or everywhere."""
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": meta,
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
        "subjects": list(subjects),
    }


async def create(api: client.Client, objects: Iterable[dict[str, Any]]) -> None:
    """Create objects in their order; one that is there already is left as it is. Raises ClientError."""
    for obj in objects:
        await install.create(api, obj)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A safeguard that is missing, the story that shows it, and what replaces what in the text, as patterns."""

    what: str
    story: str
    replaced: dict[str, str]

    def edit(self, text: str) -> str:
        """Return the text of a pack without the safeguard."""
        for old, new in self.replaced.items():
            text = re.sub(old, new, text, flags=re.MULTILINE)
        return text


MUTANTS = {
    name: Mutant(**fields)
    for name, fields in yaml.safe_load(pathlib.Path(__file__).with_name("mutants.yaml").read_text()).items()
}
