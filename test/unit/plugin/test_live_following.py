"""`status --watch` keeps up with the cluster, and with its loss: in virtual time, with the operator at work."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import TYPE_CHECKING, Any

import pytest
from test import sentences

from topology_api import crd, vocabulary
from topology_controller.kube import errors as kube
from topology_controller.kube import resource
from topology_controller.plugin import cluster as connection
from topology_controller.plugin import errors, live

from ..core import clusters, worlds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from datetime import datetime


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
        self.shown: list[tuple[float, live.Update]] = []
        self.taken = False

    def __enter__(self) -> live.Show:
        self.taken = True
        return self.show

    def __exit__(self, *_: object) -> None:
        self.taken = False

    def show(self, update: live.Update, now: datetime) -> None:
        assert self.taken
        assert now == clusters.virtual_now()
        self.shown.append((asyncio.get_running_loop().time(), update))

    @property
    def last(self) -> live.Update:
        return self.shown[-1][1]


@contextlib.asynccontextmanager
async def following(cluster: LosableCluster, display: Display) -> AsyncIterator[asyncio.Task[Any]]:
    """Follow a cluster until the block ends."""
    client: Any = cluster
    made = connection.Connection(client, "https://api.example:6443")
    following = live.Following(made, worlds.ONLY_COMPACT, vocabulary.DEFAULT_NAMESPACE, draws=display.draws)
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
    async with clusters.running(cluster), following(cluster, display) as task:
        await asyncio.sleep(3)
        cluster.lose(how)
        await asyncio.sleep(8)
        assert not task.done(), "a server that is being replaced may refuse them for a moment"
        await asyncio.sleep(12)
        with pytest.raises(errors.PluginError, match=words):
            task.result()
        assert not display.taken


async def test_what_may_not_be_followed_alone_is_named() -> None:
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


async def test_who_may_not_watch_at_all_is_told_before_the_terminal_is_taken() -> None:
    cluster, display = LosableCluster(), Display()
    cluster.refused = "infrastructures"
    async with following(cluster, display) as task:
        await asyncio.sleep(2)
        with pytest.raises(errors.PluginError, match="permission to get infrastructures"):
            task.result()
    assert display.shown == []


async def test_an_infrastructure_that_vanishes_is_said_and_what_was_known_stays() -> None:
    cluster, display = LosableCluster(), Display()
    async with following(cluster, display) as task:
        await asyncio.sleep(2)
        known = display.last.answer["cluster"]
        cluster.delete(clusters.INFRASTRUCTURE)
        await asyncio.sleep(20)
        assert not task.done()
        assert display.last.answer["cluster"] == known
        assert any("does not exist" in what for what in display.last.stale)
