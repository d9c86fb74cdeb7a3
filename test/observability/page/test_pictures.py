"""Nine states of a real cluster and a real operator: each is told live, can be read by everybody, and is pictured.

`PAGE_PICTURES=docs/page pytest test/observability/page/test_pictures.py` writes the pictures of docs/page.md;
`PAGE_GALLERY=FOLDER` writes all states in three widths, in light and in dark, to look at.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import os
import pathlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from test.component import cluster
from test.component import world as worlds
from test.component.broken_facts import node
from test.observability.page import browser as browsers
from test.observability.page import looking, png
from topology_simulator import cluster as simulated
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World

_DEFINITIONS = pathlib.Path(__file__).parents[3] / "bindata" / "transitions"
_BEHIND = {
    "openshift-console/console",
    "openshift-monitoring/thanos-querier",
    "openshift-monitoring/prometheus-k8s",
    "openshift-multus/multus-admission-controller",
}
_LARGEST = 150_000
_DOCUMENTED = {"idle": 1280, "two-voters": 375, "converging": 1280, "stuck": 375, "completed": 768}
"""The pictures of docs/page.md, and how wide each is."""
_STATES = {"idle", "unsupported", "pending", "two-voters", "converging", "stuck", "completed", "disabled", "lost"}


def hurried(folder: pathlib.Path) -> pathlib.Path:
    """The definition with the shortest deadline that there is, a minute."""
    definition: dict[str, Any] = yaml.safe_load((_DEFINITIONS / f"{worlds.NAME}.yaml").read_text())
    definition["convergence"] |= {"deadlineMinutes": 1, "stuckMinutes": 0}
    del definition["convergence"]["machineMinutes"]
    folder.mkdir()
    (folder / f"{worlds.NAME}.yaml").write_text(yaml.safe_dump(definition))
    return folder


def _platform(name: str) -> dict[str, Any]:
    return {"platform": name, "platformStatus": {"type": name}}


def _ago(seconds: float) -> str:
    return f"{dt.datetime.now(dt.UTC) - dt.timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


async def _router(world: World, *, replicas: int) -> None:
    change = {"spec": {"replicas": replicas}}
    await world.api.patch(kinds.INGRESS_CONTROLLERS, "default", change, simulated.INGRESS_NAMESPACE)


@dataclass
class Album:
    """Every state that was shown, once it can be read by everybody, with the size of its picture."""

    browser: browsers.Browser
    pictures: pathlib.Path
    gallery: pathlib.Path | None
    sizes: dict[str, int] = field(default_factory=dict)

    async def add(self, name: str) -> None:
        browser = self.browser
        await looking.assert_readable(browser, name)
        await browser.wear(width=_DOCUMENTED.get(name, 1280))
        small = await asyncio.to_thread(lambda data: png.written(png.read(data)), await browser.picture())
        self.sizes[name] = len(small)
        if os.environ.get("PAGE_PICTURES") and name in _DOCUMENTED:
            (self.pictures / f"{name}.png").write_bytes(small)
        if self.gallery is not None:
            for theme, width in itertools.product(("light", "dark"), looking.WIDTHS):
                await browser.wear(theme, width)
                (self.gallery / f"{name}-{width}-{theme}.png").write_bytes(await browser.picture())
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
    await node("master-2", spec={"unschedulable": True})(world.api)
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
    await node("master-2", spec={"unschedulable": None})(world.api)
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
    await browser.says("#problem", "Stuck since ", " UTC", "oc topology explain Stuck")
    assert await browser.run("return document.getElementById('degraded').hidden"), "it would say the same"
    await album.add("stuck")
    await _router(world, replicas=2)
    await world.operands.go_on()
    await browser.phase("Completed")
    await browser.says("#met-title", "All 20 met")
    await browser.says("#checks-card", "Convergence, as of ", " UTC")
    await album.add("completed")


async def _the_operator_goes(world: World, browser: browsers.Browser, album: Album) -> None:
    label = {"metadata": {"labels": {"topology.openshift.io/image-based-install": "true"}}}
    await world.api.patch(kinds.INFRASTRUCTURES, "cluster", label)
    await browser.phase("Disabled")
    await browser.says("#disabled", "ImageBasedInstall")
    await album.add("disabled")
    assert await world.operators[-1].stop() == 0
    await browser.until("the connection is lost", "!document.getElementById('stale').hidden")
    await album.add("lost")


async def test_a_transition_as_a_person_sees_it(
    world: World,
    browser: browsers.Browser,
    pictures: pathlib.Path,
    gallery: pathlib.Path | None,
    tmp_path: pathlib.Path,
) -> None:
    port, definitions = browsers.free_port(), hurried(tmp_path / "transitions")
    flags = ("--transitions-dir", str(definitions), "--bind-address", f"127.0.0.1:{port}")
    album = Album(browser, pictures, gallery)
    await world.operator("operator-a", *flags)
    await world.until("discovery", lambda status: (status.get("topologyTransition") or {}).get("available"))
    await browser.open(f"http://127.0.0.1:{port}/")
    await browser.phase("Idle")
    await browser.run("window.loaded = 'once'")
    await _nothing_can_be_done(world, browser, album)
    await _the_request_waits(world, browser, album)
    await _the_cluster_follows(world, browser, album, *flags)
    await _the_operator_goes(world, browser, album)
    assert await browser.run("return window.loaded") == "once", "nobody has loaded the page again"
    assert browsers.hosts(await browser.asked_for()) == {"127.0.0.1"}
    assert set(album.sizes) == _STATES
    assert {name: size for name, size in album.sizes.items() if size > _LARGEST} == {}
