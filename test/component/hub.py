"""A hub from which sites are installed: assisted installer, siteconfig, Cluster API, in definitions of our own.

They have the fields that docs/growing.md shows, with the names, required fields and sub-resources of the real ones:
openshift/assisted-service config/crd, stolostron/siteconfig config/crd, metal3-io/baremetal-operator config/base/crds
and openshift-assisted/cluster-api-provider-openshift-assisted controlplane/config/crd. What their controllers would do
after a command of that page is played by its test.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from test import polling
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import Mapping

INFRA_ENVS = kinds.Kind("agent-install.openshift.io", "infraenvs", "InfraEnv", namespaced=True, version="v1beta1")
AGENTS = kinds.Kind("agent-install.openshift.io", "agents", "Agent", namespaced=True, version="v1beta1")
CLUSTER_INSTANCES = kinds.Kind(
    "siteconfig.open-cluster-management.io", "clusterinstances", "ClusterInstance", namespaced=True, version="v1alpha1"
)
HOSTS = kinds.Kind("metal3.io", "baremetalhosts", "BareMetalHost", namespaced=True, version="v1alpha1")
CONTROL_PLANES = kinds.Kind(
    "controlplane.cluster.x-k8s.io",
    "openshiftassistedcontrolplanes",
    "OpenshiftAssistedControlPlane",
    namespaced=True,
    version="v1alpha3",
)
_TEXT: Mapping[str, Any] = {"type": "string"}
_FLAG: Mapping[str, Any] = {"type": "boolean"}
_COUNT: Mapping[str, Any] = {"type": "integer", "format": "int32"}
_SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def _fields(*required: str, **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, **({"required": [*required]} if required else {})}


def _definition(kind: kinds.Kind, spec: dict[str, Any], status: dict[str, Any], **subresources: Any) -> dict[str, Any]:
    schema = _fields(
        apiVersion=_TEXT, kind=_TEXT, metadata={"type": "object"}, spec=spec, status=status
    )  # metadata is the server's own
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, **subresources},
    }
    names = {"plural": kind.plural, "singular": kind.kind.lower(), "kind": kind.kind}
    whole = {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]}
    return kinds.DEFINITIONS.new(f"{kind.plural}.{kind.group}", spec=whole)


_REFERENCE = _fields(apiVersion=_TEXT, kind=_TEXT, namespace=_TEXT, name=_TEXT)
HOST_SPEC = _fields(
    "online",
    online=_FLAG,
    externallyProvisioned=_FLAG,
    automatedCleaningMode={"type": "string", "enum": ["metadata", "disabled"]},
    bootMACAddress={"type": "string", "pattern": "[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}"},
    bmc=_fields("address", "credentialsName", address=_TEXT, credentialsName=_TEXT),
    consumerRef=_REFERENCE,
)
DEFINITIONS = {
    INFRA_ENVS: _definition(INFRA_ENVS, _fields(clusterRef=_REFERENCE), _fields(isoDownloadURL=_TEXT)),
    AGENTS: _definition(
        AGENTS,
        _fields(
            "approved",
            "role",
            approved=_FLAG,
            role={"type": "string", "enum": ["auto-assign", "master", "arbiter", "worker", "bootstrap"]},
            hostname=_TEXT,
        ),
        _fields(),
    ),
    CLUSTER_INSTANCES: _definition(
        CLUSTER_INSTANCES,
        _fields(
            "clusterName",
            "nodes",
            clusterName=_TEXT,
            clusterType={
                "type": "string",
                "enum": ["SNO", "HighlyAvailable", "HostedControlPlane", "HighlyAvailableArbiter"],
            },
            nodes={"type": "array", "items": _fields("hostName", hostName=_TEXT, role=_TEXT)},
        ),
        _fields(),
    ),
    HOSTS: _definition(HOSTS, HOST_SPEC, _fields()),
    CONTROL_PLANES: _definition(
        CONTROL_PLANES,
        _fields("distributionVersion", distributionVersion=_TEXT, replicas=_COUNT),
        _fields(replicas=_COUNT, selector=_TEXT),
        scale=_SCALE,
    ),
}


async def define(api: clients.Client, *served: kinds.Kind, namespace: str) -> None:
    """Let a server serve these kinds of a hub, and make the namespace of a site."""
    for kind in served:
        await api.create(kinds.DEFINITIONS, DEFINITIONS[kind])
    await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(namespace))
    for kind in served:
        await polling.until(f"{kind.plural} are served", functools.partial(_is_served, api, kind), 20.0)


async def _is_served(api: clients.Client, kind: kinds.Kind) -> bool:
    try:
        await api.list(kind)
    except clients.ApiError:
        return False
    return True
