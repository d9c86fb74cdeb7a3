"""What the operator's ServiceAccount is granted, and what it must never be: read from the rendered manifests.

That each of these rights is used, and what breaks without it, is tested on a real API server (test/component/rights).
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

import operand_rights
from kubectl_topology import cluster
from topology_api import vocabulary
from topology_controller import bindata, discover
from topology_controller.definitions import load as transitions
from topology_controller.kube import lease
from topology_controller.observe import catalog
from topology_controller.report import events
from topology_controller.serve import authn, tls
from topology_deploy import manifests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topology_controller.kube import resource as kube

OURS = "openshift-topology-operator"
ACCOUNT = {"kind": "ServiceAccount", "name": "cluster-topology-operator", "namespace": OURS}
OBJECTS: list[dict[str, Any]] = list(yaml.load_all(manifests.render(monitoring=False), yaml.CSafeLoader))
BINDINGS = [one for one in OBJECTS if one["kind"] in {"RoleBinding", "ClusterRoleBinding"}]
VIEWER = "topology-status-viewer"
OFFERED = {VIEWER, authn.ROLE}
OFFERED |= {cluster.ADDED_TO_READER, vocabulary.CHECK_ACCEPTOR, "topology-requester", "topology-administrator"}
"""Roles for others, which we bind to nobody."""
ROLES = [one for one in OBJECTS if one["kind"] in {"Role", "ClusterRole"} and one["metadata"]["name"] not in OFFERED]
TRANSITIONS = transitions.load(bindata.root() / "transitions")
READS = {"get", "list", "watch"}
SOURCES = (*catalog.IDLE, *catalog.watched(TRANSITIONS), catalog.Sources.hosts, catalog.acceptances(OURS))
MACHINES = ("machines", "baremetalhosts")
SETTINGS = [source.selection for source in catalog.remaining(TRANSITIONS.matrix)]
REVIEWS = (authn.TOKENS, authn.ACCESS)
SELECTIONS = (*(one.selection for one in SOURCES), tls.API_SERVER, tls.CLIENT_CA)
KINDS = {
    (one.group, one.plural): one for one in (*(s.resource for s in (*SELECTIONS, *SETTINGS)), catalog.CRDS, *REVIEWS)
}
KINDS |= {(one.group, one.plural): one for one in (lease.LEASES, events.EVENTS)}


class Right(NamedTuple):
    """One verb on one resource; `namespace` is "" for the whole cluster, `name` for any."""

    verb: str
    group: str
    resource: str
    namespace: str
    name: str


def rights() -> Iterator[Right]:
    for role in ROLES:
        namespace = role["metadata"].get("namespace", "")
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        for name in rule.get("resourceNames", [""]):
                            yield Right(verb, group, resource, namespace, name)


ALL = list(rights())


def test_nothing_is_granted_twice():
    assert len(set(ALL)) == len(ALL), sorted(one for one in ALL if ALL.count(one) > 1)
    wide = {(one.verb, one.group, one.resource, one.namespace) for one in ALL if not one.name}
    narrow = [one for one in ALL if one.name and (one.verb, one.group, one.resource, one.namespace) in wide]
    assert not narrow, "the same is granted for every name"


def test_there_are_no_wildcards_and_no_secrets():
    for one in ALL:
        assert "*" not in (one.verb + one.group + one.resource + one.name), one
        assert one.resource.partition("/")[0] != "secrets", one
    assert not [rule for role in ROLES for rule in role["rules"] if "nonResourceURLs" in rule]


def test_no_verb_leads_to_more_rights_and_none_deletes():
    assert {one.verb for one in ALL} == {"get", "list", "watch", "create", "update", "patch"}
    groups = {one.group for one in ALL}
    assert not groups & {"rbac.authorization.k8s.io", "certificates.k8s.io"}
    asked = {(one.verb, one.resource) for one in ALL if one.group.startswith("auth")}
    assert asked == {("create", "tokenreviews"), ("create", "subjectaccessreviews")}, "questions, and nothing else"
    subresources = {one.resource for one in ALL if "/" in one.resource}
    assert subresources == {"infrastructures/status", "clusteroperators/status"}


def test_the_request_is_never_written():
    assert {one.verb for one in ALL if one.resource == "infrastructures"} == READS
    assert {(one.verb, one.name) for one in ALL if one.resource == "infrastructures/status"} == {("patch", "cluster")}


def test_writes_are_limited_by_name_except_three_creates_and_two_questions():
    """A create cannot be limited by name: the name is not known when it is authorised. These are documented."""
    unlimited = {(one.verb, one.resource, one.namespace) for one in ALL if one.verb not in READS and not one.name}
    assert unlimited == {
        ("create", "clusteroperators", ""),
        ("create", "leases", OURS),
        ("create", "events", "default"),
        ("create", "tokenreviews", ""),
        ("create", "subjectaccessreviews", ""),
    }
    assert not [one for one in ALL if one.verb == "create" and one.name], "such a rule grants nothing"


def asked(one: kube.Selection, verb: str) -> Right:
    """The right that it takes to list or watch it."""
    return Right(verb, one.resource.group, one.resource.plural, one.namespace or "", one.name or "")


def covers(granted: Right, wanted: Right) -> bool:
    """Does the right allow that? RBAC asks for the namespace and the name of the request, which a wide one ignores."""
    return (
        granted[:3] == wanted[:3] and granted.namespace in {"", wanted.namespace} and granted.name in {"", wanted.name}
    )


def test_what_may_be_listed_and_watched_is_what_is_looked_at():
    """resourceNames cover a list only when the request says the name as field selector, as `Selection.name` does."""
    wanted = {asked(one, verb) for one in SELECTIONS for verb in ("list", "watch")}
    lists = {Right("list", one.resource.group, one.resource.plural, "", "") for one in SETTINGS if one.name is None}
    lists |= {asked(catalog.Sources.leader_leases.selection, "list")}
    assert lists <= set(ALL)
    granted = [one for one in ALL if one.verb in {"list", "watch"} and one not in lists]
    without_right = [one for one in wanted if not any(covers(right, one) for right in granted)]
    assert not without_right
    without_source = [r for r in granted if not any(covers(r, one) and r.name == one.name for one in wanted)]
    assert not without_source


def test_what_may_be_read_by_its_name_is_what_is_read_for_a_decision_or_before_a_write():
    """Evidence live before the change, what advisories are about once more after it, and what is written to."""
    left = discover._advised(TRANSITIONS)
    now_and_then = [source for source in catalog.ALL if source.watched is catalog.Watched.NEVER]
    read = (*catalog.evidence(*TRANSITIONS.definitions), *catalog.IDLE, *now_and_then, *left)
    wanted = {asked(source.selection, "get") for source in read if source.single}
    wanted |= {Right("get", "coordination.k8s.io", "leases", OURS, "cluster-topology-operator")}
    wanted |= {asked(one, "get")._replace(namespace="") for one in SETTINGS if one.name is not None}
    assert {one for one in ALL if one.verb == "get"} == wanted


def test_what_is_namespaced_is_granted_in_its_namespace_only_unless_that_may_not_be_there():
    """The exception is documented: without a capability there is no namespace, and so no role in it."""
    groups = [group for group in TRANSITIONS.matrix.groups if group.capability]
    anywhere: set[str | None] = {operand.name for group in groups for operand in group.operands}
    anywhere |= {one.name for one in SETTINGS if one.resource == catalog.DEPLOYMENTS}
    found = set()
    settings = {(one.resource.group, one.resource.plural) for one in SETTINGS if one.resource != catalog.DEPLOYMENTS}
    for one in ALL:
        if one == asked(catalog.Sources.leader_leases.selection, "list"):
            continue
        if (one.group, one.resource) in settings or one.resource in MACHINES:
            assert (one.namespace, one.verb) in {("", verb) for verb in ("get", "list", "watch")}, one
            continue
        kind = KINDS[one.group, one.resource.partition("/")[0]]
        if kind.namespaced and not one.namespace:
            assert (one.group, one.resource) == ("apps", "deployments"), one
            found.add(one.name)
        else:
            assert kind.namespaced is bool(one.namespace), one
    assert found == anywhere


def test_only_these_are_read_whole():
    """All objects of a kind; everything else by its name. These are documented."""
    whole = {(one.resource, one.namespace) for one in ALL if one.verb in READS and not one.name}
    several = {(one.resource.plural, "") for one in SETTINGS if one.name is None}
    below = {(kind, "") for kind in MACHINES}
    assert (
        whole == {("nodes", ""), ("clusteroperators", ""), ("machineconfigpools", ""), ("leases", "")} | below | several
    )


def test_the_roles_for_others_grant_what_the_gate_asks_for_and_are_bound_to_nobody():
    (role,) = [one for one in OBJECTS if one["metadata"]["name"] == authn.ROLE]
    assert role["kind"] == "ClusterRole"
    assert role["rules"] == [{"nonResourceURLs": [authn.PATH], "verbs": ["get"]}]
    assert not [one for one in BINDINGS if one["roleRef"]["name"] in OFFERED]
    labels = {one["metadata"]["name"]: one["metadata"].get("labels") for one in OBJECTS if one["kind"] == "ClusterRole"}
    labels = {name: found for name, found in labels.items() if name.startswith("cluster-topology-operator")}
    added = labels.pop(cluster.ADDED_TO_READER)
    assert added == {"rbac.authorization.k8s.io/aggregate-to-cluster-reader": "true"}
    assert not {name: found for name, found in labels.items() if found}


def test_what_is_added_to_cluster_reader_is_what_the_command_reads_and_that_role_lacks_and_never_written():
    (role,) = [one for one in OBJECTS if one["metadata"]["name"] == cluster.ADDED_TO_READER]
    granted = set()
    for rule in role["rules"]:
        assert rule["verbs"] == [*(["get"] if "resourceNames" in rule else []), "list", "watch"]
        ((group,), (resource,)) = rule["apiGroups"], rule["resources"]
        granted |= {(group, resource, name) for name in rule.get("resourceNames", [None])}
    reads = [one.selection for one in (*catalog.IDLE, *catalog.watched(TRANSITIONS), catalog.Sources.hosts)]
    reads += SETTINGS
    lacking = {
        (one.resource.group, one.resource.plural, one.name)
        for one in reads
        if one.resource.group.endswith("operator.openshift.io")
        or one.resource.group == "lca.openshift.io"
        or one.resource.plural == "machineconfigs"
    }
    assert granted == lacking
    assert len(granted) == sum(len(rule.get("resourceNames", [None])) for rule in role["rules"]), "nothing twice"
    assert not [one for one in granted if one[2] is None], "nothing whole, and BareMetalHosts only by choice"


def test_bare_metal_hosts_are_added_to_cluster_reader_by_choice_and_not_by_installing():
    assert "metal3.io" not in str([one for one in OBJECTS if operand_rights.AGGREGATED in str(one["metadata"])])
    role = yaml.load(manifests.filled("readers/baremetalhosts.yaml"), yaml.CSafeLoader)
    assert (role["kind"], role["metadata"]["name"]) == ("ClusterRole", cluster.HOST_READER)
    assert role["metadata"]["labels"] == {operand_rights.AGGREGATED: "true"}
    hosts = catalog.Sources.hosts.selection.resource
    rule = {"apiGroups": [hosts.group], "resources": [hosts.plural], "verbs": ["list", "watch"]}
    assert role["rules"] == [rule]
    assert cluster.HOSTS in hosts.group


def test_who_may_see_the_page_may_forward_a_port_of_our_pods_and_nothing_else():
    (role,) = [one for one in OBJECTS if one["metadata"]["name"] == VIEWER]
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", OURS)
    by_resource = {rule["resources"][0]: (rule.get("resourceNames"), rule["verbs"]) for rule in role["rules"]}
    assert by_resource == {
        "deployments": (["cluster-topology-operator"], ["get"]),
        "pods": (None, ["get", "list"]),
        "pods/portforward": (None, ["get", "create"]),
    }


def test_who_may_accept_may_get_and_patch_that_one_config_map_and_nobody_is_bound_to_it():
    (role,) = [one for one in OBJECTS if one["metadata"]["name"] == vocabulary.CHECK_ACCEPTOR]
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", OURS)
    wanted = {"resources": ["configmaps"], "resourceNames": [vocabulary.ACCEPTED_CHECKS], "verbs": ["get", "patch"]}
    assert role["rules"] == [{"apiGroups": [""], **wanted}]
    assert not [one for one in BINDINGS if one["roleRef"]["name"] == vocabulary.CHECK_ACCEPTOR]
    (found,) = [one for one in OBJECTS if one["metadata"]["name"] == vocabulary.ACCEPTED_CHECKS]
    assert (found["kind"], found["metadata"]["namespace"]) == ("ConfigMap", OURS)
    assert set(found) == {"apiVersion", "kind", "metadata"}, "what people write is not ours to apply"
    assert found["metadata"]["annotations"]["release.openshift.io/create-only"] == "true"


def test_the_bindings_bind_our_account_to_our_roles_and_nobody_else():
    bound = []
    for binding in BINDINGS:
        assert binding["subjects"] == [ACCOUNT], binding["metadata"]
        role = binding["roleRef"]
        assert role["apiGroup"] == "rbac.authorization.k8s.io"
        assert (binding["kind"], role["kind"]) in {("RoleBinding", "Role"), ("ClusterRoleBinding", "ClusterRole")}
        bound.append((role["kind"], binding["metadata"].get("namespace"), role["name"]))
    assert bound == [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in ROLES]
    for role in ROLES:
        assert set(role) == {"apiVersion", "kind", "metadata", "rules"}, role["metadata"]
        assert set(role["metadata"]) <= {"name", "namespace", "annotations"}, "a label could aggregate it"


def test_the_page_about_rights_has_every_rule_and_no_other():
    text = (pathlib.Path(__file__).parents[3] / "docs" / "development" / "rights.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:2] == "| "
    ]
    told = set()
    for where, resource, names, verbs, *_ in rows:
        if where == "where":
            continue
        plural, _, group = resource.partition(".")
        namespace = "" if where == "cluster" else where
        for name in names.split("`, `"):
            told |= {Right(verb, group, plural, namespace, "" if name == "any" else name) for verb in verbs.split()}
    assert told == set(ALL), told ^ set(ALL)
    made = [rule for role in ROLES if role["metadata"]["name"] == operand_rights.NAME for rule in role["rules"]]
    count = sum(len(rule["verbs"]) * len(rule.get("resourceNames", [""])) for rule in made)
    assert f"\n{count} single rights" in text
