"""A person who may not read everything is told which right lacks, in the check that needs it."""

from __future__ import annotations

from typing import Any

import pytest

from topology_controller.kube import errors as kube
from topology_controller.kube import resource as resources
from topology_controller.plugin import connection, errors, reading

from ..core import worlds
from . import seeing

RAW = {
    "apiVersion": "config.openshift.io/v1",
    "kind": "Infrastructure",
    "metadata": {"name": "cluster", "resourceVersion": "5", "generation": 1, "uid": "u"},
    "spec": {},
    "status": {
        "controlPlaneTopology": "SingleReplica",
        "infrastructureTopology": "SingleReplica",
        "platformStatus": {"type": "None"},
    },
}


class Server:
    """Serves Infrastructure, and answers everything else with one error."""

    request_timeout = 10.0

    def __init__(self, error: type[kube.KubeError], infrastructure: kube.KubeError | None = None) -> None:
        self._error = error
        self._infrastructure = infrastructure

    async def get(self, resource: resources.Resource, name: str, **options: Any) -> dict[str, Any]:
        if resource.plural == "infrastructures":
            if self._infrastructure is not None:
                raise self._infrastructure
            return RAW
        raise self._failure("get", resource, options.get("namespace"), name)

    async def list(self, resource: resources.Resource, **options: Any) -> Any:
        raise self._failure("list", resource, options.get("namespace"), None)

    def _failure(
        self, verb: str, resource: resources.Resource, namespace: str | None, name: str | None
    ) -> kube.KubeError:
        return self._error(verb, resource, namespace, name, 403, self._error.__name__, "no")


def _made(server: Server) -> connection.Connection:
    return connection.Connection(server, "https://api.example.com:6443")  # type: ignore[arg-type] # what it uses of one


async def test_each_check_names_the_right_that_lacks() -> None:
    seen = await reading.everything(_made(Server(kube.Forbidden)), worlds.TRANSITIONS, "openshift-topology-operator")
    found = seeing.planned(seen.known, now=seen.now, unread=seen.unread, operator=seen.operator)
    by_name = {one["name"]: one for one in found["checks"]}
    assert {one["status"] for one in found["checks"]} == {"Unknown"}
    assert (
        "you lack the right to get schedulers.config.openshift.io/cluster" in by_name["MastersSchedulable"]["message"]
    )
    assert "you lack the right to list nodes" in by_name["ControlPlaneNodes"]["message"]
    assert "operator's role" not in str(found)
    rights = [one["right"] for one in found["unread"]]
    assert "get configmaps/etcd-endpoints in namespace openshift-etcd" in rights
    assert "list clusteroperators.config.openshift.io" in rights
    assert found["verdict"] == "Blocked"


async def test_other_trouble_is_no_matter_of_rights() -> None:
    seen = await reading.everything(_made(Server(kube.ServerError)), worlds.TRANSITIONS, "openshift-topology-operator")
    assert seen.unread
    assert {one.right for one in seen.unread} == {None}


_INFRASTRUCTURES = resources.Resource("config.openshift.io", "v1", "infrastructures", "Infrastructure")


def _error(kind: type[kube.KubeError], status: int, reason: str, message: str) -> kube.KubeError:
    return kind("get", _INFRASTRUCTURES, None, "cluster", status, reason, message)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (_error(kube.Unreachable, 0, "NoConnection", "refused"), "cannot reach https://api.example.com:6443: refused"),
        (_error(kube.TimedOut, 0, "TimedOut", "no answer in time"), "no answer in time"),
        (_error(kube.Unauthorized, 401, "Unauthorized", ""), "does not accept the credentials. Log in again"),
        (_error(kube.Forbidden, 403, "Forbidden", "no"), "you have no right to get infrastructures"),
        (_error(kube.NotFound, 404, "", "404 page not found"), "this is no OpenShift cluster"),
        (_error(kube.NotFound, 404, "NotFound", '"cluster" not found'), "does not exist"),
        (_error(kube.ServerError, 500, "InternalError", "etcd is away"), "etcd is away"),
    ],
)
async def test_what_keeps_infrastructure_from_being_read_is_one_line(error: kube.KubeError, words: str) -> None:
    with pytest.raises(errors.PluginError) as raised:
        await connection.infrastructure(_made(Server(kube.Forbidden, error)))
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
