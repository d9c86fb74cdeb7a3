"""Two versions of the operator side by side, as in a rolling update: they differ in the definitions that they bring.

One leads, the other one waits and writes nothing; when the lease changes hands the next one judges by its own
definitions, once, and the record does not go to and fro between them.
"""

from __future__ import annotations

import pathlib
import shutil
from typing import TYPE_CHECKING

import yaml

from test import polling
from test.component import cluster

if TYPE_CHECKING:
    from test.component.world import World

_SHIPPED = pathlib.Path(__file__).parents[2] / "bindata" / "transitions"
NEWER, OLDER = "sno-to-ha-compact", "sno-to-ha-compact-of-before"
CPUS = 512
OLD, NEW = "operator-a", "operator-b"


def older(tmp_path: pathlib.Path, **nodes: int) -> tuple[str, str]:
    """Flags for the definitions of an earlier version: another name for ours, and what it asks of nodes."""
    folder = tmp_path / "older"
    shutil.copytree(_SHIPPED, folder)
    definition = yaml.safe_load((folder / f"{NEWER}.yaml").read_text())
    definition["name"] = OLDER
    next(one for one in definition["preflight"] if one["check"] == "ControlPlaneNodes").update(nodes)
    (folder / f"{NEWER}.yaml").unlink()
    (folder / f"{OLDER}.yaml").write_text(yaml.safe_dump(definition))
    return "--transitions-dir", str(folder)


async def led_by(world: World, name: str) -> None:
    async def look() -> bool:
        return await world.holder() == name

    await polling.until(f"{name} leads", look)


def writers(world: World, since: int) -> set[str]:
    return {one.who for one in world.server.writes[since:]}


async def test_the_next_version_takes_a_pending_request_over_once_and_finishes_it(
    world: World, tmp_path: pathlib.Path
) -> None:
    await cluster.set_ready(world.api, "master-2", ready=False)
    first = await world.idle_operator(OLD, *older(tmp_path, minCpus=CPUS))
    await world.ask_for()
    record = await world.until_phase("Pending")
    assert record["name"] == OLDER
    assert f"of {CPUS} CPUs" in (await world.check("ControlPlaneNodes"))["message"]
    requested = record["requestedTime"]

    second = await world.operator(NEW)
    before = len(world.server.writes)

    async def unchanged() -> bool:
        return bool((await world.record())["name"] == OLDER)

    await world.stays_so("the record is the leader's alone", unchanged)
    assert writers(world, before) <= {OLD}
    assert "leading as" not in second.words()

    handed = len(world.server.writes)
    assert await first.stop() == 0
    await led_by(world, NEW)

    async def taken_over() -> bool:
        return bool((await world.record())["name"] == NEWER)

    await polling.until("the record is the next version's", taken_over)
    record = await world.record()
    assert (record["phase"], record["requestedTime"]) == ("Pending", requested)
    message = (await world.check("ControlPlaneNodes"))["message"]
    assert "master-2 (Ready=False)" in message
    assert f"of {CPUS} CPUs" not in message
    assert writers(world, handed) <= {NEW}

    await cluster.set_ready(world.api, "master-2", ready=True)
    await world.completed_once()
    names = [one.record["name"] for one in world.server.writes if "name" in one.record]
    assert names == [OLDER, NEWER], "each of them has named its definition once"
    assert {one.who for one in world.server.topology_changes} == {NEW}
