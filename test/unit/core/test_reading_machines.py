"""Machines and hosts: what is kept of them as facts, and when they are read.

Not a request more where there are none; live, right before the change, where there is one.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_controller.kube import errors
from topology_controller.observe import facts, fields, machines, parse

from . import worlds
from .clusters import Cluster, running

HOOK = {"name": "EtcdQuorumOperator", "owner": "clusteroperator/etcd"}
ROLE = "machine.openshift.io/cluster-api-machine-role"
pytestmark = pytest.mark.looptime


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


MALFORMED = [
    ("machine", {"status": {"addresses": "x"}}, "status.addresses should be a list"),
    ("machine", {"status": {"phase": 7}}, "status.phase should be a string"),
    ("machine", {"metadata": {"name": "M m"}}, "metadata.name should be a DNS subdomain"),
    ("host", {"status": {"poweredOn": "yes"}}, "status.poweredOn should be a boolean"),
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


NAMESPACE = "openshift-machine-api"
UNDER = {"machines", "baremetalhosts"}


def object_of(index: int, **more: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "labels": {"machine.openshift.io/cluster-api-machine-role": "master"},
            "annotations": {"metal3.io/BareMetalHost": f"{NAMESPACE}/host-{index}"},
            **more,
        },
        "spec": {"lifecycleHooks": {"preDrain": [{"name": "EtcdQuorumOperator", "owner": "clusteroperator/etcd"}]}},
        "status": {
            "phase": "Running",
            "nodeRef": {"name": worlds.NAMES[index]},
            "addresses": [{"type": "InternalIP", "address": worlds.ADDRESSES[index]}],
        },
    }


def host_in(state: str) -> dict[str, Any]:
    return {"status": {"provisioning": {"state": state}}}


def with_machines(cluster: Cluster) -> Cluster:
    for index in range(3):
        cluster.put(("machines", NAMESPACE, f"machine-{index}"), object_of(index))
        cluster.put(("baremetalhosts", NAMESPACE, f"host-{index}"), host_in("provisioned"))
    return cluster


def reads_of_the_change(cluster: Cluster) -> list[str]:
    """What was read between the record of the attempt and the change of the topology."""
    asked = cluster.asked
    writes = [place for place, entry in enumerate(asked) if entry == ("write", "infrastructures/cluster")]
    return [what for verb, what in asked[writes[-2] : writes[-1]] if verb in {"get", "list"}]


def check(cluster: Cluster, name: str = "ControlPlaneMachines") -> dict[str, Any]:
    return next(one for one in cluster.record["checks"] if one["name"] == name)


async def test_without_machines_the_change_costs_no_request_more() -> None:
    cluster = Cluster()
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(1)
        assert cluster.topology == "HighlyAvailable"
        assert cluster.watched & UNDER == {"machines"}
    read = reads_of_the_change(cluster)
    assert not UNDER.intersection(read)
    assert len(read) == 13, "the twelve, and Infrastructure"


async def test_with_machines_on_hosts_both_are_read_live() -> None:
    cluster = with_machines(Cluster())
    async with running(cluster):
        await asyncio.sleep(1)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(1)
        assert cluster.topology == "HighlyAvailable"
        assert cluster.watched >= UNDER
        read = reads_of_the_change(cluster)
        assert sorted(UNDER.intersection(read)) == sorted(UNDER)
        assert len(read) == 13 + 2
        cluster.follow()
        await asyncio.sleep(70)
        assert cluster.phase == "Completed"
        await asyncio.sleep(60)
        assert not cluster.watched & UNDER, "what follows from a source ends with it"


async def test_a_right_that_lacks_holds_and_heals_without_a_restart() -> None:
    cluster, refusing = Cluster(), [True]
    listing = cluster.list

    async def refused(kind: Any, **options: Any) -> Any:
        if kind.plural == "machines" and refusing:
            raise cluster.error(errors.Forbidden, 403, "list")
        return await listing(kind, **options)

    cluster.list = refused  # type: ignore[method-assign]  # a fault of this one list
    async with running(cluster):
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(5)
        assert (cluster.phase, check(cluster)["status"]) == ("Pending", "Unknown")
        assert "machines.machine.openshift.io in namespace openshift-machine-api" in check(cluster)["message"]
        refusing.clear()
        await asyncio.sleep(120)
        assert cluster.topology == "HighlyAvailable"


async def test_what_is_refused_and_not_even_served_holds_nothing() -> None:
    cluster = Cluster()
    cluster.unserved = {"machines"}
    async with running(cluster):
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(5)
        assert cluster.topology == "HighlyAvailable"
