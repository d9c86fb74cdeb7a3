"""What a person may read with OpenShift's `cluster-reader`, and with `topology-requester` alone, on a real RBAC.

Both get an answer: what may not be read is taken from what the operator has recorded, and what is recorded nowhere is
"Cannot tell", never "Blocked".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling
from test.component import backend, plugin
from test.component import world as worlds
from topology_controller import bindata
from topology_controller.plugin import cluster as reading
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import real
    from test.component.world import World

_RBAC = "rbac.authorization.k8s.io"
_ROLES = kinds.Kind(_RBAC, "clusterroles", "ClusterRole")
_BINDINGS = kinds.Kind(_RBAC, "clusterrolebindings", "ClusterRoleBinding")
_CLUSTER_READER = {
    "": ["configmaps", "nodes", "pods"],
    "apps": ["deployments", "statefulsets"],
    "policy": ["poddisruptionbudgets"],
    "coordination.k8s.io": ["leases"],
    "apiextensions.k8s.io": ["customresourcedefinitions"],
    "config.openshift.io": ["infrastructures", "clusteroperators", "clusterversions", "featuregates", "schedulers"],
    "machineconfiguration.openshift.io": ["machineconfigpools", "controllerconfigs"],
}
"""Of the kinds that this program reads, those that the role has in OpenShift 4 (`oc describe clusterrole`)."""


@pytest.fixture
async def there(real_server: real.Session, tmp_path: pathlib.Path) -> AsyncIterator[World]:
    async with worlds.opened(backend.Place(real_server), tmp_path) as made:
        yield made


async def _given(world: World, name: str, rules: list[dict[str, Any]]) -> None:
    await world.api.create(_ROLES, _ROLES.new(name, rules=rules))
    subject = {"apiGroup": _RBAC, "kind": "User", "name": name}
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
    await world.api.create(_BINDINGS, _BINDINGS.new(name, subjects=[subject], roleRef=reference))


async def _answer(command: plugin.Plugin, *words: str) -> tuple[int, dict[str, Any]]:
    """As `Plugin.json`, where a line says that the operator's configuration may not be read."""
    ended = await command.run(*words, "-o", "json")
    assert "judged by the defaults" in ended.complaint or not ended.complaint
    return ended.code, ended.answer


async def _taken(world: World, name: str) -> None:
    for kind in (_BINDINGS, _ROLES):
        if await world.api.find(kind, name) is not None:
            await world.api.delete(kind, name)


async def test_what_cluster_reader_lacks_is_what_the_page_names(
    there: World, real_server: real.Session, tmp_path: pathlib.Path
) -> None:
    command, name = plugin.Plugin(tmp_path, real_server.server.kubeconfig()), "reader-of-clusters"
    verbs = ["get", "list", "watch"]
    await _given(
        there,
        name,
        [{"apiGroups": [group], "resources": kind, "verbs": verbs} for group, kind in _CLUSTER_READER.items()],
    )
    try:
        ways: dict[str, Any] = {}

        async def may_read() -> bool:
            code, answer = await command.json("plan", worlds.DESIRED, "--as", name) if ways else (None, {})
            ways.update(answer or {"tried": True})
            return code is not None and not any("nodes" in (fact["right"] or "") for fact in answer["unread"])

        await polling.until("the role counts", may_read, 60.0)
        lacking = [fact["what"] for fact in ways["unread"] if fact["right"]]
        assert lacking
        assert [what for what in lacking if not any(kind in what for kind in reading.NOT_OF_READER)] == []
        assert ways["verdict"] == "CannotTell", "no operator has recorded anything"
        ended = await command.run("plan", worlds.DESIRED, "--as", name)
        assert ended.code == plugin.FAILED
        assert "add-cluster-role-to-user cluster-reader" not in ended.printed, "the role that one has is no advice"
        assert (await command.run("audit", "--as", name)).code == plugin.BLOCKED, "three nodes that are one yet"
    finally:
        await _taken(there, name)


async def test_who_may_only_request_plans_and_requests_by_what_the_operator_has_recorded(
    there: World, real_server: real.Session, tmp_path: pathlib.Path
) -> None:
    command, name = plugin.Plugin(tmp_path, real_server.server.kubeconfig()), "requester-of-topologies"
    manifest = bindata.root() / "manifests" / "0000_30_topology-operator_08_admission_roles.yaml"
    role = next(
        one for one in yaml.safe_load_all(manifest.read_text()) if one["metadata"]["name"] == "topology-requester"
    )
    await _given(there, name, role["rules"])
    try:

        async def answered() -> bool:
            ended = await command.run("status", "--as", name)
            return ended.code == plugin.DONE

        await polling.until("the role counts", answered, 60.0)
        assert (await _answer(command, "plan", worlds.DESIRED, "--as", name))[1]["verdict"] == "CannotTell"
        refused = await command.run("set", worlds.DESIRED, "--confirm", "--as", name)
        assert refused.code == plugin.FAILED
        assert "Cannot tell" in refused.printed
        assert "oc adm policy add-cluster-role-to-user cluster-reader USER" in refused.printed
        audited = await command.run("audit", "--as", name)
        assert (audited.code, "Cannot tell whether" in audited.printed) == (plugin.FAILED, True)

        await there.idle_operator()

        async def recorded() -> bool:
            code, answer = await _answer(command, "plan", worlds.DESIRED, "--as", name)
            return (code, answer["verdict"], answer["recorded"] is not None) == (plugin.DONE, "Possible", True)

        await polling.until("the operator has evaluated it", recorded, 60.0)
        text = (await command.run("plan", worlds.DESIRED, "--as", name)).printed
        assert "You may not read all that this depends on" in " ".join(text.split())
        code, answer = await _answer(command, "set", worlds.DESIRED, "--confirm", "--as", name)
        assert (code, answer["result"]) == (plugin.DONE, "Written")
    finally:
        await _taken(there, name)
