"""`status --watch` keeps up with the cluster, and with its loss; it draws as much as a terminal of any size holds.

Into a pipe it writes a line or document for a change. Neither holds what does not fit, or what a terminal obeys.
"""

import asyncio
import contextlib
import io
import itertools
import json
import os
import re
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st
from test import sentences

from kubectl_topology import arguments, errors, live, progress
from kubectl_topology import cluster as connection
from kubectl_topology import display as displays
from kubectl_topology.commands import wait
from topology_api import crd
from topology_api.vocabulary import Phase
from topology_controller.kube import errors as kube
from topology_controller.kube import resource
from topology_controller.observe import facts

from ..core import clusters, worlds
from ..core.strategies import worlds_of_any_kind
from . import replies

pytestmark = pytest.mark.looptime


class LosableCluster(clusters.Cluster):
    """A cluster that can be lost: `down` is what every request ends with, `refused` those for one kind."""

    def __init__(self) -> None:
        super().__init__()
        self.down: type[kube.KubeError] | None = None
        self.refused: str | None = None
        self.put(("customresourcedefinitions", None, "infrastructures.config.openshift.io"), crd.infrastructure(()))

    def lose(self, how: type[kube.KubeError]) -> None:
        """Cut every watch, and refuse every request from now on."""
        self.down = how
        for _, happening in self._watching.values():
            happening.put_nowait(("CUT", {}))

    def _count(self, verb: str, what: str) -> None:
        super()._count(verb, what)
        if verb not in {"get", "list", "watch"}:
            return
        kind = resource.Resource("", "v1", what, what)
        if self.down is not None:
            raise self.down(verb, kind, None, None, 0, self.down.__name__, "as the test wants")
        if what == self.refused:
            raise kube.Forbidden(verb, kind, None, None, 403, "Forbidden", "as the test wants")

    @contextlib.asynccontextmanager
    async def open_watch(self, selection: resource.Selection, version: str, *options: Any) -> AsyncIterator[Any]:
        async with super().open_watch(selection, version, *options) as lines:
            yield self._until_cut(lines, selection)

    async def _until_cut(self, lines: Any, selection: resource.Selection) -> AsyncIterator[Any]:
        async for news in lines:
            if news[0] == "CUT":
                raise kube.Unreachable("watch", selection.resource, None, None, 0, "Cut", "")
            yield news


class Display:
    """Remembers what it was shown, and when."""

    def __init__(self, *, draws: bool = True) -> None:
        self.draws = draws
        self.shown: list[tuple[float, displays.Update]] = []
        self.taken = False

    def __enter__(self) -> displays.Show:
        self.taken = True
        return self.show

    def __exit__(self, *_: object) -> None:
        self.taken = False

    def show(self, update: displays.Update, now: datetime) -> None:
        assert self.taken
        assert now == clusters.virtual_now()
        self.shown.append((asyncio.get_running_loop().time(), update))

    @property
    def last(self) -> displays.Update:
        return self.shown[-1][1]


@contextlib.asynccontextmanager
async def following(cluster: LosableCluster, display: Display) -> AsyncIterator[asyncio.Task[Any]]:
    """Follow a cluster until the block ends."""
    client: Any = cluster
    made = connection.Connection(client, "https://api.example:6443")
    following = live.Following(made, worlds.ONLY_COMPACT, draws=display.draws)
    task = asyncio.create_task(following.show(display, clusters.virtual_now))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not display.taken


async def test_it_is_shown_once_a_second_without_news_and_not_more_than_four_times_with() -> None:
    cluster, display = LosableCluster(), Display()
    async with clusters.running(cluster), following(cluster, display):
        await asyncio.sleep(10)
        calm = [when for when, _ in display.shown if 5 <= when < 10]
        assert len(calm) == 5
        for number in range(200):
            cluster.change(clusters.OPERATOR, {"status": {"conditions": [{"type": f"T{number}", "status": "True"}]}})
            await asyncio.sleep(0.01)
        busy = [when for when, _ in display.shown if when >= 10]
        assert len(busy) <= 9, busy
        between = [later - earlier for earlier, later in itertools.pairwise(busy)]
        assert min(between) >= 0.249


