"""`python -m topology_simulator.fleet`: plays a story of a fleet with real engines, and ends with a verdict.

    [--story S] [--spokes N] [--folder D]     play it
    --mutant M [--spokes N] [--folder D]      play the story that shows that a safeguard of the pack is missing
    --list                                    what there is

Exit codes: 0 the verdict of the story holds (with a mutant: does not), 1 otherwise, 2 bad usage, 130 interrupted. Logs
are kept in the folder.
"""

import argparse
import pathlib
import shutil
import sys
from typing import Any

from .. import SimulatorError, demo, pace, terminal
from . import chronicle, engines, pack, stories, verdict

_FOLDER = pathlib.Path("build") / "fleet"
_PACE = pace.DEMO.scaled(0.3)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="topology_simulator.fleet", description="a fleet in a box")
    parser.add_argument("--story", choices=list(stories.STORIES), default="canary-then-wave")
    parser.add_argument("--mutant", choices=list(pack.MUTANTS), help="a pack without a safeguard; chooses the story")
    parser.add_argument("--spokes", type=int, default=3, help="clusters besides the hub; default: %(default)s")
    parser.add_argument("--folder", type=pathlib.Path, help="for logs; default: build/fleet/STORY")
    parser.add_argument("--list", action="store_true", help="list the stories")
    arguments = parser.parse_args(argv)
    if arguments.mutant:
        arguments.story = pack.MUTANTS[arguments.mutant].story
    least = stories.STORIES[arguments.story].least_spokes
    if not least <= arguments.spokes <= 16:
        parser.error(f"--spokes {arguments.spokes}: {arguments.story} wants {least} to 16")
    return arguments


async def _play(name: str, spokes: int, folder: pathlib.Path, mutant: pack.Mutant | None) -> int:
    story, screen = stories.STORIES[name], terminal.Terminal(sys.stdout)
    screen.print(f"{name}: {story.summary}\n" + (f"The pack lacks a safeguard: {mutant.what}\n" if mutant else ""))
    try:
        engines.folder()
        given = pack.Pack(mutant.edit if mutant else None)
        wanted: dict[str, Any] = {"masters": story.masters, "deadline_minutes": story.deadline_minutes}
        async with chronicle.opened(spokes, _PACE, folder, screen, given=given, **wanted) as fleet:
            try:
                await story.play(fleet)
            except verdict.StoryFailedError as error:
                fleet.claim("the story comes to its end", holds=False, actual=error)
    except (SimulatorError, OSError) as error:
        words = f"\nFailed after {screen.seconds:.0f} s, logs are in {folder}: {error}"
        print(screen.paint(words, "red"), file=sys.stderr)
        return 1
    screen.print("\nThe order of events, in seconds:")
    for line in fleet.chronicle.table():
        screen.print(f"  {line}")
    screen.print(f"\nVerdict of {name} after {screen.seconds:.0f} s; logs are in {folder}")
    fleet.show(screen)
    as_wanted = fleet.holds is (mutant is None)
    answer = "The story holds" if fleet.holds else "The story does not hold"
    more = ", and it should not with this pack" if mutant and as_wanted else ""
    screen.print(screen.paint(f"\n{answer}{more}", "green" if as_wanted else "red"))
    return 0 if as_wanted else 1


def main(argv: list[str] | None = None) -> int:
    """Play a story; return the exit code."""
    arguments = _arguments(argv)
    if arguments.list:
        for name, story in stories.STORIES.items():
            print(f"{name:<20} {story.summary}")
        for name, lacking in pack.MUTANTS.items():
            print(f"MUTANT={name:<13} {lacking.what}: shown by {lacking.story}")
        return 0
    folder = (arguments.folder or _FOLDER / (arguments.mutant or arguments.story)).absolute()
    shutil.rmtree(folder, ignore_errors=True)
    mutant = pack.MUTANTS[arguments.mutant] if arguments.mutant else None
    return demo.run(_play(arguments.story, arguments.spokes, folder, mutant))


if __name__ == "__main__":
    sys.exit(main())
