"""What every test needs: a seed, a loop that pytest-asyncio may return to, and nothing that is skipped.

A plugin, which the conftest.py at the top loads for the tests below `test` and for those beside the simulator.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from test import durations, exploring, further, leftovers, scheduling, skips

if TYPE_CHECKING:
    from collections.abc import Iterator

exploring.load_profile()
# jsonschema would build grammars of international addresses, for a second of each process: no schema of ours has one.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # that is how an import is stopped


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose what property tests try, before Hypothesis is configured."""
    further.register(config)
    # The API servers, etcd and kubectl that tests start: memory they may have, time is what many of them have not.
    os.environ.setdefault("GOGC", "400")
    config.pluginmanager.register(exploring.Exploring(exploring.seed_of(config)))
    config.pluginmanager.register(leftovers.Leftovers())
    config.pluginmanager.register(skips.Skips())


def pytest_collection_finish() -> None:
    """Do not look through all that was imported and collected, again and again, for what is garbage: it is not.

    A fifth of the time of a property test went into that.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(scope="session", autouse=True)
def loop_to_return_to() -> Iterator[None]:
    """Own the loop that pytest-asyncio would otherwise make to return to, and leave for the garbage collector."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()


@pytest.fixture(scope="session", autouse=True)
def folder_for_temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give this process of tests a folder of its own for temporary files, so that each that stays has an owner."""
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("temporary"))
        patch.setenv("TMPDIR", folder)
        patch.setattr("tempfile.tempdir", folder)
        leftovers.watch(folder)
        yield


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave further cases to `make nightly`."""
    if config.getoption("--apiserver", "auto") == "auto":
        further.leave_out(config, items, [item for item in items if further.is_nightly(item)])
    durations.long_first(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> scheduling.Grouped | None:
    """Let those that share a real server be run by one worker, where work is handed out test by test."""
    return scheduling.Grouped(config, log) if config.getoption("dist") == "load" else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["grouped"] = node.config.getoption("dist") == "load"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    durations.note(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        durations.save(session.config.rootpath)
