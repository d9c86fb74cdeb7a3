"""An installation: whole, refused on top of another one, and finished when it was interrupted."""

from __future__ import annotations

import json

import kubernetes_validate
import pytest

from topology_simulator import client, cluster, install, kinds


async def test_everything_is_stored_with_its_status(api):
    await install.install(api, cluster.Shape())
    for wanted in cluster.objects(cluster.Shape()):
        kind, meta = kinds.of(wanted), wanted["metadata"]
        found = await api.get(kind, meta["name"], meta.get("namespace", ""))
        if "status" in wanted:
            assert set(found["status"]) >= {key for key, value in wanted["status"].items() if value is not None}, meta


async def test_a_second_installation_is_refused(api):
    await install.install(api, cluster.Shape())
    with pytest.raises(install.InstallError, match="Infrastructure cluster already"):
        await install.install(api, cluster.Shape())


async def test_reuse_adds_what_is_missing_and_changes_nothing_else(api, served):
    await install.install(api, cluster.Shape())
    await api.delete(kinds.CLUSTER_OPERATORS, "console")
    await api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"controlPlaneTopology": "HighlyAvailable"})
    assert await install.install(api, cluster.Shape(), reuse=True) == 1
    found = await api.get(kinds.INFRASTRUCTURES, "cluster")
    assert found["status"]["controlPlaneTopology"] == "HighlyAvailable"
    revision = served.storage.revision
    assert await install.install(api, cluster.Shape(), reuse=True) == 0
    assert served.storage.revision == revision


async def test_reuse_writes_a_status_that_an_interruption_left_out(api):
    for crd in install.definitions():
        await api.create(kinds.DEFINITIONS, crd)
    half = next(one for one in cluster.objects(cluster.Shape()) if one["kind"] == "Etcd")
    await api.create(kinds.ETCDS, half)
    assert "status" not in await api.get(kinds.ETCDS, "cluster")
    await install.install(api, cluster.Shape(), reuse=True)
    assert (await api.get(kinds.ETCDS, "cluster"))["status"]["conditions"]


async def test_the_first_node_is_schedulable_and_of_real_size(api):
    await install.install(api, cluster.Shape())
    node = await api.get(kinds.NODES, "master-0")
    assert not node["spec"].get("taints")
    assert 8 << 10 < len(json.dumps(node)) < 16 << 10


async def test_a_hosted_cluster_has_no_control_plane_of_its_own(api):
    await install.install(api, cluster.Shape(hosted=True))
    found = await api.get(kinds.INFRASTRUCTURES, "cluster")
    assert found["status"]["controlPlaneTopology"] == "External"
    assert await api.find(kinds.ETCDS, "cluster") is None
    assert [one["metadata"]["name"] for one in await api.list(kinds.NODES)] == ["worker-0", "worker-1"]


async def test_an_operators_table_is_the_one_that_people_know(api):
    await install.install(api, cluster.Shape())
    table = await api.table(kinds.CLUSTER_OPERATORS, "etcd")
    names = [one["name"].upper() for one in table["columnDefinitions"]]
    assert names == ["NAME", "VERSION", "AVAILABLE", "PROGRESSING", "DEGRADED", "SINCE"]
    assert table["rows"][0]["cells"] == ["etcd", cluster.VERSION, "True", "False", "False", "40d"]


@pytest.mark.parametrize("crd", install.definitions(), ids=lambda crd: crd["metadata"]["name"])
def test_a_definition_is_valid(crd):
    kubernetes_validate.validate(crd, "1.34", strict=True)


async def test_a_field_that_is_not_in_the_schema_is_pruned(api):
    await install.install(api, cluster.Shape())
    changed = await api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"nonsense": 1}})
    assert "nonsense" not in changed["spec"]


async def test_a_wrong_type_is_refused(api):
    await install.install(api, cluster.Shape())
    with pytest.raises(client.ApiError, match="mastersSchedulable") as refused:
        await api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": "yes"}})
    assert refused.value.code == 422
