"""Files of a mounted volume: one set at a time, whole or named, and never waited for."""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING

import pytest

from topology_controller import mounted

if TYPE_CHECKING:
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


def test_a_set_that_goes_away_meanwhile_is_no_error(tmp_path, opened):
    volume(tmp_path, "old", "new")

    def replace() -> None:
        turn(tmp_path, "new")
        (tmp_path / "..old" / "two").unlink(missing_ok=True)

    opened.append(replace)
    assert mounted.read(tmp_path, *NAMES) == (b"one of new", b"two of new")


def test_a_volume_that_is_turned_all_the_time_is_given_up(tmp_path, opened):
    volume(tmp_path, "old", "new")
    sets = iter(["new", "old"] * 10)
    opened.append(lambda: turn(tmp_path, next(sets)))
    with pytest.raises(mounted.MountedFileError, match="changes while it is being read"):
        mounted.read(tmp_path, "one")


def test_a_plain_folder_is_read_as_it_is(tmp_path):
    (tmp_path / "one").write_text("content")
    assert mounted.read(tmp_path, "one") == (b"content",)
    (tmp_path / "..data").symlink_to("..data")
    assert mounted.read(tmp_path, "one") == (b"content",), "a link to itself is none"


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


def test_what_is_lent_has_a_name_until_it_is_given_back(monkeypatch):
    for _ in range(2):
        with mounted.as_file(b"content") as name:
            assert pathlib.Path(name).read_bytes() == b"content"
        assert not pathlib.Path(name).exists()
        monkeypatch.delattr(os, "memfd_create", raising=False)
