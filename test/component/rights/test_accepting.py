"""The permission to accept a check: Role topology-check-acceptor, besides reading, is what it takes, and it is enough.

On a real API server with RBAC. The operator runs as its ServiceAccount, so what it takes to hear of it is shown too.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling
from test.component import cluster, plugin
from test.component import world as worlds
from test.component.rights import grants
from topology_api import vocabulary
from topology_controller import bindata
from topology_simulator import client as clients
from topology_simulator import cluster as simulated
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component.rights.restricted_world import RestrictedWorld

_USER = "alice"
_CHECK = "RouterReplicas"
_READING = "topology-reading"
_SUBJECTS = [{"apiGroup": grants.RBAC, "kind": "User", "name": _USER}]
_ROLES = kinds.Kind(grants.RBAC, "clusterroles", "ClusterRole")
_BINDINGS = kinds.Kind(grants.RBAC, "clusterrolebindings", "ClusterRoleBinding")
_GIVEN = kinds.Kind(grants.RBAC, "rolebindings", "RoleBinding", namespaced=True)
_READS = [
    {
        "apiGroups": ["config.openshift.io"],
        "resources": ["infrastructures", "clusteroperators"],
        "verbs": ["get", "list", "watch"],
    }
]


def _binding(kind: kinds.Kind, name: str, role: str, namespace: str = "") -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": meta,
        "roleRef": {"apiGroup": grants.RBAC, "kind": "Role" if namespace else "ClusterRole", "name": role},
        "subjects": _SUBJECTS,
    }


@pytest.fixture
def impatient(tmp_path: pathlib.Path) -> pathlib.Path:
    """The definition with a deadline of one minute, in a folder of its own."""
    definition = yaml.safe_load((bindata.root() / "transitions" / f"{worlds.NAME}.yaml").read_text())
    definition["convergence"] |= {"deadlineMinutes": 1, "stuckMinutes": 0}
    del definition["convergence"]["machineMinutes"]
    folder = tmp_path / "transitions"
    folder.mkdir()
    (folder / f"{worlds.NAME}.yaml").write_text(yaml.safe_dump(definition))
    return folder


@pytest.fixture
async def reader(staged: RestrictedWorld) -> AsyncIterator[clients.Client]:
    """Somebody who may read what tells where the transition is, and nothing else."""
    api = staged.api
    made = {"apiVersion": _ROLES.api_version, "kind": _ROLES.kind, "metadata": {"name": _READING}, "rules": _READS}
    await api.create(_ROLES, made)
    await api.create(_BINDINGS, _binding(_BINDINGS, _READING, _READING))
    yield api
    # The rest is gone before the next test.
    with contextlib.suppress(clients.ApiError):
        await api.delete(_GIVEN, "accepting", cluster.OWN_NAMESPACE)


async def test_without_the_role_it_is_refused_by_its_name_and_with_it_nothing_else_is_needed(
    staged: RestrictedWorld, reader: clients.Client, impatient: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    command = plugin.Plugin(tmp_path, staged.server.kubeconfig())
    asking = ("accept", "--check", _CHECK, "--yes", "--as", _USER)
    # As a cluster that began with one node does: nobody raises that.
    one = {"spec": {"replicas": 1}}
    await staged.api.patch(kinds.INGRESS_CONTROLLERS, "default", one, simulated.INGRESS_NAMESPACE)
    await staged.operator("operator-a", "--transitions-dir", str(impatient))
    await staged.ask_for()
    await staged.until_check(_CHECK, "Unmet", stage="Convergence")
    # The deadline passes while the operator is away.
    assert await staged.operators[-1].stop() == 0
    begun = (dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    moved = {"admittedTime": begun, "phaseTransitionTime": begun}
    await staged.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": moved})
    await staged.operator("operator-b", "--transitions-dir", str(impatient))
    await staged.until_condition("Degraded", "True", "TransitionStuck", seconds=20.0)

    refused = await command.run(*asking)
    assert refused.code == plugin.FAILED, refused
    reason = refused.complaint.splitlines()[-1]
    assert "alice needs permission to get configmaps/topology-accepted-checks" in reason
    assert "Role topology-check-acceptor grants it: oc -n openshift-topology-operator create rolebinding" in reason
    assert "accepted" not in await staged.record()

    given = _binding(_GIVEN, "accepting", vocabulary.CHECK_ACCEPTOR, cluster.OWN_NAMESPACE)
    await reader.create(_GIVEN, given)

    async def allowed() -> plugin.Ended | None:
        ended = await command.run(*asking)
        return ended if ended.code == plugin.DONE else None

    ended = await polling.until("the role counts", allowed, 30.0)
    assert ended is not None
    assert ended.printed.startswith(f"{_CHECK} was accepted at 20")
    await staged.completed_once()
    (kept,) = (await staged.record())["accepted"]
    assert kept["name"] == _CHECK
    said = await staged.until_condition("Progressing", "False", "TransitionCompleted")
    assert f" is completed, accepted without: {_CHECK}. " in said["message"]
    assert not staged.refused()
