"""Keeps a list of nodes as the operator keeps it, in a process of its own, and prints what that took: one line of JSON.

python -m test.component.listing KUBECONFIG
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import re
import sys
import time

from topology_controller.kube import client as clients
from topology_controller.kube import config, reflector
from topology_controller.observe import catalog, facts, live

_NODES = next(source for source in catalog.EVIDENCE if source.field == "other_nodes")


def _mib(field: str) -> float:
    found = re.search(rf"^{field}:\s+(\d+) kB$", pathlib.Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024


async def _keep(kubeconfig: str) -> dict[str, float]:
    configuration = await config.load(kubeconfig, None)
    synced, changes = asyncio.Event(), 0

    def changed() -> None:
        nonlocal changes
        changes += 1
        if kept.snapshot().synced:
            synced.set()

    async with clients.Client(configuration, user_agent="test", field_manager="test") as client:
        before, began = _mib("VmRSS"), time.monotonic()
        kept = reflector.Reflector(
            client,
            _NODES.selection,
            _NODES.reduce,
            changed,
            malformed=lambda name, error: facts.Unobserved(name, str(error)),
        )
        task = asyncio.create_task(kept.run())
        longest = 0.0
        while not synced.is_set():
            tick = time.monotonic()
            await asyncio.sleep(0.005)
            longest = max(longest, time.monotonic() - tick - 0.005)
        listed = time.monotonic() - began
        began = time.monotonic()
        nodes = live.value(_NODES, kept.snapshot().objects.values())
        read = time.monotonic() - began
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return {
            "nodes": len(nodes),
            "before": before,
            "after": _mib("VmRSS"),
            "peak": _mib("VmHWM"),
            "listed": listed,
            "read": read,
            "stall": longest,
            "changes": changes,
        }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(_keep(sys.argv[1]))))
