"""May the other cluster be written to now? Whatever either of the two answers, and whoever holds the lease there.

Virtual time.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from topology_controller.kube import errors, lease, placement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.looptime(end=10_000)
LEASE = "leases.coordination.k8s.io/operator in namespace ours"


@dataclass
class Cluster:
    """What one cluster answers: its identity, and the lease of its own operator."""

    uid: object = "a"
    spec: dict[str, Any] | None = None
    refuses: dict[str, type[errors.KubeError]] = field(default_factory=dict)
    asked: list[tuple[float, str]] = field(default_factory=list)
    delay: float = 0.0

    async def get(self, resource: Any, name: str, *, namespace: str | None = None) -> dict[str, Any]:
        self.asked.append((asyncio.get_running_loop().time(), resource.describe(name, namespace)))
        await asyncio.sleep(self.delay)
        if kind := self.refuses.get(resource.plural):
            raise kind("get", resource, namespace, name, 0, "Cut", "")
        if resource is lease.LEASES:
            if self.spec is None:
                raise errors.NotFound("get", resource, namespace, name, 404, "NotFound", "")
            return {"metadata": {"resourceVersion": "1"}, "spec": dict(self.spec)}
        return {"metadata": {"name": name, "uid": self.uid}}


def placed(target: Any, local: Any) -> placement.Placement:
    return placement.Placement(target, local, namespace="ours", name="operator", period=52)


@contextlib.asynccontextmanager
async def running(one: placement.Placement) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(one.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def why(one: placement.Placement) -> str:
    with pytest.raises(placement.Refused) as refused:
        await one.guard()
    assert refused.value.may_pass
    assert not refused.value.outcome_unknown
    return str(refused.value)


async def test_two_clusters_and_no_operator_there_allow_a_write_after_one_round_of_questions(looptime: Any) -> None:
    target, local = Cluster("a", delay=0.2), Cluster("b", delay=0.1)
    one = placed(target, local)
    await one.guard()
    assert looptime == 0.2
    assert target.asked == [(0, "namespaces/kube-system"), (0, LEASE)]
    assert local.asked == [(0, "namespaces/kube-system")]
    assert one.trouble == ""


@pytest.mark.parametrize("kind", [errors.Forbidden, errors.Malformed, errors.Unreachable, errors.TimedOut])
@pytest.mark.parametrize(
    ("cluster", "plural", "named"),
    [
        ("target", "namespaces", "the target cluster: cannot get namespaces/kube-system"),
        ("target", "leases", f"the target cluster: cannot get {LEASE}"),
        ("local", "namespaces", "the cluster of the lease: cannot get namespaces/kube-system"),
    ],
)
async def test_what_cannot_be_read_allows_no_write(
    kind: type[errors.KubeError], cluster: str, plural: str, named: str
) -> None:
    clusters = {"target": Cluster("a"), "local": Cluster("b")}
    one = placed(clusters["target"], clusters["local"])
    clusters[cluster].refuses[plural] = kind
    assert named in await why(one)
    clusters[cluster].refuses.clear()
    await one.guard()
    clusters[cluster].refuses[plural] = kind
    assert named in await why(one), "also when it was good before"


@pytest.mark.parametrize("uid", [None, "", 7, ["a"]])
async def test_an_identity_that_is_none_is_not_taken_for_another_one(uid: object) -> None:
    assert "has no uid" in await why(placed(Cluster(uid), Cluster("b")))


@pytest.mark.parametrize("first", ["target", "local", "both"])
async def test_one_cluster_by_both_ways_is_the_end_whichever_is_read_first(first: str) -> None:
    target, local = Cluster("a"), Cluster("a")
    one = placed(target, local)
    if first == "target":
        local.refuses["namespaces"] = errors.Unreachable
    if first == "local":
        target.refuses["namespaces"] = errors.Unreachable
    await one.look()
    target.refuses.clear()
    local.refuses.clear()
    assert "are the same" in await why(one)
    with pytest.raises(placement.SameClusterError):
        await one.run()


@pytest.mark.parametrize("changed", ["target", "local"])
async def test_another_cluster_at_the_same_address_ends_it_at_once_and_for_good(changed: str) -> None:
    clusters = {"target": Cluster("a"), "local": Cluster("b")}
    one = placed(clusters["target"], clusters["local"])
    async with running(one) as task:
        await one.free.wait()
        await asyncio.sleep(1)
        clusters[changed].uid = "c"
        assert "is another one now" in await why(one)
        clusters[changed].uid = {"target": "a", "local": "b"}[changed]
        assert "is another one now" in await why(one)
        with pytest.raises(placement.ReplacedError):
            await task
        assert asyncio.get_running_loop().time() == 1


async def test_the_targets_own_operator_goes_before_until_it_gives_its_lease_back() -> None:
    target = Cluster("a", spec={"holderIdentity": "in-cluster", "leaseDurationSeconds": 137, "renewTime": "1"})
    one = placed(target, Cluster("b"))
    async with running(one):
        await one.held.wait()
        assert f"its own operator holds {LEASE} as in-cluster" in await why(one)
        for renewal in range(20):
            await asyncio.sleep(60)
            target.spec = {**(target.spec or {}), "renewTime": f"later {renewal}"}
            await why(one)
        target.spec = {**(target.spec or {}), "holderIdentity": ""}
        await one.guard()
        await one.free.wait()
