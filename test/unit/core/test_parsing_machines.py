"""Machines and hosts as facts: what is kept of them, and that whatever else stands there has a name."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_controller.observe import facts, fields, machines, parse

HOOK = {"name": "EtcdQuorumOperator", "owner": "clusteroperator/etcd"}
ROLE = "machine.openshift.io/cluster-api-machine-role"


def raw_machine(**status: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "site-master-0",
            "labels": {ROLE: "master"},
            "annotations": {"metal3.io/BareMetalHost": "openshift-machine-api/host-0"},
        },
        "spec": {"lifecycleHooks": {"preDrain": [{"name": "other", "owner": "x"}, HOOK]}},
        "status": {
            "phase": "Running",
            "nodeRef": {"kind": "Node", "name": "master-0", "uid": "u"},
            "addresses": [
                {"type": "InternalIP", "address": "192.0.2.10"},
                {"type": "InternalIP", "address": "2001:DB8:0::1"},
                {"type": "Hostname", "address": "master-0"},
                {"type": "ExternalIP", "address": "198.51.100.1"},
            ],
            "authoritativeAPI": "MachineAPI",
            **status,
        },
    }


def raw_host() -> dict[str, Any]:
    return {
        "metadata": {"name": "host-0"},
        "spec": {"consumerRef": {"kind": "Machine", "name": "site-master-0", "namespace": "openshift-machine-api"}},
        "status": {
            "provisioning": {"state": "provisioned", "ID": "i", "image": {"url": "u"}},
            "operationalStatus": "OK",
            "errorMessage": "",
            "poweredOn": True,
            "hardware": {"nics": [{"ip": "192.0.2.10"}] * 100},
        },
    }


def test_a_machine_as_the_etcd_operator_looks_at_it() -> None:
    assert machines.machine(raw_machine()) == machines.Machine(
        name="site-master-0",
        phase="Running",
        addresses=("192.0.2.10", "2001:db8::1"),
        node="master-0",
        guarded=True,
        authority="MachineAPI",
        host="host-0",
    )


def test_what_a_machine_need_not_have() -> None:
    assert machines.machine({"metadata": {"name": "m"}}) == machines.Machine(name="m")
    raw = raw_machine(errorMessage=" no\n host  left " + "x" * 1000, phase="Failed", authoritativeAPI="Migrating")
    raw["metadata"] |= {"labels": {ROLE: "arbiter"}, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    found = machines.machine(raw)
    assert (found.arbiter, found.deleting, found.phase, found.authority) == (True, True, "Failed", "Migrating")
    assert found.trouble.startswith("no host left x")
    assert len(found.trouble) == 256
    assert machines.machine(raw_machine(errorReason="InsufficientResources")).trouble == "InsufficientResources"


@pytest.mark.parametrize(
    "hooks",
    [[], [{"name": "EtcdQuorumOperator", "owner": "another"}], [{"name": "x", "owner": "clusteroperator/etcd"}]],
)
def test_only_the_hook_of_that_operator_is_its_hook(hooks: Any) -> None:
    raw = raw_machine()
    raw["spec"]["lifecycleHooks"]["preDrain"] = hooks
    raw["spec"]["lifecycleHooks"]["preTerminate"] = [HOOK]
    assert machines.machine(raw).guarded is False


def test_a_host_is_a_few_words_of_an_inventory() -> None:
    assert machines.host(raw_host()) == machines.Host(name="host-0", state="provisioned", consumer="site-master-0")
    assert machines.host({"metadata": {"name": "h"}}) == machines.Host(name="h")
    raw = raw_host()
    raw["status"] |= {"operationalStatus": "error", "errorMessage": "no power", "poweredOn": False}
    raw["spec"]["consumerRef"]["kind"] = "Metal3Machine"
    found = machines.host(raw)
    assert (found.failed, found.trouble, found.powered_on, found.consumer) == (True, "no power", False, None)


MALFORMED = [
    ("machine", {"status": {"addresses": "x"}}, "status.addresses should be a list"),
    ("machine", {"status": {"addresses": ["x"]}}, "status.addresses[] should be an object"),
    ("machine", {"status": "Running"}, "status should be an object"),
    ("machine", {"status": {"phase": 7}}, "status.phase should be a string"),
    ("machine", {"status": {"nodeRef": []}}, "status.nodeRef should be an object"),
    ("machine", {"spec": {"lifecycleHooks": {"preDrain": {}}}}, "preDrain should be a list"),
    ("machine", {"metadata": {"name": "m", "annotations": {"metal3.io/BareMetalHost": 7}}}, "should be a string"),
    ("machine", {"metadata": {"name": "M m"}}, "metadata.name should be a DNS subdomain"),
    ("host", {"status": {"poweredOn": "yes"}}, "status.poweredOn should be a boolean"),
    ("host", {"status": {"provisioning": {"state": {}}}}, "status.provisioning.state should be a string"),
    ("host", {"spec": {"consumerRef": "m"}}, "spec.consumerRef should be an object"),
]


@pytest.mark.parametrize(("reader", "raw", "what"), MALFORMED)
def test_what_its_api_does_not_promise_is_malformed_and_says_where(reader: str, raw: Any, what: str) -> None:
    with pytest.raises(fields.Malformed) as raised:
        getattr(machines, reader)({"metadata": {"name": "m"}, **raw})
    assert what in str(raised.value)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["status", "spec", "metadata", "addresses", "phase", "nodeRef", "name", "provisioning"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON, JSON, JSON)
def test_whatever_stands_there_is_a_fact_or_malformed(metadata: Any, spec: Any, status: Any) -> None:
    for reader in (machines.machine, machines.host):
        try:
            found = reader({"metadata": metadata, "spec": spec, "status": status})
        except fields.Malformed:
            continue
        assert hash(found) is not None
        assert sum(sys.getsizeof(getattr(found, field)) for field in found.__slots__) < 8000


def test_the_number_of_members_that_the_etcd_operator_wants() -> None:
    def wanted(spec: Any) -> int | None:
        found = parse.etcd({"spec": spec, "status": {}})
        assert isinstance(found, facts.Etcd)
        return found.desired_replicas

    assert wanted({"observedConfig": {"controlPlane": {"replicas": 1}}}) == 1
    assert wanted({}) is None
    assert wanted(None) is None
    assert wanted({"observedConfig": {"controlPlane": {"replicas": "1"}}}) is None, "the conditions are still read"
    merged = {"observedConfig": {"controlPlane": {"replicas": 1}}}
    merged["unsupportedConfigOverrides"] = {"controlPlane": {"replicas": 3}}
    assert wanted(merged) == 3, "as ReadDesiredControlPlaneReplicasCount merges them"
