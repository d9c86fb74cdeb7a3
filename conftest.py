"""Our plugin and options, where pytest knows them whatever it is started with, and from any folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

pytest_plugins = ["test.sessions"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the option that test/component/conftest.py explains."""
    parser.addoption(
        "--apiserver",
        choices=("auto", "embedded", "real", "both"),
        default="auto",
        help="API server of the component tests; default: auto, which is embedded, and real where the server decides",
    )
