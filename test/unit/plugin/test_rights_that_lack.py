"""A person who may not read everything is told which right lacks, in the check that needs it."""

from __future__ import annotations

import functools

import pytest

from topology_controller.kube import errors as kube
from topology_controller.plugin import cluster, errors

from ..core import worlds
from . import replies
from .infrastructure_api import Api
from .infrastructure_api import error as error_of

NAMESPACE = "openshift-topology-operator"
get = functools.partial(error_of, verb="get")


async def test_each_check_names_the_right_that_lacks() -> None:
    seen = await cluster.everything(Api().made(), worlds.TRANSITIONS, NAMESPACE)
    found = replies.planned(seen.known, now=seen.now, unread=seen.unread, operator=seen.operator)
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
    api = Api()
    api.refusal = kube.ServerError
    seen = await cluster.everything(api.made(), worlds.TRANSITIONS, NAMESPACE)
    assert seen.unread
    assert {fact["right"] for fact in seen.unread} == {None}


@pytest.mark.parametrize(
    ("unreadable", "words"),
    [
        (
            get(kube.Unreachable, 0, "NoConnection", "refused"),
            "cannot reach https://api.example.com:6443: refused",
        ),
        (get(kube.TimedOut, 0, "TimedOut", "no answer in time"), "no answer in time"),
        (
            get(kube.Unauthorized, 401, "Unauthorized", ""),
            "does not accept the credentials. Log in again",
        ),
        (get(kube.Forbidden, 403, "Forbidden", "no"), "you have no right to get infrastructures"),
        (get(kube.NotFound, 404, "", "404 page not found"), "this is no OpenShift cluster"),
        (get(kube.NotFound, 404, "NotFound", '"cluster" not found'), "does not exist"),
        (get(kube.ServerError, 500, "InternalError", "etcd is away"), "etcd is away"),
    ],
)
async def test_what_keeps_infrastructure_from_being_read_is_one_line(unreadable: kube.KubeError, words: str) -> None:
    api = Api()
    api.unreadable = unreadable
    with pytest.raises(errors.PluginError) as raised:
        await cluster.infrastructure(api.made())
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
