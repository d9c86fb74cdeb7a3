"""docs/install.md names files and paths that are there: in the image, in what is built, and on the command line."""

from __future__ import annotations

import pathlib
import re
import tomllib

from test.unit.docs import pages

import krew
from topology_controller import _version
from topology_controller.plugin import __main__ as plugin

PAGE = (pages.ROOT / "docs" / "install.md").read_text()
VERSION = _version.__version__.partition("+")[0]


def test_the_path_in_the_image_is_where_the_dockerfile_installs() -> None:
    dockerfile = (pages.ROOT / "Dockerfile").read_text()
    folder = re.search(r"-m venv --without-pip (\S+)", dockerfile)
    python = re.search(r"ARG PYTHON=/usr/bin/(\S+)", dockerfile)
    assert folder
    assert python
    assert f"--path {folder[1]}/lib/{python[1]}/site-packages/:" in PAGE
    assert f"{python[1]} -m {plugin.__package__} " in PAGE


def test_the_names_of_wheel_and_archive_are_those_that_are_built() -> None:
    project = tomllib.loads((pages.ROOT / "pyproject.toml").read_text())["project"]
    assert f"{project['name'].replace('-', '_')}-{VERSION}-py3-none-any.whl" in PAGE
    assert krew.archive_name("linux/amd64", VERSION) in PAGE
    assert f"Python {krew.PYTHONS[0]} to {krew.PYTHONS[-1]}" in PAGE


def test_every_python_that_an_archive_serves_is_one_that_the_project_supports() -> None:
    project = tomllib.loads((pages.ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={krew.PYTHONS[0]}"
    assert pathlib.Path(krew.LAUNCHER).read_text().startswith("#!/usr/bin/env python3\n")
