"""The six states of a real cluster and a real operator: each is told live, can be read by everybody, and is pictured.

`PAGE_PICTURES=docs/page pytest test/observability/page/test_pictures.py` writes the pictures of docs/page.md.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import pathlib
from typing import TYPE_CHECKING, Any

import yaml

from test.component import world as worlds
from test.component.broken_facts import node
from test.observability.page import browser as browsers
from test.observability.page import looking, png
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


def hurried(folder: pathlib.Path) -> pathlib.Path:
    """The definition with the shortest deadline that there is, a minute."""
    definition: dict[str, Any] = yaml.safe_load((_DEFINITIONS / f"{worlds.NAME}.yaml").read_text())
    definition["convergence"] |= {"deadlineMinutes": 1, "stuckMinutes": 0}
    del definition["convergence"]["machineMinutes"]
    folder.mkdir()
    (folder / f"{worlds.NAME}.yaml").write_text(yaml.safe_dump(definition))
    return folder


def _ago(seconds: float) -> str:
    return f"{dt.datetime.now(dt.UTC) - dt.timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


async def test_a_transition_as_a_person_sees_it(
    world: World, browser: browsers.Browser, pictures: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    port, definitions = browsers.free_port(), hurried(tmp_path / "transitions")
    flags = ("--transitions-dir", str(definitions), "--bind-address", f"127.0.0.1:{port}")
    sizes: dict[str, int] = {}

    async def pictured(name: str) -> None:
        await looking.assert_readable(browser, name)
        small = await asyncio.to_thread(lambda data: png.written(png.read(data)), await browser.picture())
        sizes[name] = len(small)
        if os.environ.get("PAGE_PICTURES"):
            (pictures / f"{name}.png").write_bytes(small)

    await world.operator("operator-a", *flags)
    await world.until("discovery", lambda status: (status.get("topologyTransition") or {}).get("available"))
    await browser.open(f"http://127.0.0.1:{port}/")
    await browser.phase("Idle")
    await browser.until("what could be asked for is shown", "!document.getElementById('available-card').hidden")
    await browser.says("#cluster", "edge-")
    await browser.run("window.loaded = 'once'")
    await pictured("idle")

    await node("master-2", spec={"unschedulable": True})(world.api)
    await world.ask_for()
    await browser.phase("Pending")
    await browser.says("#nodes", "is cordoned")
    await pictured("pending")

    world.operands.behind |= _BEHIND
    await node("master-2", spec={"unschedulable": None})(world.api)
    await browser.phase("Converging")
    await browser.says("#checks-open", "MonitoringReplicas", "ConsoleReplicas", "MultusAdmissionReplicas")
    await browser.says("#operands-side", "20 of 24 updated")
    await pictured("converging")

    # The deadline is a minute: the operator was away for most of it, as the record says.
    assert await world.operators[-1].stop() == 0
    record = {"requestedTime": _ago(70), "admittedTime": _ago(57), "phaseTransitionTime": _ago(57)}
    await world.api.patch_status(kinds.INFRASTRUCTURES, "cluster", {"topologyTransition": record})
    await world.operator("operator-b", *flags)
    await browser.phase("Stuck", seconds=90.0)
    await browser.says("#degraded", ", and nothing progresses. Blocked by ")
    await pictured("stuck")

    await world.operands.go_on()
    await browser.phase("Completed")
    await browser.says("#met-title", "All 20 met")
    await pictured("completed")

    label = {"metadata": {"labels": {"topology.openshift.io/image-based-install": "true"}}}
    await world.api.patch(kinds.INFRASTRUCTURES, "cluster", label)
    await browser.phase("Disabled")
    await browser.says("#disabled", "ImageBasedInstall")
    await pictured("disabled")

    assert await browser.run("return window.loaded") == "once", "nobody has loaded the page again"
    assert browsers.hosts(await browser.asked_for()) == {"127.0.0.1"}
    assert set(sizes) == {"idle", "pending", "converging", "stuck", "completed", "disabled"}
    assert {name: size for name, size in sizes.items() if size > _LARGEST} == {}
