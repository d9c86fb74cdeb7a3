"""What may become part of a path, and how objects are named for people."""

import pytest

from topology_controller.kube import resource

CLUSTER = resource.Resource("config.openshift.io", "v1", "infrastructures", "Infrastructure")
NODES = resource.Resource("", "v1", "nodes", "Node")
LEASES = resource.Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)


@pytest.mark.parametrize(
    ("kind", "arguments", "path"),
    [
        (CLUSTER, {}, "/apis/config.openshift.io/v1/infrastructures"),
        (CLUSTER, {"name": "cluster"}, "/apis/config.openshift.io/v1/infrastructures/cluster"),
        (
            CLUSTER,
            {"name": "cluster", "subresource": "status"},
            "/apis/config.openshift.io/v1/infrastructures/cluster/status",
        ),
        (NODES, {"name": "master-0.example.org"}, "/api/v1/nodes/master-0.example.org"),
        (LEASES, {}, "/apis/coordination.k8s.io/v1/leases"),
        (LEASES, {"namespace": "a"}, "/apis/coordination.k8s.io/v1/namespaces/a/leases"),
        (LEASES, {"namespace": "a", "name": "b"}, "/apis/coordination.k8s.io/v1/namespaces/a/leases/b"),
        (NODES, {"name": "system:node"}, "/api/v1/nodes/system:node"),
        (NODES, {"name": "knoten-ä"}, "/api/v1/nodes/knoten-%C3%A4"),
    ],
)
def test_paths(kind, arguments, path):
    assert kind.path(**arguments) == path


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a/b", "../../secrets", "a?watch=true", "a#b", "a%2fb", "a b", "a\nb", "a\\b", "x" * 254],
)
def test_names_that_would_leave_their_place_are_refused(name):
    with pytest.raises(ValueError, match="cannot be part of a path"):
        NODES.path(name=name)
    with pytest.raises(ValueError, match="cannot be part of a path"):
        LEASES.path(namespace=name, name="a")


def test_a_path_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="no namespaces"):
        NODES.path(namespace="a")
    with pytest.raises(ValueError, match="a namespace is needed"):
        LEASES.path(name="a")
    with pytest.raises(ValueError, match="needs the name"):
        NODES.path(subresource="status")
    with pytest.raises(ValueError, match="subresource"):
        NODES.path(name="a", subresource="../x")
    with pytest.raises(ValueError, match="plural"):
        resource.Resource("", "v1", "no/des", "Node")


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [
        ("9", "10", True),
        ("10", "9", False),
        ("5", "5", False),
        ("a", "b", False),
        ("", "1", False),
        ("²", "3", False),
        ("007", "8", True),
        ("007", "7", False),
        ("0", "00", False),
        ("10", "9" * 5000, True),
        ("9" * 5000, "10", False),
    ],
)
def test_versions_compare_as_numbers_or_not_at_all(version, than, older):
    assert resource.is_older(version, than) is older
