"""A browser holds the page to its policy, and gives nothing of it to another site.

The page is on plain HTTP at a loopback address, as a forwarded port is; the other site is one that the same browser
has open.
"""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from test.unit.core import worlds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from test.observability.page import browser as browsers
    from test.unit.serving import pages

_ELSEWHERE = "http://127.0.0.1:9/"
_VIOLATIONS = """
window.refused = [];
document.addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
"""
_TRIES = {
    "script-src-elem": "const one = document.createElement('script'); one.textContent = 'window.broken = 1'; "
    "document.body.append(one)",
    "script-src-attr": "document.body.setAttribute('onclick', 'window.broken = 2'); document.body.click()",
    "style-src-elem": "const one = document.createElement('style'); one.textContent = 'body { display: none }'; "
    "document.head.append(one)",
    "style-src-attr": "document.body.setAttribute('style', 'display: none')",
    "img-src": f"new Image().src = '{_ELSEWHERE}x.png'",
    "connect-src": f"fetch('{_ELSEWHERE}').catch(() => 0)",
    "frame-src": f"const one = document.createElement('iframe'); one.src = '{_ELSEWHERE}'; document.body.append(one)",
    "form-action": f"const one = document.createElement('form'); one.action = '{_ELSEWHERE}'; "
    "document.body.append(one); one.submit()",
    "base-uri": f"const one = document.createElement('base'); one.href = '{_ELSEWHERE}'; document.head.append(one)",
}
_READ = """
const [url, done] = [arguments[0], arguments[arguments.length - 1]];
const ways = {
  fetch: () => fetch(url + "state").then((answer) => answer.text()),
  "with cookies": () => fetch(url + "state", {credentials: "include"}).then((answer) => answer.text()),
  blind: () => fetch(url + "state", {mode: "no-cors"}).then((answer) => answer.text())
    .then((text) => text || Promise.reject()),
  post: () => fetch(url + "state", {method: "POST", body: "x=y"}).then((answer) => answer.text()),
  events: () => new Promise((done, failed) => {
    const one = new EventSource(url + "events"); one.onmessage = done; one.onerror = failed;
  }),
  script: () => new Promise((done, failed) => {
    const one = document.createElement("script");
    one.src = url + "state"; one.onload = done; one.onerror = failed; document.body.append(one);
  }),
  frame: () => new Promise((done, failed) => {
    const one = document.createElement("iframe");
    one.onload = () => { try { done(one.contentDocument.body.innerText); } catch (error) { failed(error); } };
    one.src = url; document.body.append(one);
  }),
};
Promise.allSettled(Object.values(ways).map((way) => way())).then(
  (results) => done(Object.keys(ways).filter((_, place) => results[place].status === "fulfilled")));
"""


@pytest.fixture(autouse=True)
def _decided(house: pages.House) -> None:
    house.pin(worlds.healthy(datetime.now(UTC)), datetime.now(UTC))


@contextlib.asynccontextmanager
async def other_site() -> AsyncIterator[str]:
    """Serve an empty page at another port; lend its address."""

    async def show(_: web.Request) -> web.Response:
        return web.Response(text="<!DOCTYPE html><title>Elsewhere</title><body>", content_type="text/html")

    app = web.Application()
    app.add_routes([web.get("/", show)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def test_nothing_runs_or_loads_but_what_stands_in_the_page(house: pages.House, browser: browsers.Browser) -> None:
    await browser.open(house.url)
    await browser.phase("Admitting")
    assert await browser.complaints() == [], "the page itself keeps to its policy"
    await browser.run(_VIOLATIONS)
    for directive, attempt in _TRIES.items():
        await browser.run(f"{{ {attempt} }}")
        await browser.until(f"{directive} refuses it", "window.refused.includes(arguments[0])", directive)
    assert await browser.run("return [window.broken, getComputedStyle(document.body).display]") == [None, "block"]
    assert (await browser.run("return location.href")).startswith(house.url)
    assert await browser.run("return document.cookie + sessionStorage.length") == "0", "there is no session to steal"


async def test_another_site_reads_nothing_of_it(house: pages.House, browser: browsers.Browser) -> None:
    async with other_site() as elsewhere:
        for url in (f"{house.url}/", f"{house.url.replace('127.0.0.1', 'localhost')}/"):
            await browser.open(elsewhere)
            read = await browser.later(f"((...arguments) => {{ {_READ} }})({url!r}, arguments[0])")
            assert read == [], f"{read} at {url}"
    assert house.watches.looks == 0, "nothing was computed for it"


async def test_a_link_on_another_site_leads_to_a_word_of_why(house: pages.House, browser: browsers.Browser) -> None:
    async with other_site() as elsewhere:
        await browser.open(elsewhere)
        await browser.run(
            "const one = document.createElement('a'); one.id = 'link'; one.href = arguments[0]; "
            "one.textContent = 'look'; document.body.append(one)",
            house.url,
        )
        await browser.click("#link")
        await browser.says("body", "open the address by itself")
    await browser.open(house.url)
    await browser.phase("Admitting")
