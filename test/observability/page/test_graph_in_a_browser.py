"""The picture of `kubectl topology graph -o svg` as a browser draws it: text stays in its box, in light and in dark."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.types import TopologyPair
from topology_controller.plugin import svg
from topology_controller.plugin.commands import graph

if TYPE_CHECKING:
    from test.observability.page.browser import Browser

_DOCS = pathlib.Path(__file__).parents[3] / "docs"
DOCUMENTED = _DOCS / "topology-graph.svg"
_OUTSIDE = """
const wrong = [];
const texts = [...document.querySelectorAll("svg text")];
for (const group of document.querySelectorAll("svg g")) {
  const box = group.querySelector("rect").getBBox();
  for (const text of group.querySelectorAll("text")) {
    const one = text.getBBox();
    if (one.x < box.x + 4 || one.x + one.width > box.x + box.width - 4) wrong.push("wide: " + text.textContent);
    if (one.y < box.y || one.y + one.height > box.y + box.height) wrong.push("high: " + text.textContent);
  }
}
const boxes = texts.map((one) => [one.textContent, one.getBBox()]);
boxes.forEach(([name, one], index) => boxes.slice(index + 1).forEach(([other, two]) => {
  const apart = one.x + one.width <= two.x || two.x + two.width <= one.x
    || one.y + one.height <= two.y + 1 || two.y + two.height <= one.y + 1;
  if (!apart) wrong.push(name + " touches " + other);
}));
return [texts.length, wrong];
"""
_CROSSED = """
const boxes = [...document.querySelectorAll("svg text")].map((one) => [one.textContent, one.getBBox()]);
const crossed = new Set();
for (const line of document.querySelectorAll("svg > path, svg > g > path")) {
  for (let at = 0; at <= line.getTotalLength(); at += 1) {
    const point = line.getPointAtLength(at);
    for (const [name, box] of boxes) {
      const inside = point.x > box.x && point.x < box.x + box.width && point.y > box.y && point.y < box.y + box.height;
      if (inside) crossed.add(name);
    }
  }
}
return [boxes.length, [...crossed]];
"""
_COLOURS = """
const fill = (selector) => getComputedStyle(document.querySelector(selector)).fill;
return [fill("svg .paper"), fill("svg .here text.name")];
"""


def _large() -> str:
    """Names as long as they may be, cycles, links over several columns."""
    pairs = [
        TopologyPair(control_plane=f"Number{one}" + "W" * 55, infrastructure="HighlyAvailable") for one in range(5)
    ]
    notes = ("MachineConfigControllerObserved", "m" * 70, "on platform None or External only; this is AWS")
    edges = [
        graph.Edge(
            pairs[one], pairs[other], f"from-{one}-to-{other}", svg.VERDICTS[(one + other) % len(svg.VERDICTS)], notes
        )
        for one in range(5)
        for other in range(5)
        if (one * other) % 3 != 1
    ]
    return svg.svg(edges, pairs[2], ["A cluster whose name is long " * 12])


@pytest.mark.parametrize("drawn", [DOCUMENTED.read_text(), _large()], ids=["documented", "large"])
async def test_text_stays_in_its_box_in_light_and_in_dark(browser: Browser, tmp_path: pathlib.Path, drawn: str) -> None:
    place = tmp_path / "graph.svg"
    place.write_text(drawn)
    seen: dict[str, Any] = {}
    for theme in ("light", "dark"):
        await browser.wear(theme)
        await browser.open(place.as_uri())
        count, wrong = await browser.run(_OUTSIDE)
        assert count > 20
        assert wrong == []
        seen[theme] = await browser.run(_COLOURS)
    for theme, colours in (("light", svg.LIGHT), ("dark", svg.DARK)):
        assert seen[theme] == [_computed(colours["paper"]), _computed(colours["ink"])], theme
    assert await browser.complaints() == []


async def test_no_line_of_the_life_of_a_transition_crosses_a_text(browser: Browser) -> None:
    await browser.open((_DOCS / "transition.svg").as_uri())
    count, crossed = await browser.run(_CROSSED)
    assert count > 10
    assert crossed == []


def _computed(colour: str) -> str:
    red, green, blue = (int(colour[index : index + 2], 16) for index in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"
