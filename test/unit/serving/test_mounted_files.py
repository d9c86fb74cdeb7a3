"""Files of a mounted volume: one set at a time, whole or named, and never waited for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from topology_controller import mounted

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

NAMES = ("one", "two")


def volume(folder: pathlib.Path, *sets: str) -> None:
    """Make a folder as kubelet does: sets of files, and links that lead to the first one."""
    for name in sets:
        (folder / f"..{name}").mkdir()
        for file in NAMES:
            (folder / f"..{name}" / file).write_text(f"{file} of {name}")
    (folder / "..data").symlink_to(f"..{sets[0]}")
    for file in NAMES:
        (folder / file).symlink_to(f"..data/{file}")


def turn(folder: pathlib.Path, name: str) -> None:
    (folder / "..link").symlink_to(f"..{name}")
    (folder / "..link").rename(folder / "..data")


@pytest.fixture
def opened(monkeypatch):
    """Call something after every file that is opened."""
    calls: list[Callable[[], None]] = []
    real = os.open

    def opening(place, *options):
        number = real(place, *options)
        for call in calls:
            call()
        return number

    monkeypatch.setattr(os, "open", opening)
    return calls


def test_a_volume_that_is_turned_meanwhile_is_read_again_and_never_mixed(tmp_path, opened):
    volume(tmp_path, "old", "new")
    opened.append(lambda: turn(tmp_path, "new"))
    assert mounted.read(tmp_path, *NAMES) == (b"one of new", b"two of new")


def test_a_volume_that_is_turned_all_the_time_is_given_up(tmp_path, opened):
    volume(tmp_path, "old", "new")
    sets = iter(["new", "old"] * 10)
    opened.append(lambda: turn(tmp_path, next(sets)))
    with pytest.raises(mounted.MountedFileError, match="changes while it is being read"):
        mounted.read(tmp_path, "one")


def test_a_file_that_cannot_be_read_is_named_as_it_is_seen(tmp_path):
    volume(tmp_path, "old")
    (tmp_path / "pipe").symlink_to("..data/pipe")
    os.mkfifo(tmp_path / "..old" / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "..old" / "folder").mkdir()
    for name, reason in (
        ("three", "does not exist"),
        ("pipe", "is no regular file"),
        ("folder", "is no regular file"),
        ("two", "is larger than 3 bytes"),
        ("one/two", "cannot be read: Not a directory"),
    ):
        with pytest.raises(mounted.MountedFileError) as raised:
            mounted.read(tmp_path, name, largest=3)
        assert (raised.value.path, raised.value.reason) == (tmp_path / name, reason)
        assert str(raised.value) == f"{tmp_path / name} {reason}"
