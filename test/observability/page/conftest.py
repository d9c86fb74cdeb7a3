"""One browser for all tests of the page; each gets it clean."""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING

import pytest

from test.component import backend
from test.component import world as worlds
from test.observability.page import browser as browsers
from test.unit.serving import pages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from selenium import webdriver


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    if missing := browsers.missing():
        pytest.fail(missing, pytrace=False)
    # The driver's place is known: nobody is to look for another one, nor to be told that we did not.
    os.environ["SE_OFFLINE"] = os.environ["SE_AVOID_STATS"] = "true"
    made = browsers.started(tmp_path_factory.mktemp("chromium"))
    yield made
    made.quit()


@pytest.fixture
async def browser(driver: webdriver.Chrome) -> browsers.Browser:
    """The browser at nowhere, wide and light, with an empty log."""
    made = browsers.Browser(driver)
    await made.open("about:blank")
    await made.command("Emulation.setScriptExecutionDisabled", value=False)
    await made.wear()
    await made.asked_for()
    await made.complaints()
    return made


@pytest.fixture
async def house() -> AsyncIterator[pages.House]:
    """The page alone, of facts that a test makes."""
    async with pages.opened() as made:
        yield made


@pytest.fixture
async def world(tmp_path: pathlib.Path) -> AsyncIterator[worlds.World]:
    """A cluster behind the embedded API server, as the component tests have it."""
    async with worlds.opened(backend.Place(None), tmp_path) as made:
        yield made


@pytest.fixture
def pictures(tmp_path: pathlib.Path) -> pathlib.Path:
    """Where pictures go."""
    folder = pathlib.Path(os.environ.get("PAGE_PICTURES") or tmp_path / "pictures").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder
