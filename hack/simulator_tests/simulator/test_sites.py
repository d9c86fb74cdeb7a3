"""The sites of stories: what is not there, what is set, and what was stored before there was an enum."""

from __future__ import annotations

import pytest

from topology_simulator import client, cluster, configured, follow, install, kinds, operands, probes, scenario

RAN = scenario.load("ran-du").shape()
OLD = scenario.load("old-sno").shape()
SRIOV, PROFILES, _ = kinds.OF_SITES
GONE = {
    "cloud-controller-manager", "cloud-credential", "cluster-autoscaler", "console", "control-plane-machine-set",
    "csi-snapshot-controller", "image-registry", "insights", "machine-api", "marketplace", "olm", "openshift-samples",
    "storage",
}  # fmt: skip


async def names(api, kind):
    return {one["metadata"]["name"] for one in await api.list(kind)}


async def test_a_radio_site_lacks_what_its_capabilities_would_bring(api):
    await install.install(api, RAN)
    lacking = {"openshift-console", "openshift-image-registry", "openshift-machine-api"}
    assert not lacking & await names(api, kinds.NAMESPACES)
    assert await names(api, kinds.CLUSTER_OPERATORS) == set(configured.OPERATORS) - GONE
    assert not {"console", "downloads", "monitoring-plugin", "image-registry"} & await names(api, kinds.DEPLOYMENTS)
    for kind in (one for group in install.OF_CAPABILITIES.values() for one in group):
        with pytest.raises(client.ApiError) as refused:
            await api.list(kind)
        assert refused.value.code == 404, f"{kind.plural} are served"
    capabilities = (await api.get(kinds.CLUSTER_VERSIONS, "version"))["status"]["capabilities"]
    assert capabilities["enabledCapabilities"] == ["Ingress", "NodeTuning", "OperatorLifecycleManager"]
    assert set(capabilities["knownCapabilities"]) == set(operands.CAPABILITIES)


async def test_a_radio_site_has_its_settings_and_no_alertmanager_after_the_change_either(api):
    await install.install(api, RAN)
    status = (await api.get(kinds.INFRASTRUCTURES, "cluster"))["status"]
    assert (status["cpuPartitioning"], status["controlPlaneTopology"]) == ("AllNodes", "SingleReplica")
    assert (await api.get(kinds.NETWORKS, "cluster"))["spec"]["disableNetworkDiagnostics"] is True
    sriov = await api.get(SRIOV, "default", "openshift-sriov-network-operator")
    assert sriov["spec"]["disableDrain"] is True
    assert await names(api, PROFILES) == {"openshift-node-performance-profile"}
    pool = await api.get(kinds.MACHINE_CONFIG_POOLS, "master")
    sources = [one["name"] for one in pool["spec"]["configuration"]["source"]]
    assert "50-performance-openshift-node-performance-profile" in sources
    assert pool["spec"]["configuration"]["name"] == cluster.rendered("master", "SingleReplica"), "what was there stays"
    assert await names(api, kinds.STATEFUL_SETS) == {"prometheus-k8s"}
    two = {"controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable"}
    await api.patch_status(kinds.INFRASTRUCTURES, "cluster", two)
    await follow.follow(api)
    assert await names(api, kinds.STATEFUL_SETS) == {"prometheus-k8s"}


async def test_an_ordinary_cluster_serves_none_of_what_a_site_brings(api):
    await install.install(api, cluster.Shape())
    for kind in kinds.OF_SITES:
        with pytest.raises(client.ApiError) as refused:
            await api.list(kind)
        assert refused.value.code == 404


async def test_an_old_site_keeps_an_empty_topology_under_the_enum_until_it_is_set_as_printed(api):
    await install.install(api, OLD)
    found = await api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"cloudConfig": {"name": "other"}}})
    assert [found["status"][one] for one in ("controlPlaneTopology", "infrastructureTopology")] == ["", ""]
    with pytest.raises(client.ApiError) as refused:
        await api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"controlPlaneTopology": "Unheard"})
    assert (refused.value.code, "Unsupported value" in refused.value.message) == (422, True)
    labels = (await api.get(kinds.NODES, "master-0"))["metadata"]["labels"]
    roles = {label.removeprefix("node-role.kubernetes.io/") for label in labels if label.startswith("node-role")}
    assert roles == {"master", "worker"}
    patch = '{"status":{"controlPlaneTopology":"SingleReplica"}}'
    await probes.run_command(api, f"oc patch infrastructure cluster --subresource status --type merge -p '{patch}'")
    status = (await api.get(kinds.INFRASTRUCTURES, "cluster"))["status"]
    assert status["controlPlaneTopology"] == "SingleReplica"
