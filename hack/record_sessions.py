"""Records sessions of `oc topology` on clusters in a box, for docs/development/sessions: what is typed, and printed.

Each session is a scenario, played by the operator as its own process, with the installed command in front of it. What
differs from run to run is a word in angle brackets: times, ages, versions, ids. With names of scenarios only those;
with `--check` nothing is written, and the exit code is 1 where a page is another one.
"""

import argparse
import asyncio
import difflib
import html
import os
import pathlib
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from topology_api import vocabulary
from topology_simulator import box, kinds, pace, play, scenario

PAGES = pathlib.Path(__file__).resolve().parents[1] / "docs" / "development" / "sessions"
_PROGRAM = pathlib.Path(sys.executable).with_name("kubectl-topology")
_PROMPT = "$ oc topology "
_COLUMNS = "110"
_POD = "cluster-topology-operator-6f7c9d5b8-x2x9w"
_PATIENCE = 180.0
"""Seconds for one session: a deadline of the operator is a minute at least."""
_COMMAND_PATIENCE = 60.0
_ABOUT = f"""Recorded by `hack/record_sessions.py`, {_COLUMNS} columns wide.
What differs each time is `<time>`, `<age>`, `<progress>`, `<version>` or `<attempt>`; a wait is shown with
the last of its news. `...` below a title stands for what an earlier command printed there, word for word."""
_NEWS = re.compile(r"(?:Pending|Admitting|Converging|Completed)\b|\w+ is requested;")
_LONG = 2
"""A section of so many rows is not shown twice."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A command, and what happens to the cluster once it has said its first line."""

    text: str
    meanwhile: dict[str, object] | None = None


def _read(parts: list[Any]) -> Iterator[str | dict[str, object] | Typed]:
    """Yield the parts of a session: a sentence of the page, a step of a scenario, or a command."""
    for part in parts:
        if isinstance(part, list):
            yield from _read(part)
            continue
        text, meanwhile = (part, None) if isinstance(part, str) else next(iter(part.items()))
        yield Typed(text.removeprefix("$ "), meanwhile) if text.startswith("$ ") else part


_BLURRED, _sessions = yaml.safe_load_all(pathlib.Path(__file__).with_name("sessions.yaml").read_text("utf-8"))
SESSIONS = {name: tuple(_read(parts)) for name, parts in _sessions.items()}


def page(name: str) -> pathlib.Path:
    """Where the session of a scenario stands."""
    return PAGES / f"{name}.md"


async def record(name: str) -> str:
    """Play a session and return its page. Raises what a box and a step raise, and TimeoutError."""
    story = scenario.load(name)
    if name == "router-pinned":
        story = story.model_copy(update={"deadline_minutes": 1})
    written = [f"# Session: {name}", f"{story.summary}. {_ABOUT}"]
    seen: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="session-") as folder:
        place = pathlib.Path(folder)
        async with asyncio.timeout(_PATIENCE), box.opened(story, pace.FAST, place) as opened:
            await _furnish(opened, story)
            player = play.Player(opened.api, opened.actors, pace.FAST, lambda _: None, operator=opened.operator)
            for part in SESSIONS[name]:
                if isinstance(part, str):
                    written.append(part)
                elif isinstance(part, Typed):
                    text, code = await _type(part, opened, player, story)
                    shown = f"{_PROMPT}{part.text}\n{once(text, seen)}$ echo $?\n{code}"
                    written.append(f"<pre>\n{html.escape(shown, quote=False)}\n</pre>")
                else:
                    await player.play(_only(story, part), to_the_end=False)
    return "\n\n".join(written) + "\n"


