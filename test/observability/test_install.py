"""The script that installs what is needed does nothing when all is there, and says one line when it can do nothing."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "hack" / "observability" / "install"
COMMANDS = ("prometheus", "promtool", "chromium", "chromedriver")
_SECONDS = 30


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder of commands: all that are needed, none that installs."""
    for name in COMMANDS:
        command(tmp_path, name, "exit 0")
    return tmp_path


def command(folder: pathlib.Path, name: str, does: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{does}\n")
    file.chmod(0o755)


def installed(machine: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own script
        ["/bin/bash", str(SCRIPT), *arguments],
        env={"PATH": str(machine)},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )


def test_when_all_is_there_nothing_is_done(machine: pathlib.Path) -> None:
    command(machine, "apt-get", "echo asked >&2; exit 1")
    done = installed(machine)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("missing", "package"),
    [
        ("prometheus", "prometheus"),
        ("promtool", "prometheus"),
        ("chromium", "chromium"),
        ("chromedriver", "chromium-driver"),
    ],
)
def test_without_apt_one_line_says_what_is_missing(machine: pathlib.Path, missing: str, package: str) -> None:
    (machine / missing).unlink()
    done = installed(machine)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"missing: {package} " in done.stderr


def test_who_is_not_root_is_told_so(machine: pathlib.Path) -> None:
    for name in COMMANDS:
        (machine / name).unlink()
    command(machine, "apt-get", "echo asked >&2; exit 1")
    command(machine, "id", "echo 1000")
    done = installed(machine)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "missing: prometheus chromium chromium-driver; run this as root" in done.stderr
