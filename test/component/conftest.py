"""Opens a world for each test, against the API server that `--apiserver` names.

`embedded` and `real` are one of them, `both` runs every test twice. `auto`, the default, is embedded for all but those
where the server decides the outcome, which have the mark `on_real`. Where the binaries of the real one are missing, a
run that wants them ends with one line that says how to get them. The real server is started once for a run: the fixture
`real_server` (`real.Session`) is for tests that need it without a proxy in between, which `--apiserver embedded` leaves
out.

`on_real("change")` is the case of that name. `--apiserver both` and `real` run them all, and what has the mark
`nightly` (`test/further.py`): `make nightly`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from test import further, scheduling
from test.component import backend, forked, real
from test.component import world as worlds
from topology_simulator import binaries, operator_process

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Callable, Generator, Iterator

_FIGURE = "figure"
_ON_REAL = "on_real"
_SERVERS = ("embedded", "real")
_SESSION = pytest.StashKey[real.Session]()


def _servers(config: pytest.Config) -> tuple[str, ...]:
    """Return the servers of this run."""
    asked = config.getoption("--apiserver", "auto")
    return (asked,) if asked in _SERVERS else _SERVERS


def _missing() -> str:
    """Return what is to be done before the real server can be started; nothing when it can be."""
    try:
        binaries.folder()
        binaries.definitions()
    except binaries.MissingError as missing:
        return str(missing)
    return ""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "apiserver" in metafunc.fixturenames:
        metafunc.parametrize("apiserver", _servers(metafunc.config), indirect=True)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{_ON_REAL}(*cases): runs on the real API server instead of the embedded one; all cases, or those named",
    )


def _left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return, of each case that could run on both servers, the one that does not."""
    found = []
    for item in items:
        server = getattr(getattr(item, "callspec", None), "params", {}).get("apiserver")
        mark = item.get_closest_marker(_ON_REAL)
        wanted = mark is not None and (not mark.args or further.case(item.name) in mark.args)
        if server in _SERVERS and (server == "real") is not wanted:
            found.append(item)
    return found


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asking = [item.nodeid for item in items if "real_binaries" in getattr(item, "fixturenames", ())]
    if alone := [name for name in asking if scheduling.group(name) == name]:
        raise pytest.UsageError(
            "\n".join(("these start a real server: name their files in test/scheduling.py", *alone))
        )
    if config.getoption("--apiserver", "auto") == "auto":
        further.leave_out(config, items, _left_out(items))
    if "real" not in _servers(config):
        further.leave_out(config, items, [item for item in items if item.nodeid in asking])
    given = [getattr(getattr(item, "callspec", None), "params", {}).get("apiserver") for item in items]
    wanted = "real" in _servers(config) and (bool(asking) or "real" in given)
    if wanted and (missing := _missing()):
        raise pytest.UsageError(missing)


@pytest.fixture(scope="session")
def real_binaries() -> None:
    """For what starts a real API server: a run with `--apiserver embedded` leaves it out."""


@pytest.fixture(scope="session")
def real_server(real_binaries: None, request: pytest.FixtureRequest) -> Iterator[real.Session]:
    """The real API server of this run."""
    with real.Session() as session:
        request.config.stash[_SESSION] = session
        yield session


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End the server of a worker that has come to tests without a group, which need none: it takes CPU at rest, too."""
    session = item.config.stash.get(_SESSION, None)
    grouped = getattr(item.config, "workerinput", {}).get("grouped")
    if session and grouped and nextitem and scheduling.group(nextitem.nodeid) == nextitem.nodeid:
        session.__exit__(None, None, None)


@pytest.fixture(scope="session", autouse=True)
def operators_of_scenarios_are_forked() -> Iterator[None]:
    """Let the operators of scenarios be started as all others of these tests are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operator_process, "spawn", forked.spawn)
        yield


@pytest.fixture
def apiserver(request: pytest.FixtureRequest) -> backend.Place:
    """Where the worlds of this test are opened."""
    return backend.Place(request.getfixturevalue("real_server") if request.param == "real" else None)


@pytest.fixture
async def world(apiserver: backend.Place, tmp_path: pathlib.Path) -> AsyncIterator[worlds.World]:
    async with worlds.opened(apiserver, tmp_path) as made:
        yield made


@pytest.fixture
async def here(tmp_path: pathlib.Path) -> AsyncIterator[worlds.World]:
    """For what is decided on this side of the API: the embedded server, whatever the run asks for."""
    async with worlds.opened(backend.Place(), tmp_path) as made:
        yield made


@pytest.fixture
async def there(real_server: real.Session, tmp_path: pathlib.Path) -> AsyncIterator[worlds.World]:
    """For what only the real server decides."""
    async with worlds.opened(backend.Place(real_server), tmp_path) as made:
        yield made


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Say a figure that documentation may quote; all of them are printed at the end of the run."""
    return lambda text: record_property(_FIGURE, text)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    said = [
        (report.nodeid.rpartition("::")[2], text)
        for report in terminalreporter.getreports("passed")
        for name, text in report.user_properties
        if name == _FIGURE and report.when == "call"
    ]
    if said:
        terminalreporter.write_sep("-", "figures")
        for test, text in said:
            terminalreporter.write_line(f"{test}\n    {text}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    for made in getattr(item, "funcargs", {}).values():
        if report.failed and isinstance(made, worlds.World):
            report.sections.append(("operators", made.logs()))
            report.sections.append(("Infrastructure, as last seen", yaml.safe_dump(made.operands.latest)))
    return report
