"""What everybody must be able to do with the page, whatever it shows: read it, in any light, on a narrow screen."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from axe_core_python import base as axe

if TYPE_CHECKING:
    from test.observability.page.browser import Browser

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
        for theme in ("light", "dark") if width != NARROW else ():
            await browser.wear(theme, width)
            assert await violations(browser) == [], f"{what}, {theme}, {width} wide"
        await asyncio.sleep(0.05)
        scrolled = await browser.run("return document.documentElement.scrollWidth")
        assert (scrolled, await browser.run(_TOO_WIDE)) == (width, []), f"{what}, {width} wide"
    await browser.wear()
