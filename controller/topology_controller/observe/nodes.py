"""Machines and bare-metal hosts that stand under the control plane, as small facts.

The etcd operator goes by Machines without a word: where one of them is Running it adds a member only on a node that has
a Machine with its address (`checks.machines` has the rule). So these are read beside the nodes, reduced to what that
rule, the question whether something is on its way out, and the advisories use. Only `machine.openshift.io` is read:
the etcd operator reads nothing else, and a Machine that is mirrored from `cluster.x-k8s.io` stands here once.

A malformed object raises `fields.Malformed`, and becomes `Unobserved` with its name, like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import fields

Raw = dict[str, Any]

NAMESPACE = "openshift-machine-api"
ROLE_LABEL = "machine.openshift.io/cluster-api-machine-role"
SELECTOR = f"{ROLE_LABEL} in (master,arbiter)"
"""The Machines that the etcd operator lists (cluster-etcd-operator pkg/operator/starter.go)."""
HOST_ANNOTATION = "metal3.io/BareMetalHost"
HOOK = "EtcdQuorumOperator"
_HOOK_OWNER = "clusteroperator/etcd"
_LONGEST_WORD = 64
_LONGEST_TROUBLE = 256


@dataclass(frozen=True, slots=True)
class Machine:
    """A Machine with role master or arbiter (machine.openshift.io/v1beta1)."""

    name: str
    arbiter: bool = False
    phase: str = ""
    """status.phase: Provisioning, Provisioned, Running, Deleting, Failed; empty when there is none yet."""
    addresses: tuple[str, ...] = ()
    """Addresses of type InternalIP in their shortest form."""
    node: str | None = None
    """status.nodeRef, by which the machine controller drains."""
    deleting: bool = False
    """It has a deletionTimestamp."""
    guarded: bool = False
    """It has the preDrain hook of the etcd operator."""
    authority: str | None = None
    """status.authoritativeAPI: MachineAPI, ClusterAPI or Migrating; None where machines are not migrated."""
    host: str | None = None
    """Name of its BareMetalHost by annotation."""
    trouble: str = ""
    """status.errorMessage, else errorReason."""

    @property
    def running(self) -> bool:
        """Does the etcd operator count on it as proof that Machines are in use?"""
        return self.phase == "Running"


@dataclass(frozen=True, slots=True)
class Host:
    """A BareMetalHost (metal3.io/v1alpha1)."""

    name: str
    state: str = ""
    """status.provisioning.state, as the baremetal operator spells it: `provisioned`, `powering off before delete`."""
    deleting: bool = False
    consumer: str | None = None
    """Name of the Machine in spec.consumerRef."""
    failed: bool = False
    """status.operationalStatus is `error`."""
    powered_on: bool = True
    """status.poweredOn, once there is a status."""
    trouble: str = ""
    """status.errorMessage."""


def describe_host(name: str) -> str:
    """Return how messages name a host, as `Resource.describe` does."""
    return f"baremetalhosts.metal3.io/{name} in namespace {NAMESPACE}"


def machine(raw: Raw) -> Machine:
    """Machine (machine.openshift.io/v1beta1)."""
    hooks = fields.items(raw, "spec.lifecycleHooks.preDrain")
    return Machine(
        name=fields.name(raw),
        arbiter=fields.mapping(raw, "metadata.labels").get(ROLE_LABEL) == "arbiter",
        phase=_word(raw, "status.phase"),
        addresses=fields.internal_addresses(raw),
        node=fields.text(raw, "status.nodeRef.name"),
        deleting=fields.text(raw, "metadata.deletionTimestamp") is not None,
        guarded=any((hook.get("name"), hook.get("owner")) == (HOOK, _HOOK_OWNER) for hook in hooks),
        authority=_word(raw, "status.authoritativeAPI") or None,
        host=_host_of(raw),
        trouble=_trouble(raw, "status.errorMessage") or _trouble(raw, "status.errorReason"),
    )


def host(raw: Raw) -> Host:
    """BareMetalHost (metal3.io/v1alpha1): most of it is an inventory of hardware, which is not kept."""
    powered_on = fields.at(raw, "status.poweredOn", bool, "a boolean")
    consumer = fields.text(raw, "spec.consumerRef.kind") == "Machine"
    return Host(
        name=fields.name(raw),
        state=_word(raw, "status.provisioning.state"),
        deleting=fields.text(raw, "metadata.deletionTimestamp") is not None,
        consumer=fields.text(raw, "spec.consumerRef.name") if consumer else None,
        failed=fields.text(raw, "status.operationalStatus") == "error",
        powered_on=powered_on is not False,
        trouble=_trouble(raw, "status.errorMessage"),
    )


def _host_of(raw: Raw) -> str | None:
    """Read the annotation, which is `namespace/name`; a host elsewhere is none that is read."""
    value = fields.mapping(raw, "metadata.annotations").get(HOST_ANNOTATION)
    if value is None:
        return None
    if not isinstance(value, str):
        raise fields.Malformed(f"metadata.annotations[{HOST_ANNOTATION}]", "a string", value)
    namespace, _, name = value.rpartition("/")
    return (name or None) if namespace in {"", NAMESPACE} else None


def _word(raw: Raw, path: str) -> str:
    return (fields.text(raw, path) or "")[:_LONGEST_WORD]


def _trouble(raw: Raw, path: str) -> str:
    return " ".join((fields.text(raw, path) or "").split())[:_LONGEST_TROUBLE]
