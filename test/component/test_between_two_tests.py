"""Tests share one real API server: whatever one has left behind, the next one finds an empty cluster that works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test import polling
from test.component import cluster, definitions, real
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import configured, install, kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LEFT = (kinds.NODES, kinds.INFRASTRUCTURES, kinds.CLUSTER_OPERATORS, kinds.CONFIG_MAPS, kinds.LEASES, cluster.EVENTS)


@pytest.fixture
async def api(real_server: real.Session) -> AsyncIterator[clients.Client]:
    await real_server.wipe()
    async with clients.Client(real_server.access(), "administrator") as made:
        await install.populate(made, simulated.Shape())
        yield made


async def left(api: clients.Client) -> list[str]:
    """Name what is there, but for what belongs to the server itself."""
    found = [(kind.plural, one["metadata"]) for kind in LEFT for one in await api.list(kind)]
    return [f"{plural}/{meta['name']}" for plural, meta in found if not meta.get("namespace", "").startswith("kube-")]


async def test_objects_are_gone_also_those_that_a_finalizer_holds(
    real_server: real.Session, api: clients.Client
) -> None:
    assert len(await left(api)) > len(configured.OPERATORS)
    await api.patch(kinds.NODES, "master-0", {"metadata": {"finalizers": ["example.com/hold"]}})
    await api.delete(kinds.NODES, "master-0")
    assert "nodes/master-0" in await left(api)
    await real_server.wipe()
    assert await left(api) == []


async def test_rules_that_a_test_has_brought_along_are_gone(real_server: real.Session, api: clients.Client) -> None:
    """All manifests applied, as an administrator does it, guard the topology against everybody after it."""
    what = {"apiGroups": ["config.openshift.io"], "resources": ["infrastructures"]}
    roles = kinds.Kind("rbac.authorization.k8s.io", "clusterroles", "ClusterRole")
    policy = {
        "matchConstraints": {"resourceRules": [{**what, "apiVersions": ["*"], "operations": ["UPDATE"]}]},
        "validations": [{"expression": "false", "message": "never"}],
    }
    await api.create(roles, roles.new("left-behind", rules=[{**what, "verbs": ["patch"]}]))
    await api.create(real.POLICIES, real.POLICIES.new("left-behind", spec=policy))
    binding = {"policyName": "left-behind", "validationActions": ["Deny"]}
    await api.create(real.POLICY_BINDINGS, real.POLICY_BINDINGS.new("left-behind", spec=binding))
    labelled = {"metadata": {"labels": {"seen": "yes"}}}

    async def denied() -> bool:
        try:
            await api.patch(kinds.INFRASTRUCTURES, "cluster", labelled)
        except clients.ApiError as error:
            return "never" in str(error)
        return False

    await polling.until("the policy denies", denied, 30.0)
    kept = len(await api.list(roles))
    await real_server.wipe()
    assert len(await api.list(roles)) == kept - 1
    for kind in (real.POLICIES, real.POLICY_BINDINGS):
        assert await api.find(kind, "left-behind") is None
    await install.populate(api, simulated.Shape())
    await api.patch(kinds.INFRASTRUCTURES, "cluster", labelled)


async def test_an_altered_definition_is_put_back_and_in_force(real_server: real.Session, api: clients.Client) -> None:
    await definitions.change(api, kinds.SCHEDULERS, definitions.anything)
    wrong = {"spec": {"mastersSchedulable": "yes"}}
    await api.patch(kinds.SCHEDULERS, "cluster", wrong)
    await real_server.wipe()
    await install.populate(api, simulated.Shape())
    with pytest.raises(clients.ApiError, match=r"spec\.mastersSchedulable") as refused:
        await api.patch(kinds.SCHEDULERS, "cluster", wrong)
    assert refused.value.code == 422


async def test_a_server_that_was_left_dead_is_started_again(real_server: real.Session, api: clients.Client) -> None:
    await real_server.run(real_server.server.stop_api())
    with pytest.raises(clients.UnreachableError):
        await api.list(kinds.NODES)
    await real_server.wipe()
    assert await left(api) == []