async def test_who_writes_lines_is_shown_nothing_without_news() -> None:
    cluster, display = LosableCluster(), Display(draws=False)
    async with clusters.running(cluster), following(cluster, display):
        await asyncio.sleep(5)
        before = len(display.shown)
        await asyncio.sleep(60)
        # It looks again now and then: that somebody has stopped renewing a Lease is no event.
        assert len(display.shown) - before <= 4
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(1)
        admitted = next(shown for _, shown in display.shown if shown.answer["phase"] not in {"Idle", None})
        assert len(admitted.answer["nodes"]["items"]) == 3, "the first answer of a phase is whole"


async def test_a_server_that_is_away_leaves_what_was_known_and_is_followed_again() -> None:
    cluster, display = LosableCluster(), Display()
    async with clusters.running(cluster), following(cluster, display) as task:
        await asyncio.sleep(3)
        cluster.ask_for("HighlyAvailable")
        await asyncio.sleep(5)
        known = display.last.answer
        assert known["phase"] == "Converging"
        lost_at = clusters.virtual_now()
        cluster.lose(kube.Unreachable)
        await asyncio.sleep(200)
        assert not task.done()
        assert display.last.lost is not None
        assert abs((display.last.lost.since - lost_at).total_seconds()) < 1
        assert display.last.lost.why == sentences.UNREACHABLE
        for name in ("phase", "checks", "nodes", "etcd", "advisories", "progress"):
            assert display.last.answer[name] == known[name]
        first = next(when for when, shown in display.shown if shown.lost is not None)
        assert 13 <= first <= 15, "a moment is not told"
        cluster.down = None
        await asyncio.sleep(15)
        assert display.last.lost is None
        assert display.last.stale == ()
        assert not task.done()


@pytest.mark.parametrize(
    ("how", "words"),
    [(kube.Unauthorized, "does not accept the credentials"), (kube.Forbidden, "permission to get infrastructures")],
)
async def test_credentials_that_expire_end_it_with_the_reason(how: type[kube.KubeError], words: str) -> None:
    cluster, display = LosableCluster(), Display()
    client: Any = cluster
    cluster.ask_for("HighlyAvailable")
    waits = wait.run(connection.Connection(client, "https://api"), arguments.parse(["wait"]), worlds.ONLY_COMPACT)
    async with following(cluster, display) as task:
        both = (task, asyncio.create_task(waits))
        await asyncio.sleep(3)
        cluster.lose(how)
        await asyncio.sleep(8)
        assert not any(each.done() for each in both), "a server that is being replaced may refuse them for a moment"
        await asyncio.sleep(12)
        for each in both:
            with pytest.raises(errors.PluginError, match=words):
                each.result()
        assert not display.taken


async def test_what_cannot_be_followed_is_named_and_what_was_known_stays() -> None:
    cluster, display = LosableCluster(), Display()
    cluster.refused = "nodes"
    cluster.ask_for("HighlyAvailable")
    async with following(cluster, display) as task:
        await asyncio.sleep(1)
        cluster.change(clusters.INFRASTRUCTURE, {"status": {"topologyTransition": {"phase": "Pending"}}})
        await asyncio.sleep(20)
        assert not task.done(), task
        rights = {one["right"] for one in display.last.answer["unread"]}
        assert rights == {"list nodes"}
        assert any("nodes" in what for what in display.last.stale)
        assert display.last.lost is None
        # Infrastructure itself may vanish.
        known = display.last.answer["cluster"]
        cluster.delete(clusters.INFRASTRUCTURE)
        await asyncio.sleep(20)
        assert not task.done(), task
        assert display.last.answer["cluster"] == known
        assert any("does not exist" in what for what in display.last.stale)


async def test_who_may_not_watch_at_all_is_told_before_the_terminal_is_taken() -> None:
    cluster, display = LosableCluster(), Display()
    cluster.refused = "infrastructures"
    async with following(cluster, display) as task:
        await asyncio.sleep(2)
        with pytest.raises(errors.PluginError, match="permission to get infrastructures"):
            task.result()
    assert display.shown == []


_TAKEN, _GIVEN_BACK, _HOME, _CLEARED = "\x1b[?1049h", "\x1b[?1049l", "\x1b[H", "\x1b[2J"
LATER = worlds.NOW + timedelta(seconds=75)
CONVERGING = replies.told(replies.in_phase(Phase.CONVERGING))
PENDING = replies.told(replies.in_phase(Phase.PENDING))
COMPLETED = replies.told(replies.in_phase(Phase.COMPLETED))


