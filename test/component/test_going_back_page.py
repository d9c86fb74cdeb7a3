"""What docs/going-back.md tells an administrator to type works, in its order, on a cluster that was restored.

What it shows of `oc get` is run by `test_documented_commands`.
"""

from __future__ import annotations

import asyncio
import pathlib

from test.component import backend, documented, phases, plugin
from test.component import world as worlds
from topology_simulator import backups, kinds

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "going-back.md"


async def test_what_the_page_says_leads_from_the_backup_to_completed_again(tmp_path: pathlib.Path) -> None:
    status, cancel, again = [one.arguments[1:] for one in documented.of(PAGE) if one.arguments[0] == "topology"]
    async with worlds.opened(backend.Place(), tmp_path) as world:
        command = plugin.Plugin(tmp_path, world.server.kubeconfig())
        await world.idle_operator()
        await phases.bring(world, "Pending")
        backup = await world.server.snapshot()
        await phases.go_on(world, "Pending")
        await world.until_phase("Completed")

        await world.server.put_back(backup, bump=backups.BUMPS["raised"], meanwhile=world.operands.forget)
        await world.operands.seen()
        seen = await command.run(*status)
        assert (seen.code, "Pending" in seen.printed, "MastersSchedulable" in seen.printed) == (0, True, True), seen
        assert (await command.run(*cancel)).code == 0
        await world.until_phase("Idle")

        # What the page calls nodes and members that are back.
        await world.api.patch(kinds.SCHEDULERS, "cluster", {"spec": {"mastersSchedulable": True}})
        world.echo.on = world.operands.on = True
        asking = asyncio.create_task(command.run(*again))
        await world.until_phase("Completed", seconds=30.0)
        made = await asking
        assert (made.code, "Completed: the cluster is HighlyAvailable" in made.printed) == (0, True), made
