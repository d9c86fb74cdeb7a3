"""Nine states of a real cluster and a real operator: each is told live, can be read by everybody, and is pictured.

`PAGE_PICTURES=docs/page pytest test/observability/page/test_pictures.py` writes the pictures of docs/page.md.
"""

from __future__ import annotations

import datetime as dt
import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from test.component import cluster
from test.component import world as worlds
from test.observability.page import browser as browsers
from topology_simulator import cluster as simulated
from topology_simulator import kinds, operands
from topology_simulator.etcd import keeping

if TYPE_CHECKING:
    import pathlib

    from test.component.world import World

_BEHIND = {
    "openshift-console/console",
    "openshift-monitoring/thanos-querier",
    "openshift-monitoring/prometheus-k8s",
    "openshift-multus/multus-admission-controller",
}
_LARGEST = 500_000
_DOCUMENTED = {"idle": 1280, "two-voters": 375, "converging": 1280, "stuck": 375, "completed": 768}
"""The pictures of docs/page.md, and how wide each is."""
_STATES = {"idle", "unsupported", "pending", "two-voters", "converging", "stuck", "completed", "disabled", "lost"}


def _platform(name: str) -> dict[str, Any]:
    return {"platform": name, "platformStatus": {"type": name}}


def _ago(seconds: float) -> str:
    return f"{dt.datetime.now(dt.UTC) - dt.timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


async def _cordon(world: World, *, cordoned: bool) -> None:
    await world.api.patch(kinds.NODES, "master-2", {"spec": {"unschedulable": cordoned or None}})


async def _router(world: World, *, replicas: int) -> None:
    change = {"spec": {"replicas": replicas}}
    await world.api.patch(kinds.INGRESS_CONTROLLERS, "default", change, simulated.INGRESS_NAMESPACE)


@dataclass
class Album:
    """Every state that was shown, once it can be read by everybody, with the size of its picture."""

    browser: browsers.Browser
    pictures: pathlib.Path
    sizes: dict[str, int] = field(default_factory=dict)

    async def add(self, name: str) -> None:
        browser = self.browser
        await browsers.assert_readable(browser, name)
        await browser.wear(width=_DOCUMENTED.get(name, 1280))
        picture = await browser.picture()
        self.sizes[name] = len(picture)
        if os.environ.get("PAGE_PICTURES") and name in _DOCUMENTED:
            (self.pictures / f"{name}.png").write_bytes(picture)
        await browser.wear()


async def _nothing_can_be_done(world: World, browser: browsers.Browser, album: Album) -> None:
    await browser.phase("Idle")
    await browser.until("what could be asked for is shown", "!document.getElementById('available-card').hidden")
    await browser.says("#cluster", "edge-")
    assert await browser.text("#live") == "Connected", "what could be requested was evaluated some time ago"
    await browser.says("#available", "Evaluated")
    await album.add("idle")
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", _platform("AWS"))
    await world.ask_for()
    await browser.phase("Unsupported")
    await browser.says("#headline", "No transition leads from")
    await album.add("unsupported")
    await world.ask_for(None)
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", _platform("None"))
    await browser.phase("Idle")


async def _the_request_waits(world: World, browser: browsers.Browser, album: Album) -> None:
    await _cordon(world, cordoned=True)
    await world.ask_for()
    await browser.phase("Pending")
    await browser.says("#nodes", "is cordoned")
    assert await browser.text("#live") == "Live"
    await album.add("pending")
    voters = (await world.api.get(kinds.CONFIG_MAPS, "etcd-endpoints", "openshift-etcd"))["data"]
    await cluster.set_endpoints(world.api, {list(voters)[-1]: None})
    await browser.says("#two-voters", "the loss of either one stops the cluster")
    await browser.says("#etcd-side", "2 voters")
    await album.add("two-voters")
    await cluster.set_endpoints(world.api, voters)
    await browser.until("the banner is gone", "document.getElementById('two-voters').hidden")


