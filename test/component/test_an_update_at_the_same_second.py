"""An update and another topology are asked for at the same second, in both orders: never both.

The version operator takes an update of a patch version whatever Upgradeable says (openshift/cluster-version-operator,
pkg/cvo/cvo.go), so nothing but the last live read keeps the two apart: an update that it shows lets nothing move. One
that begins after that read comes after the change for everybody.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from test.component import backend
from topology_simulator import conditions, kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from test.component.world import World

# Milliseconds: from well before the request to when the change was sent a while ago.
_APART = (-300, -30, *range(0, 1470, 15))
_BY_DAY = ("-30", "60", "300", "900")


async def _update(world: World) -> float:
    """Begin an update, as the version operator reports one; return when that was written, in UNIX seconds."""
    version = await world.api.get(kinds.CLUSTER_VERSIONS, "version")
    working = conditions.Condition("Progressing", "True", message="Working towards 4.22.9")
    begun = {**version["status"]["history"][0], "state": "Partial", "version": "4.22.9", "completionTime": None}
    version["status"]["conditions"] = conditions.merged(version, [working])
    version["status"]["history"].insert(0, begun)
    await world.api.put(kinds.CLUSTER_VERSIONS, version, "status")
    return time.time()


@pytest.mark.nightly(but=_BY_DAY)
@pytest.mark.on_real("300")
@pytest.mark.parametrize("apart", _APART)
async def test_nothing_moves_once_an_update_was_read(
    world: World, apart: int, figure: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []

    async def note(_: object) -> None:
        sent.append(time.time())

    one_writer, say = asyncio.Lock(), world.echo.say

    async def alone(operator: dict[str, Any]) -> None:
        async with one_writer:
            await say(operator)

    monkeypatch.setattr(world.echo, "say", alone)
    await world.idle_operator()
    world.server.before(backend.is_change, note)

    async def update() -> float:
        await asyncio.sleep(max(0.0, apart / 1000))
        async with one_writer:
            return await _update(world)

    updating = asyncio.create_task(update())
    await asyncio.sleep(max(0.0, -apart / 1000))
    await world.ask_for()
    begun = await updating
    record = (await world.until("it is decided", _decided, seconds=20.0))["topologyTransition"]
    figure(f"an update {apart} ms after the request: {record['phase']}")
    if record["phase"] == "Pending":
        assert sent == []
        return
    read = [one.time for one in world.server.asked() if one.resource == "clusterversions" and not one.watch]
    assert begun > max(moment for moment in read if moment < sent[0])


def _decided(status: dict[str, Any]) -> bool:
    record = status.get("topologyTransition") or {}
    checks = [(check["name"], check["status"]) for check in record.get("checks") or []]
    waits = record.get("phase") == "Pending" and ("NoUpgradeInProgress", "Unmet") in checks
    return waits or record.get("phase") in {"Converging", "Completed"}
