"""When the operator goes away, the page says so, keeps what it knew, and goes on by itself when it is back."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from test.component.broken_facts import node
from test.observability.page.browser import free_port

if TYPE_CHECKING:
    from test.component.world import World
    from test.observability.page.browser import Browser


async def test_a_page_that_has_lost_its_operator(world: World, browser: Browser) -> None:
    bound = ("--bind-address", f"127.0.0.1:{free_port()}")
    first = await world.operator("operator-a", *bound)
    await browser.open(f"http://{bound[1]}/")
    await browser.phase("Idle")
    assert await browser.text("#live") == "Connected"
    assert await browser.run("return document.getElementById('stale').hidden")
    await browser.run("window.loaded = 'once'")

    first.send(signal.SIGKILL)
    await browser.until("the banner is there", "!document.getElementById('stale').hidden")
    assert await browser.text("#live") == "Not live"
    said = await browser.text("#stale")
    assert "The connection was lost." in said, said
    assert "What you see is from" in said, said
    assert await browser.text("#phase") == "Idle", "what was known stays"

    await first.ended()
    await world.forget_lease()
    await node("master-2", spec={"unschedulable": True})(world.api)
    await world.ask_for()
    await world.operator("operator-b", *bound)
    # Not by hand: it may have noticed by itself already, and then the button is gone.
    await browser.run("document.getElementById('retry').click()")
    await browser.phase("Pending")
    await browser.until("the banner is gone", "document.getElementById('stale').hidden")
    assert await browser.text("#live") == "Live"
    await browser.says("#about", "the process that leads")
    assert await browser.run("return window.loaded") == "once"
