"""Which objects are looked at for the sake of the operand matrix: what a definition asks, each once, by name."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from topology_api.vocabulary import CheckName
from topology_controller import bindata
from topology_controller.definitions import load, registry
from topology_controller.definitions import model as definitions
from topology_controller.observe import catalog, facts

ROOT = bindata.root()
LOADED = load.load(ROOT / "transitions")
COMPACT = next(one for one in LOADED.definitions if one.name == "sno-to-ha-compact")


def asking(*checks: CheckName, preflight: tuple[CheckName, ...] = ()) -> load.Transitions:
    asked = tuple(definitions.CheckSpec.model_construct(check=check) for check in checks)
    first = tuple(definitions.CheckSpec.model_construct(check=check) for check in preflight)
    convergence = COMPACT.convergence.model_copy(update={"checks": asked})
    changed = COMPACT.model_copy(update={"convergence": convergence, "preflight": (*COMPACT.preflight, *first)})
    return load.Transitions((changed,), LOADED.matrix)


def paths(sources) -> set[str]:
    return {source.selection.resource.path(source.selection.namespace, source.selection.name) for source in sources}


EVERYTHING = asking(*registry.OPERAND_CHECKS)


def test_every_operand_of_a_definition_is_read_where_the_facts_look_for_it():
    there: Any = True
    keys_read = [source.key for source in catalog.operands(EVERYTHING)]
    etcd = facts.Etcd(facts.Conditions(), static_pods=there)
    known = facts.Facts(operands=dict.fromkeys(keys_read, there), etcd=etcd, ingress_controller=there)
    for group in EVERYTHING.matrix.groups:
        keys = [operand.key for operand in group.operands]
        keys += [group.managed_by.key] if group.managed_by else []
        for key in keys:
            assert known.operand(key) is not facts.NOT_READ, key


def test_every_field_has_an_entry_and_every_entry_a_field():
    """But what is asked of etcd itself, the operands, and what is said of the facts as a whole."""
    other = {"etcd_members", "operands", "live", "disturbed", "awaited", "derived"}
    fields = {field.name for field in dataclasses.fields(facts.Facts)} - other
    assert {source.key for source in catalog.ALL if not source.operand} == fields


def test_what_is_watched_anyway_is_not_watched_twice():
    found = paths(catalog.operands(EVERYTHING))
    router = "namespaces/openshift-ingress-operator/ingresscontrollers/default"
    assert not found & {f"/apis/operator.openshift.io/v1/{path}" for path in ("etcds/cluster", router)}
    keys = [source.key for source in catalog.watched(EVERYTHING)]
    assert len(keys) == len(set(keys))
    selections = [source.selection for source in catalog.watched(EVERYTHING)]
    assert len(selections) == len(set(selections))


def test_a_request_opens_no_more_watches_than_are_allowed():
    """41, and one where the lifecycle agent is: a single node's API server pays for each. More are a decision."""
    assert len([*catalog.IDLE, *catalog.watched(LOADED)]) <= 42


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (CheckName.KUBE_API_SERVER_REVISION, {"/apis/operator.openshift.io/v1/kubeapiservers/cluster"}),
        (
            CheckName.CONSOLE_REPLICAS,
            {
                "/apis/apps/v1/namespaces/openshift-console/deployments/console",
                "/apis/apps/v1/namespaces/openshift-console/deployments/downloads",
                "/apis/operator.openshift.io/v1/consoles/cluster",
            },
        ),
        (CheckName.ETCD_REVISION, set()),
        (CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT, set()),
    ],
)
def test_only_what_a_definition_asks_is_watched(check, expected):
    assert paths(catalog.operands(asking(check))) == expected


def test_only_what_a_cluster_may_do_without_is_optional():
    optional = {source.key for source in catalog.watched(EVERYTHING) if source.selection.optional}
    optional -= {source.key for source in catalog.ALL if source.operand}
    managed = {group.managed_by.key for group in EVERYTHING.matrix.groups if group.managed_by}
    assert optional == {"lifecycle_agent", "machines", *managed}


def test_machines_are_read_live_where_the_watch_knows_of_one_and_hosts_where_a_machine_names_one():
    bare, placed = facts.Machine("m"), facts.Machine("m", host="h")
    assert catalog.Sources.machines in catalog.last(COMPACT, facts.Facts(machines=(bare,)))
    unasked = COMPACT.model_copy(update={"preflight": ()})
    assert catalog.Sources.machines not in catalog.last(unasked, facts.Facts(machines=(bare,)))
    assert catalog.following((bare, placed)) == (catalog.Sources.hosts,)
    for fact in ((bare,), (), facts.NOT_READ, (facts.Unobserved("m", "malformed"),)):
        assert catalog.following(fact) == ()
