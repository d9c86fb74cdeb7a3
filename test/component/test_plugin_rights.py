"""What a person may read with OpenShift's `cluster-reader`, and with `topology-requester` alone, on a real RBAC.

Both get an answer: what may not be read is taken from what the operator has recorded, and what is recorded nowhere is
"Cannot tell", never "Blocked". With what the operator adds to `cluster-reader` nothing is left that may not be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

import operand_rights
from test import polling
from test.component import backend, cluster, controllers, plugin
from test.component import world as worlds
from test.component.rights import restricted_world
from topology_controller import bindata
from topology_controller.plugin import cluster as reading
from topology_simulator import kinds, machine_api

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
    "machine.openshift.io": ["machines"],
}
"""Of the kinds that this program reads, those that the role has in OpenShift 4 (`oc describe clusterrole`)."""


_RULES = [
    {"apiGroups": [group], "resources": kind, "verbs": ["get", "list", "watch"]}
    for group, kind in _CLUSTER_READER.items()
]


@pytest.fixture
async def there(real_server: real.Session, tmp_path: pathlib.Path) -> AsyncIterator[World]:
    async with worlds.opened(backend.Place(real_server), tmp_path) as made:
        yield made


async def _given(world: World, name: str, rules: list[dict[str, Any]], **more: Any) -> None:
    await world.api.create(_ROLES, _ROLES.new(name, rules=rules, **more))
    subject = {"apiGroup": _RBAC, "kind": "User", "name": name}
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
    await world.api.create(_BINDINGS, _BINDINGS.new(name, subjects=[subject], roleRef=reference))


async def _taken(world: World, name: str) -> None:
    for kind in (_BINDINGS, _ROLES):
        if await world.api.find(kind, name) is not None:
            await world.api.delete(kind, name)


async def test_cluster_reader_with_what_the_operator_adds_reads_everything_and_uses_all_of_it(
    there: World, real_server: real.Session, tmp_path: pathlib.Path
) -> None:
    """The role is added as in a cluster: by the controller of kube-controller-manager, for its label."""
    command, name = plugin.Plugin(tmp_path, real_server.server.kubeconfig()), "reader-of-everything"
    base = f"base-of-{reading.READER}"
    manifests = bindata.root() / "manifests" / operand_rights.FILE
    ours = next(
        one for one in yaml.safe_load_all(manifests.read_text()) if one["metadata"]["name"] == reading.ADDED_TO_READER
    )
    chosen = yaml.safe_load(bindata.root().joinpath("readers", "baremetalhosts.yaml").read_text())
    label = {operand_rights.AGGREGATED: "true"}
    log = real_server.server.audit()
    try:
        if await there.api.find(_ROLES, reading.ADDED_TO_READER) is None:
            await there.api.create(_ROLES, ours)
        role = _ROLES.new(base, rules=_RULES)
        role["metadata"]["labels"] = label
        await there.api.create(_ROLES, role)
        await _given(there, name, [], aggregationRule={"clusterRoleSelectors": [{"matchLabels": label}]})
        async with (
            controllers.running(real_server, controllers.AGGREGATION),
            restricted_world.lifecycle_agent(there.api),
        ):

            async def may_read_all() -> bool:
                ended = await command.run("plan", worlds.DESIRED, "--as", name, "-o", "json")
                return ended.code == plugin.DONE and ended.answer["unread"] == []

            await polling.until("the role is added and counts", may_read_all, 60.0)
            await cluster.set_ready(there.api, "master-2", ready=False)
            for obj in machine_api.installed("master-0", bare_metal=True):
                kind = kinds.MACHINES if obj["kind"] == "Machine" else kinds.BARE_METAL_HOSTS
                await there.api.create(kind, obj)
                await there.api.patch_status(kind, obj["metadata"]["name"], obj["status"], machine_api.NAMESPACE)
            await there.idle_operator()
            await there.ask_for()
            await there.until_phase("Pending")
            unread = (await command.json("status", "--as", name))[1]["unread"]
            assert [reading.added_by_choice(fact["right"]) for fact in unread] == [True], "hosts are added by choice"
            await there.api.create(_ROLES, chosen)

            async def may_read_hosts() -> bool:
                return not (await command.json("status", "--as", name))[1]["unread"]

            await polling.until("the chosen role is added and counts", may_read_hosts, 60.0)
            log.skip()
            assert await may_read_hosts()
            assert (await command.json("plan", worlds.DESIRED, "--as", name))[1]["unread"] == []
            asked: set[tuple[str, str, str, str]] = set()
            wanted = {
                (verb, group, resource, one)
                for rule in (*ours["rules"], *chosen["rules"])
                for group in rule["apiGroups"]
                for resource in rule["resources"]
                for one in rule.get("resourceNames", [""])
                for verb in rule["verbs"]
            }

            async def all_is_used() -> bool:
                own = [event for event in log.read() if event.agent.startswith(plugin.PROGRAM)]
                assert not [event for event in own if event.code == 403 and event.resource != "clusterroles"]
                asked.update((event.verb, event.group, event.resource, event.name) for event in own)
                return wanted <= asked

            async with command.running("status", "--watch", "--as", name) as watching:
                await polling.until("every right is used", all_is_used, 60.0)
                watching.terminate()
                await watching.wait()
    finally:
        await _taken(there, name)
        await there.api.delete(_ROLES, base)
        if await there.api.find(_ROLES, reading.HOST_READER) is not None:
            await there.api.delete(_ROLES, reading.HOST_READER)