async def _the_cluster_follows(world: World, browser: browsers.Browser, album: Album, *flags: str) -> None:
    world.operands.behind |= _BEHIND
    await _router(world, replicas=1)
    await _cordon(world, cordoned=False)
    await browser.phase("Converging")
    await browser.says("#checks-open", "MonitoringReplicas", "ConsoleReplicas", "MultusAdmissionReplicas")
    await browser.says("#operands-side", "19 of 24 updated")
    await browser.says("#assess", "19 of 24 components updated, ", " so far (typically ", "1 action required")
    await browser.says("#advisories", "RouterReplicasPinned")
    await browser.says("#timeline", "HighlyAvailable requested", "topology changed")
    await album.add("converging")
    # The deadline is a minute: the operator was away for most of it, as the record says.
    assert await world.operators[-1].stop() == 0
    record = {"requestedTime": _ago(70), "admittedTime": _ago(57), "phaseTransitionTime": _ago(57)}
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": record})
    await world.operator("operator-b", *flags)
    await browser.phase("Stuck", seconds=90.0)
    await browser.says("#problem", "Stuck since ", " UTC", "replicas")
    assert await browser.run("return document.getElementById('degraded').hidden"), "it would say the same"
    await album.add("stuck")
    # On a busy machine the five minutes are over for which a lease counts that nobody renews.
    alive = {"spec": operands.lease_spec("etcd-operator", 3)}
    await world.api.patch(kinds.LEASES, simulated.ETCD_LEASE, alive, simulated.ETCD_OPERATOR_NAMESPACE)
    await _router(world, replicas=2)
    await world.operands.go_on()
    await browser.phase("Completed", seconds=90.0)
    await browser.says("#met-title", "All 20 met")
    await browser.says("#checks-card", "Convergence, as of ", " UTC")
    await album.add("completed")


async def _the_operator_goes_and_comes_back(world: World, browser: browsers.Browser, album: Album, *flags: str) -> None:
    label = {"metadata": {"labels": {"topology.openshift.io/image-based-install": "true"}}}
    await world.api.patch(kinds.INFRASTRUCTURES, "cluster", label)
    await browser.phase("Disabled")
    await browser.says("#disabled", "ImageBasedInstall")
    await album.add("disabled")
    world.operators[-1].send(signal.SIGKILL)
    await browser.until("the connection is lost", "!document.getElementById('stale').hidden")
    await browser.says("#stale", "The connection was lost.", "What you see is from")
    assert await browser.text("#live") == "Not live"
    assert await browser.text("#phase") == "Disabled", "what was known stays"
    await album.add("lost")
    await world.operators[-1].ended()
    await world.forget_lease()
    await world.operator("operator-c", *flags)
    # Not by hand: it may have noticed by itself already, and then the button is gone.
    await browser.run("document.getElementById('retry').click()")
    await browser.until("the banner is gone", "document.getElementById('stale').hidden")
    assert await browser.text("#live") == "Connected"
    await browser.says("#about", "the process that leads")


async def test_a_transition_as_a_person_sees_it(
    world: World, browser: browsers.Browser, pictures: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    (port,), definitions = keeping.free_ports(1), worlds.hurried(tmp_path / "transitions")
    flags = ("--transitions-dir", str(definitions), "--bind-address", f"127.0.0.1:{port}")
    album = Album(browser, pictures)
    await world.operator("operator-a", *flags)
    await world.until("discovery", lambda status: (status.get("topologyTransition") or {}).get("available"))
    await browser.open(f"http://127.0.0.1:{port}/")
    await browser.phase("Idle")
    await browser.run("window.loaded = 'once'")
    await _nothing_can_be_done(world, browser, album)
    await _the_request_waits(world, browser, album)
    await _the_cluster_follows(world, browser, album, *flags)
    await _the_operator_goes_and_comes_back(world, browser, album, *flags)
    assert await browser.run("return window.loaded") == "once", "nobody has loaded the page again"
    assert browsers.hosts(await browser.asked_for()) == {"127.0.0.1"}
    assert set(album.sizes) == _STATES
    assert {name: size for name, size in album.sizes.items() if size > _LARGEST} == {}
