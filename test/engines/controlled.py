"""A kube-apiserver with a real config-policy-controller beside it, as a cluster's administrator."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from topology_simulator import client, install, kinds, kubeconfig
from topology_simulator.envtest import server
from topology_simulator.fleet import engines, wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

Raw = dict[str, Any]
_AS_TEXT = "policy.open-cluster-management.io/disable-templates"


@contextlib.asynccontextmanager
async def opened(crds: Iterable[Raw]) -> AsyncIterator[client.Client]:
    """Open both, with these definitions. Raises binaries.MissingError where a program is not here."""
    async with server.RealServer() as api_server, engines.Engines() as running:
        access = kubeconfig.access(api_server.kubeconfig())
        async with client.Client(access, "test-engines", strict=True) as api:
            await wire.define(api, engines.definitions(engines.SPOKE_DEFINITIONS))
            await install.define(api, list(crds))
            await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(engines.POLICY_NAMESPACE))
            await running.policies("spoke", running.kubeconfig("policy", api_server.kubeconfig()))
            yield api


async def give(api: client.Client, name: str, spec: Raw, *, templates: bool = True) -> None:
    """Give the cluster a policy, as governance-policy-framework-addon would; braces in it are `templates`, or text."""
    kind = wire.CONFIGURATION_POLICIES
    policy = kind.new(name, engines.POLICY_NAMESPACE, spec=spec)
    if not templates:
        policy["metadata"]["annotations"] = {_AS_TEXT: "true"}
    await api.create(kind, policy)


async def status(api: client.Client, name: str) -> Raw:
    """What the controller says of a policy."""
    policy = await api.get(wire.CONFIGURATION_POLICIES, name, engines.POLICY_NAMESPACE)
    found: Raw = policy.get("status") or {}
    return found