def drawn(answer: dict[str, Any], width: int = 80, height: int = 60, **shown: Any) -> list[str]:
    whole: Any = answer
    size = os.terminal_size((width, height))
    lines = displays.drawing(displays.Update(whole, **shown), LATER, size, colour=False)
    assert sum(displays.rows(line, width) for line in lines) <= height
    if width >= 40:
        # A command is left to the terminal, and so is a name that is wider than the room that it has.
        broken = [line for line in lines if displays.rows(line, width) > 1 and "oc " not in line]
        assert not [line for line in broken if max(map(len, line.split()), default=0) < width // 3], broken
    return [line.rstrip() for line in lines]


def test_more_than_fits_is_cut_off_below_and_it_says_how_much() -> None:
    checks = [
        {**CONVERGING["checks"][0], "name": f"Check{number:03}", "status": "Unmet" if number < 100 else "Met"}
        for number in range(200)
    ]
    lines = drawn({**CONVERGING, "transition": None, "advisories": [], "checks": checks}, 80, 40)
    shown = [word for line in lines for word in line.split() if word.startswith("Check")]
    assert shown[20:]
    assert shown == [f"Check{number:03}" for number in range(len(shown))]
    assert re.fullmatch(r"Ctrl-C ends\. \d+ lines are hidden: oc topology status shows all", lines[-1])


def test_no_message_moves_the_cursor_or_is_taken_for_markup() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b2J\n\r[bold]:smile:\u202e[/bold]"
    answer = replies.told(worlds.healthy(scheduler=facts.Unobserved("x", evil)))
    answer = {**answer, "headline": evil, "advisories": [{"name": evil, "message": evil, "command": evil}]}
    text = "\n".join(drawn(answer, 120, lost=displays.Lost(worlds.NOW, evil), stale=(evil,)))
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "[bold]:smile:" in text
    assert all(line.isascii() for line in drawn(CONVERGING, 40, 20))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, ""), (0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (172800, "2 d")],
)
def test_lengths_of_time_are_read_at_a_glance(seconds: int, text: str) -> None:
    since = worlds.NOW - timedelta(seconds=seconds)
    assert progress.length(since.isoformat(), worlds.NOW) == text


@given(known=worlds_of_any_kind(), width=st.integers(1, 220), height=st.integers(0, 80), lost=st.booleans())
def test_any_cluster_fits_any_terminal_and_its_head_stays(
    known: facts.Facts, width: int, height: int, *, lost: bool
) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    gone = displays.Lost(worlds.NOW, "its way is gone " * 50) if lost else None
    stale = tuple(f"kind{number}: malformed" for number in range(60 if lost else 0))
    lines = drawn(replies.told(known), width, height, lost=gone, stale=stale)
    if width >= 40 and height >= 24:
        assert {"Cluster", "Topology", "Phase"} <= {line.partition(" ")[0] for line in lines}
        assert any(line.startswith("not connected since") for line in lines) is lost


def test_the_terminal_is_drawn_over_without_being_cleared_and_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "30")
    monkeypatch.setenv("TERM", "xterm-256color")
    whole: Any = CONVERGING
    terminal = replies.Terminal()
    with displays.screen(terminal, {"COLUMNS": "100"}) as show:
        for seconds in range(3):
            show(displays.Update(whole), LATER + timedelta(seconds=seconds))
    before, _, after = terminal.seen.partition(_GIVEN_BACK)
    taken, _, *drawings = before.split(_HOME)
    assert (taken, len(drawings), _CLEARED in terminal.seen) == (_TAKEN, 3, False)
    # Each line of the terminal is emptied before it is written to, and at most all of them are.
    assert all(20 < drawing.count("\x1b[2K") <= 30 for drawing in drawings)
    assert after == replies.printed(whole, 100, colour=True)


def test_a_letter_of_two_columns_is_counted_as_two_and_a_colour_as_none() -> None:
    lines = {"": 1, "abcd": 1, "abcde": 2, "\u6f22\u5b57\u6f22": 2, "\x1b[31mabcd\x1b[0m": 1}
    assert {line: displays.rows(line, 4) for line in lines} == lines


