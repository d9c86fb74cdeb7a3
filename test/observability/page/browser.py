"""A headless Chromium that is asked from a test's event loop.

Selenium is synchronous, so each question is asked in a thread while the cluster and the operator go on. The browser
gets no way out: whatever is not this machine does not resolve, and what it asks for is read from its own log.
"""

from __future__ import annotations

import asyncio
import base64
import json
import pathlib
import shutil
import time
import urllib.parse
from typing import TYPE_CHECKING, Any

from axe_core_python import base as axe
from selenium import webdriver
from selenium.common import exceptions
from selenium.webdriver.chrome import service
from selenium.webdriver.common import action_chains

if TYPE_CHECKING:
    from collections.abc import Mapping

CHROMIUM = pathlib.Path("/usr/bin/chromium")
CHROMEDRIVER = pathlib.Path("/usr/bin/chromedriver")
NARROW = 320
"""CSS pixels: what WCAG 1.4.10 asks a page to fit into."""
WIDTHS = (375, 768, 1280)
"""A phone, a tablet and a desk."""
_TOO_WIDE = """
const wide = document.documentElement.clientWidth;
return [...document.querySelectorAll("body *")]
  .filter((one) => one.getClientRects().length && !one.closest(".unseen, .skip, svg"))
  .filter((one) => getComputedStyle(one).clipPath === "none" && one.getBoundingClientRect().right > wide + 0.5)
  .map((one) => one.tagName + "." + one.className + ": " + one.innerText);
"""
_AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(done, (error) => done({error: String(error)}));
"""
_STEP = 0.05
_SECONDS = 20.0


def missing() -> str:
    """What is to be done before a browser can be started; nothing when it can be."""
    found = [str(one) for one in (CHROMIUM, CHROMEDRIVER) if shutil.which(one) is None]
    return f"{' and '.join(found)} not found: install them with hack/observability/install" if found else ""


def started(folder: pathlib.Path) -> webdriver.Chrome:
    """Start a browser whose profile is in `folder`. Selenium must have been told not to look for drivers."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    for argument in (
        "--headless=new",
        "--no-sandbox",  # containers have no user namespaces; it only ever sees our own page
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-extensions",
        "--no-first-run",
        "--hide-scrollbars",
        "--force-color-profile=srgb",
        "--lang=en-GB",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={folder}",
    ):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=service.Service(executable_path=str(CHROMEDRIVER)))
    driver.set_page_load_timeout(30)
    driver.set_script_timeout(30)
    return driver


class Browser:
    """One tab, as a test uses it."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self._driver = driver

    async def command(self, name: str, **arguments: object) -> dict[str, Any]:
        """Send a command of the DevTools protocol."""
        found: dict[str, Any] = await asyncio.to_thread(self._driver.execute_cdp_cmd, name, arguments)
        return found

    async def run(self, code: str, *arguments: object) -> Any:
        """Run code in the page and return what it returns."""
        return await asyncio.to_thread(self._driver.execute_script, code, *arguments)

    async def later(self, code: str) -> Any:
        """Run code in the page that calls its last argument with the answer."""
        return await asyncio.to_thread(self._driver.execute_async_script, code)

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other, wherever the focus is."""
        await asyncio.to_thread(action_chains.ActionChains(self._driver).send_keys(*keys).perform)

    async def click(self, selector: str) -> None:
        """Click an element as a person does: some things a browser lets nobody else do."""
        await asyncio.to_thread(lambda: self._driver.find_element("css selector", selector).click())

    async def wear(self, theme: str = "light", width: int = 1180, height: int = 800) -> None:
        """Prefer light or dark, in a window of this size, in UTC."""
        features = [
            {"name": "prefers-color-scheme", "value": theme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        await self.command("Emulation.setEmulatedMedia", features=features)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.command("Emulation.setDeviceMetricsOverride", **size)
        await self.command("Emulation.setTimezoneOverride", timezoneId="UTC")

    async def open(self, url: str) -> None:
        """Go there."""
        await asyncio.to_thread(self._driver.get, url)

    async def until(self, what: str, code: str, *arguments: object, seconds: float = _SECONDS) -> Any:
        """Wait until code that is run in the page returns something true, and return that."""
        ends = time.monotonic() + seconds
        while True:
            try:
                answer = await self.run(f"return ({code})", *arguments)
            except exceptions.WebDriverException as error:
                # An element that is not there yet, or a page that is just being left.
                answer, trouble = None, str(error.msg)
            else:
                trouble = repr(answer)
            if answer:
                return answer
            if time.monotonic() >= ends:
                body = await self.run("return document.body.innerText")
                raise AssertionError(f"not within {seconds:g} s: {what} ({code}): {trouble}; the page says:\n{body}")
            await asyncio.sleep(_STEP)

    async def phase(self, word: str, seconds: float = _SECONDS) -> None:
        """Wait until the page says this phase, by itself."""
        await self.until(
            f"the page says {word}", f"document.getElementById('phase').textContent === {word!r}", seconds=seconds
        )

    async def says(self, selector: str, *texts: str) -> None:
        """Wait until an element says all of these."""
        code = "arguments[1].every((text) => document.querySelector(arguments[0]).textContent.includes(text))"
        await self.until(f"{selector} says {texts}", code, selector, list(texts))

    async def text(self, selector: str) -> str:
        """What one element says."""
        found = await self.run(
            "const one = document.querySelector(arguments[0]); return one && one.innerText", selector
        )
        return str(found or "")

    async def picture(self) -> bytes:
        """The whole page, as PNG."""
        size = (await self.command("Page.getLayoutMetrics"))["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        await self.command("Page.bringToFront")
        found = await self.command("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(found["data"])

    async def asked_for(self) -> list[str]:
        """Addresses that the page has asked for since this was last called."""
        entries = await asyncio.to_thread(self._driver.get_log, "performance")
        messages = [json.loads(entry["message"])["message"] for entry in entries]
        return [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]

    async def complaints(self) -> list[Mapping[str, Any]]:
        """What the console has noted as an error since this was last called."""
        entries = await asyncio.to_thread(self._driver.get_log, "browser")
        return [entry for entry in entries if entry["level"] == "SEVERE"]


def hosts(urls: list[str]) -> set[str]:
    """Where these lead; what stands in the page itself leads nowhere."""
    parsed = [urllib.parse.urlsplit(url) for url in urls]
    return {one.hostname or "" for one in parsed if one.scheme not in {"data", "about", "blob", "chrome"}}


async def violations(browser: Browser) -> list[str]:
    """What axe-core finds wrong on the page as it stands."""
    await browser.run(axe.AXE_SCRIPT)
    found: dict[str, Any] = await browser.later(_AXE)
    assert "error" not in found, found
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: {[node['html'][:160] for node in one['nodes']]}"
        for one in found["violations"]
    ]


async def assert_readable(browser: Browser, what: str) -> None:
    """Nothing that axe-core knows is wrong, in light and dark, and nothing is cut off, however narrow the screen."""
    for width in (NARROW, *WIDTHS):
        await browser.wear(width=width)
        for theme in ("light", "dark") if width in {WIDTHS[0], WIDTHS[-1]} else ():
            await browser.wear(theme, width)
            assert await violations(browser) == [], f"{what}, {theme}, {width} wide"
        await asyncio.sleep(0.05)
        scrolled = await browser.run("return document.documentElement.scrollWidth")
        assert (scrolled, await browser.run(_TOO_WIDE)) == (width, []), f"{what}, {width} wide"
    await browser.wear()