async def _furnish(opened: box.Box, story: scenario.Scenario) -> None:
    """What the operator's manifests bring besides the operator, and how this one is configured."""
    accepted = kinds.CONFIG_MAPS.new(vocabulary.ACCEPTED_CHECKS, vocabulary.DEFAULT_NAMESPACE)
    configured = kinds.CONFIG_MAPS.new(vocabulary.CONFIGURATION, vocabulary.DEFAULT_NAMESPACE)
    if story.deadline_minutes is not None:
        header = "apiVersion: topology.openshift.io/v1\nkind: TopologyOperatorConfig"
        text = f"{header}\ndeadlineMinutes: {story.deadline_minutes}\n"
        configured["data"] = {vocabulary.CONFIGURATION_KEY: text}
    for config_map in (accepted, configured):
        await opened.api.create(kinds.CONFIG_MAPS, config_map)


def _only(story: scenario.Scenario, step: dict[str, object]) -> scenario.Scenario:
    return story.model_copy(update={"steps": [scenario.Step.model_validate(step)]})


async def _type(typed: Typed, opened: box.Box, player: play.Player, story: scenario.Scenario) -> tuple[str, int]:
    """Run the command as at a terminal without colours; return its output in order, and its exit code."""
    process = await asyncio.create_subprocess_exec(
        str(_PROGRAM), *shlex.split(typed.text),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "KUBECONFIG": str(opened.kubeconfig), "COLUMNS": _COLUMNS, "_": "/usr/bin/oc"},
    )  # fmt: skip
    if process.stdout is None:
        raise OSError(f"{_PROGRAM} has no output")
    try:
        async with asyncio.timeout(_COMMAND_PATIENCE + 5.0):
            output = b""
            if typed.meanwhile is not None:
                output = await process.stdout.readline()
                await player.play(_only(story, typed.meanwhile))
            output += await process.stdout.read()
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text = output.decode()
    for what, word in _BLURRED.items():
        text = re.sub(what, word, text, flags=re.MULTILINE)
    if shlex.split(typed.text)[0] == "wait" or "--wait" in typed.text:
        # The last of its news only: those before depend on when it looked.
        lines = text.splitlines()
        news = [number for number, line in enumerate(lines) if _NEWS.match(line)]
        if len(news) > 1:
            del lines[news[0] : news[-1]]
        text = "\n".join(lines) + "\n"
    return text, process.returncode or 0


def once(text: str, seen: set[str]) -> str:
    """Shorten each section that stands above already to its title; `seen` has those of the session, and gets these."""
    sections = text.split("\n\n")
    for number, section in enumerate(sections):
        title, *rows = section.strip("\n").splitlines() or [""]
        if len(rows) < _LONG or not all(row.startswith("  ") for row in rows):
            continue
        if (known := "\n".join((title, *rows))) in seen:
            sections[number] = f"{title}\n  ..." + "\n" * section.endswith("\n")
        seen.add(known)
    return "\n\n".join(sections)


async def _all(names: Sequence[str], *, check: bool) -> int:
    code = 0
    for name in names:
        text = await record(name)
        before = page(name).read_text(encoding="utf-8") if page(name).exists() else ""
        if check and text != before:
            lines = difflib.unified_diff(
                before.splitlines(), text.splitlines(), str(page(name)), "as it is now", lineterm=""
            )
            sys.stdout.write("\n".join(lines) + "\n")
            code = 1
        elif not check:
            PAGES.mkdir(exist_ok=True)
            page(name).write_text(text, encoding="utf-8")
    return code


def main(words: Sequence[str] | None = None) -> int:
    """Record, and write or compare."""
    parser = argparse.ArgumentParser(prog="record_sessions.py", description="record docs/development/sessions/")
    parser.add_argument("names", nargs="*", metavar="SCENARIO", help=f"of {', '.join(SESSIONS)}; default: all")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a page is another one")
    options = parser.parse_args(words)
    wrong = [name for name in options.names if name not in SESSIONS]
    if wrong:
        parser.error(f"no session {wrong[0]}; there are {', '.join(SESSIONS)}")
    os.environ["POD_NAME"] = _POD
    try:
        return asyncio.run(_all(options.names or list(SESSIONS), check=options.check))
    except (play.ScenarioFailedError, TimeoutError, OSError) as error:
        sys.stderr.write(f"record_sessions: {type(error).__name__}: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
