"""Over HTTPS a browser is asked who looks, and comes in with what `oc whoami -t` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selenium.webdriver.common import keys

from test.observability.page import browser as browsers
from test.observability.page import looking
from test.unit.core import worlds
from test.unit.serving import ground, pages
from topology_controller.serve import authn

if TYPE_CHECKING:
    import pathlib

_TOKEN = "sha256~what-oc-whoami-prints"


async def test_a_person_signs_in_looks_and_leaves(browser: browsers.Browser, tmp_path: pathlib.Path) -> None:
    await browser.command("Security.setIgnoreCertificateErrors", ignore=True)
    cluster = ground.Cluster()
    cluster.know(_TOKEN, "anna", authn.PAGE.path)
    cluster.know("sha256~of-somebody-else", "bert")
    house = pages.House(pages.QUICK)
    house.pin(worlds.healthy(scheduler=worlds.BROKEN))
    folder = ground.serving_pair(tmp_path)
    async with ground.served(cluster, folder, house.page.routes()) as server, house.page:
        await browser.open(ground.url(server, "/"))
        assert await browser.text("h1") == "Sign in"
        await looking.assert_readable(browser, "sign-in")

        for token, problem in (("nonsense", "does not know this token"), ("sha256~of-somebody-else", "bert")):
            await _give(browser, token)
            await browser.says("[role=alert]", problem)
        await _give(browser, _TOKEN)
        await browser.phase("Pending")
        await browser.until("it is live", "document.getElementById('live').textContent === 'Live'")
        assert _TOKEN not in await browser.run("return document.documentElement.outerHTML + location.href")
        assert await browser.run("return document.cookie") == "", "no script can read the session"
        house.pin(worlds.moved(worlds.healthy(), worlds.converging()))
        await browser.phase("Converging")

        await browser.click("#leave")
        await browser.until("the way in is shown again", "document.querySelector('h1').textContent === 'Sign in'")
        await browser.open(ground.url(server, "/"))
        assert await browser.text("h1") == "Sign in"
        assert browsers.hosts(await browser.asked_for()) == {"127.0.0.1"}


async def _give(browser: browsers.Browser, token: str) -> None:
    """Paste a token and press Enter."""
    await browser.run("document.getElementById('token').focus()")
    await browser.press(token, keys.Keys.ENTER)
