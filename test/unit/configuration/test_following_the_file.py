"""The file is followed as kubelet swaps it and as a person writes it; a bad one changes nothing but what is said."""

import asyncio
import contextlib
import logging
import os
import pathlib
from collections.abc import AsyncIterator

import pytest
from test.unit.configuration.files import HEAD, TRANSITIONS, Volume

from topology_controller.definitions import settings

SETTLED = settings.PERIOD + settings.BREATH


@pytest.fixture
def volume(tmp_path: pathlib.Path) -> Volume:
    return Volume(tmp_path)


class Seen:
    """What was told of a configuration."""

    def __init__(self) -> None:
        self.levels: list[str | None] = []
        self.changes = 0


@contextlib.asynccontextmanager
async def following(place: pathlib.Path | None) -> AsyncIterator[tuple[settings.Current, Seen]]:
    seen = Seen()
    made = settings.Current(place, TRANSITIONS, log_level=seen.levels.append)

    def changed() -> None:
        seen.changes += 1

    made.changed = changed
    task = asyncio.create_task(made.run())
    # Its first look is reckoned from here.
    await asyncio.sleep(0)
    try:
        yield made, seen
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def settles(made: settings.Current) -> set[int]:
    return {one.convergence.settle_seconds for one in made.transitions.definitions}


# -- what is followed


@pytest.mark.looptime
async def test_a_configmap_that_kubelet_swaps_is_in_force_with_the_next_look(volume):
    async with following(volume.file) as (made, seen):
        assert made.transitions is TRANSITIONS
        volume.swap(f"{HEAD}settleSeconds: 30\nlogLevel: debug\n")
        await asyncio.sleep(SETTLED + 0.01)
        assert (settles(made), seen.levels, seen.changes) == ({30}, ["debug"], 1)
        volume.swap(f"{HEAD}settleSeconds: 31\nlogLevel: debug\n")
        await asyncio.sleep(SETTLED + 0.01)
        assert (settles(made), seen.levels, seen.changes) == ({31}, ["debug"], 2)
        volume.swap(None)
        await asyncio.sleep(SETTLED + 0.01)
        assert made.transitions is TRANSITIONS
        assert (seen.levels, seen.changes) == (["debug", None], 3)
        await asyncio.sleep(600)
        assert seen.changes == 3, "what stays is no news"


@pytest.mark.looptime
async def test_a_file_that_is_being_written_is_not_believed_half_way(volume):
    async with following(volume.file) as (made, seen):
        await asyncio.sleep(settings.PERIOD - 0.01)
        text = f"{HEAD}settleSeconds: 30\n"
        for end in range(10, len(text), 10):
            volume.file.write_text(text[:end])
            await asyncio.sleep(settings.BREATH * 0.9)
        volume.file.write_text(text)
        await asyncio.sleep(SETTLED + settings.BREATH)
        assert (settles(made), made.trouble, seen.changes) == ({30}, "", 1)


# -- a file that is no good


@pytest.mark.looptime
async def test_a_bad_file_leaves_the_last_good_one_in_force_until_it_is_mended(volume, caplog):
    volume.swap(f"{HEAD}settleSeconds: 30\nlogLevel: debug\n")
    with caplog.at_level(logging.INFO):
        async with following(volume.file) as (made, seen):
            volume.swap(f"{HEAD}settleSeconds: 30\nlogLevel: loud\nskipChecks: []\n")
            await asyncio.sleep(SETTLED + 0.01)
            assert (settles(made), seen.levels, made.unknown) == ({30}, ["debug"], False)
            assert f"{volume.file}:4: logLevel is 'loud'" in made.trouble
            assert f"{volume.file}:5: unknown key 'skipChecks'" in made.trouble
            assert made.trouble.endswith("the configuration that was read before stays in force")
            assert seen.changes == 1, "somebody has to say so"
            volume.swap(f"{HEAD}settleSeconds: 30\nlogLevel: debug\n")
            await asyncio.sleep(SETTLED + 0.01)
            assert (settles(made), seen.levels, made.trouble, seen.changes) == ({30}, ["debug"], "", 2)
    said = [record.getMessage() for record in caplog.records]
    assert len([line for line in said if "cannot be used" in line]) == 2
    assert len([line for line in said if "is good again" in line]) == 1


@pytest.mark.parametrize("kind", ["folder", "pipe", "endless", "loop"])
def test_what_is_no_file_is_trouble_and_neither_a_hang_nor_a_crash(tmp_path, kind):
    place = tmp_path / "config.yaml"
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "endless":
        place.symlink_to("/dev/zero")
    else:
        place.symlink_to(place)
    made = settings.Current(place, TRANSITIONS)
    assert made.unknown
    assert str(place) in made.trouble
    assert "is no regular file" in made.trouble or "cannot be read" in made.trouble


@pytest.mark.parametrize("missing", ["config.yaml", "nowhere/config.yaml", ""])
def test_a_file_that_is_not_there_is_the_defaults(tmp_path, missing):
    made = settings.Current(tmp_path / missing if missing else None, TRANSITIONS)
    assert (made.transitions, made.trouble, made.unknown) == (TRANSITIONS, "", False)