def test_a_terminal_that_has_gone_ends_it_without_another_word() -> None:
    whole: Any = CONVERGING
    terminal = replies.Terminal()
    with displays.screen(terminal, {}) as show:
        show(displays.Update(whole), LATER)
        terminal.gone = True
        with pytest.raises(BrokenPipeError):
            show(displays.Update(whole), LATER)
    assert _GIVEN_BACK not in terminal.seen


# Into a pipe


class Pipe:
    """Where it is written to, and what it is shown."""

    def __init__(self, form: str = "text") -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.lines = displays.Lines(self.out, self.err, form)
        self.now = worlds.NOW

    def show(self, answer: dict[str, Any], **shown: Any) -> list[str]:
        """Show it a second later; return the lines that were printed, without their times."""
        whole: Any = answer
        self.now += timedelta(seconds=1)
        before = len(self.out.getvalue())
        self.lines.show(displays.Update(whole, **shown), self.now)
        lines = self.out.getvalue()[before:].splitlines()
        return [line[22:] if line[19:22] == "Z  " else line for line in lines]


def test_each_change_is_one_line_and_what_stays_is_not_repeated() -> None:
    pipe = Pipe()
    lost = displays.Lost(worlds.NOW, "its way is gone")
    stopped = {**PENDING, "operator": {"state": "NotRunning", "message": "it was stopped"}}
    assert pipe.show(PENDING) == ["Pending 10/11: waiting for MastersSchedulable"]
    assert pipe.show({**PENDING, "evaluated": "2030-01-01T00:00:00Z"}) == []
    (line,) = pipe.show(PENDING, lost=lost)
    assert line.startswith(f"not connected since {worlds.NOW:%Y-%m-%dT%H:%M:%SZ}: its way is gone")
    assert pipe.show(PENDING, lost=lost) == []
    assert pipe.show(PENDING) == ["connected again"]
    assert pipe.show(PENDING, stale=("nodes",)) == ["cannot be followed: nodes"]
    assert pipe.show(stopped) == ["everything can be followed", "operator NotRunning: it was stopped"]
    assert pipe.show(PENDING) == ["operator Running"]
    first, *advisories = pipe.show(CONVERGING)
    assert "MachineConfigPoolsRolledOut (master 0/3)" in first
    assert [line.partition(":")[0] for line in advisories] == [one["name"] for one in CONVERGING["advisories"]]
    degraded = {"reason": "TransitionStuck", "message": "RouterReplicas did not come"}
    assert pipe.show({**CONVERGING, "degraded": degraded})[0].endswith("RouterReplicas did not come (TransitionStuck)")
    _, *gone = pipe.show({**COMPLETED, "advisories": []})
    assert all(line.endswith(": no longer required") for line in gone)


@pytest.mark.parametrize("phase", list(Phase))
def test_every_phase_has_its_line(phase: Phase) -> None:
    first = Pipe().show(replies.told(replies.in_phase(phase)))[0]
    assert first.startswith("no record" if phase is Phase.IDLE else phase.value)


@pytest.mark.parametrize(("form", "load"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_documents_are_the_answer_of_status_one_for_each_change(form: str, load: Any) -> None:
    pipe = Pipe(form)
    lost = displays.Lost(worlds.NOW, "its way is gone")
    later = {**PENDING, "evaluated": "2030-01-01T00:00:00Z"}
    printed = [pipe.show(PENDING), pipe.show(later), pipe.show(PENDING, lost=lost), pipe.show(CONVERGING)]
    assert [load("\n".join(lines).removeprefix("---\n")) for lines in printed if lines] == [PENDING, CONVERGING]
    assert [bool(lines) for lines in printed] == [True, False, False, True]
    assert [line[22:].partition(" since")[0] for line in pipe.err.getvalue().splitlines()] == [
        "not connected",
        "connected again",
    ]


def test_no_message_breaks_a_line_or_moves_a_cursor() -> None:
    evil = "\x1b[2Jone\ntwo\x07"
    lines = Pipe().show({**PENDING, "advisories": [{"name": evil, "message": evil, "command": evil}]})
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize(
    ("stream", "term", "draws"),
    [
        (io.StringIO(), "xterm", False),
        (replies.Terminal(), "xterm", True),
        (replies.Terminal(), "dumb", False),
        (replies.Terminal(), "", False),
    ],
)
def test_where_it_draws(stream: Any, term: str, *, draws: bool) -> None:
    assert displays.can_draw(stream, {"TERM": term} if term else {}) is draws
