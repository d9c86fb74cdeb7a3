"""Opens a world for each test, against the API server that `--apiserver` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from test.component import world as worlds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Callable, Generator

_FIGURE = "figure"
_CHOICES = ("embedded", "real", "both")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--apiserver", choices=_CHOICES, default="embedded", help="API server of the component tests; default: embedded"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "apiserver" in metafunc.fixturenames:
        asked = metafunc.config.getoption("--apiserver", "embedded")
        metafunc.parametrize("apiserver", ("embedded", "real") if asked == "both" else (asked,), indirect=True)


@pytest.fixture
def apiserver(request: pytest.FixtureRequest) -> str:
    if request.param == "real":
        pytest.fail("--apiserver real is not here yet: it comes with hack/envtest", pytrace=False)
    return str(request.param)


@pytest.fixture
async def world(apiserver: str, tmp_path: pathlib.Path) -> AsyncIterator[worlds.World]:
    async with worlds.opened(tmp_path) as made:
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
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    made = getattr(item, "funcargs", {}).get("world")
    if report.failed and isinstance(made, worlds.World):
        report.sections.append(("operators", made.logs()))
        report.sections.append(("Infrastructure, as last seen", worlds.yaml.safe_dump(made.operands.latest)))
    return report
