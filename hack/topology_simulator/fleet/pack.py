"""What the engines are given: what `cluster-topology-operator fleet` prints, as objects, so that users' text is played.

Only the times of a roll-out are shorter, because a story has minutes. `edit` is where a mutant takes a safeguard out of
the text (`mutants`); one that changes nothing is an error, because its story would show nothing.
"""

from __future__ import annotations

import copy
import re
import shlex
from typing import TYPE_CHECKING, Any

import yaml

from topology_api import vocabulary
from topology_controller import bindata
from topology_controller.definitions import load
from topology_controller.fleet import objects, plan, policy, work

from .. import install

if TYPE_CHECKING:
    from collections.abc import Callable

    Edit = Callable[[str], str]

TARGET = "HighlyAvailable"
WAVE = vocabulary.WAVE_LABEL
SURVEY = objects.SURVEY
AGENT_NAMESPACE, AGENT_ACCOUNT = "open-cluster-management-agent", "klusterlet-work-sa"
POLICY_AGENT_NAMESPACE, POLICY_AGENT_ACCOUNT = "open-cluster-management-agent-addon", "config-policy-controller-sa"
_WANTED = plan.Wanted(TARGET, canaries=("edge-1",), clusters=16, max_concurrency=16)
NAME, NAMESPACE = _WANTED.name, _WANTED.namespace
_POLICY_ROLE = "topology-fleet-policy-controller"
_RBAC = "rbac.authorization.k8s.io"


class Pack:
    """The pack of one roll-out, with or without an edit of its text."""

    def __init__(self, edit: Edit | None = None) -> None:
        self._plan = plan.of(_WANTED, load.load(bindata.root() / "transitions"))
        printed = {
            "rights": objects.rights(),
            "survey": objects.survey(self._plan),
            "roll-out": work.roll_out(self._plan),
            "withdrawal": work.withdraw(self._plan),
            "policy": policy.request(self._plan),
            "policy-withdrawal": policy.withdraw(self._plan),
        }
        self._texts = printed if edit is None else {name: edit(text) for name, text in printed.items()}
        if edit is not None and self._texts == printed:
            raise ValueError("the edit changes nothing of the pack")

    def rights(self) -> list[dict[str, Any]]:
        """Return the roles of the engines' agents on a cluster, bound.

        OCM aggregates them by their label, which takes kube-controller-manager; the bindings stand in for that.
        """
        bound = []
        for role in self._read("rights"):
            name = role["metadata"]["name"]
            namespace, account = (
                (POLICY_AGENT_NAMESPACE, POLICY_AGENT_ACCOUNT)
                if name == _POLICY_ROLE
                else (AGENT_NAMESPACE, AGENT_ACCOUNT)
            )
            binding = {
                "apiVersion": f"{_RBAC}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": name},
                "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": account}],
            }
            bound += [role, binding]
        return bound

    def survey(self) -> list[dict[str, Any]]:
        """Return what lets each cluster say where it is."""
        return self._read("survey")

    def roll_out(
        self, *, soak_seconds: int, deadline_seconds: int, max_concurrency: int, target: str = TARGET
    ) -> list[dict[str, Any]]:
        """Return what lets the hub convert its fleet."""
        wanted = self._plan.wanted
        shorter = {
            f"minSuccessTime: {wanted.soak}m": f"minSuccessTime: {soak_seconds}s",
            f"progressDeadline: {self._plan.minutes}m": f"progressDeadline: {deadline_seconds}s",
            f"maxConcurrency: {wanted.max_concurrency}": f"maxConcurrency: {max_concurrency}",
            f"spec: {{{vocabulary.DESIRED}: {TARGET}}}": f"spec: {{{vocabulary.DESIRED}: {target}}}",
        }
        text = self._texts["roll-out"]
        for old, new in shorter.items():
            if text.count(old) != 1:
                raise ValueError(f"the pack says {old!r} {text.count(old)} times")
            text = text.replace(old, new)
        return _objects(text)

    def work_spec(self) -> dict[str, Any]:
        """Return the spec of the ManifestWork that each cluster is given."""
        (template,) = (obj["spec"]["manifestWorkTemplate"] for obj in self._read("roll-out") if _is_replica_set(obj))
        return copy.deepcopy(template)

    def withdrawal(self) -> list[str]:
        """Return the command that the pack prints for a roll-out that was stopped, without the name of its program."""
        lines = [line.removeprefix("# ") for line in self._texts["withdrawal"].splitlines()]
        first = next(number for number, line in enumerate(lines) if line.strip().startswith("oc "))
        return shlex.split("\n".join(lines[first:]))[1:]

    def policy(self, name: str = NAME, *, enforced: bool = False) -> dict[str, Any]:
        """Return the spec of the ConfigurationPolicy of a policy, as a cluster gets it.

        The action of the Policy stands above that of what is in it. `enforced` is what TALM makes of it in its turn.
        """
        text = self._texts["policy" if name == NAME else "policy-withdrawal"]
        (parent,) = (obj for obj in _objects(text) if obj["kind"] == "Policy" and obj["metadata"]["name"] == name)
        ((template),) = parent["spec"]["policy-templates"]
        action = "enforce" if enforced else parent["spec"]["remediationAction"]
        return {**template["objectDefinition"]["spec"], "remediationAction": action}

    def _read(self, name: str) -> list[dict[str, Any]]:
        return _objects(self._texts[name])


def without_marker(role: dict[str, Any]) -> dict[str, Any]:
    """Return a role without the right to make a request."""
    return {**role, "rules": [rule for rule in role["rules"] if rule["verbs"] != ["set"]]}


def replaced(old: str, new: str = "") -> Edit:
    """Return an edit: every match of a pattern is replaced."""
    return lambda text: re.sub(old, new, text, flags=re.MULTILINE)


def _objects(text: str) -> list[dict[str, Any]]:
    return [obj for obj in yaml.load_all(text, install.LOADER) if obj]


def _is_replica_set(obj: dict[str, Any]) -> bool:
    return bool(obj["kind"] == "ManifestWorkReplicaSet")
