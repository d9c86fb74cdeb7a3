"""What a watch said last is believed for a minute of trouble, and for no longer."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from topology_controller.kube import errors, reflector
from topology_controller.observe import catalog, facts, watches

from . import worlds
from .clusters import Cluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from topology_controller.kube import resource


class Cut(Cluster):
    """Lists everything, and while `down` refuses to watch schedulers."""

    down = True

    @contextlib.asynccontextmanager
    async def open_watch(self, selection: resource.Selection, _version: str, *rest: Any) -> AsyncIterator[Any]:
        if self.down and selection.resource.plural == "schedulers":
            raise self.error(errors.Unreachable, verb="watch")
        async with super().open_watch(selection, _version, *rest) as lines:
            yield lines


@pytest.mark.looptime
async def test_after_a_minute_of_trouble_a_fact_is_unobserved_until_the_watch_works_again() -> None:
    cluster = Cut()
    client: Any = cluster
    async with watches.Watches(client, lambda: None, sources=catalog.watched(worlds.ONLY_COMPACT)) as watched:
        watched.open()
        await watched.first_answers()
        await asyncio.sleep(59)
        known = watched.known()
        assert known.scheduler == facts.Scheduler(masters_schedulable=True)
        assert known.disturbed == ("schedulers.config.openshift.io/cluster",)
        await asyncio.sleep(2)
        unread = watched.known().scheduler
        assert isinstance(unread, facts.Unobserved)
        assert unread.why == "the API server cannot be reached"
        cluster.down = False
        await asyncio.sleep(40)
        assert watched.known().scheduler == facts.Scheduler(masters_schedulable=True)


class Faulty(Cluster):
    """A client with a bug: what lists one kind raises something that no client may raise."""

    def __init__(self, plural: str) -> None:
        super().__init__()
        self._plural = plural

    async def list(self, kind: resource.Resource, **options: Any) -> Any:
        if kind.plural == self._plural:
            raise ZeroDivisionError("a bug")
        return await super().list(kind, **options)


@pytest.mark.looptime
@pytest.mark.parametrize("plural", ["infrastructures", "schedulers"])
async def test_a_watch_that_dies_of_a_bug_wakes_whoever_waits_and_the_bug_comes_out(plural: str) -> None:
    """Also when it dies before its first answer, which is waited for at the start."""
    client: Any = Faulty(plural)
    woken: list[bool] = []
    sources = catalog.watched(worlds.ONLY_COMPACT)
    async with watches.Watches(client, lambda: woken.append(True), sources=sources) as watched:
        watched.open()
        async with asyncio.timeout(60):
            await watched.first_answers()
        assert woken
        with pytest.raises(ZeroDivisionError, match="a bug"):
            watched.raise_failed()


@pytest.mark.looptime
async def test_a_watch_that_ends_without_an_error_is_a_bug_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def over(self: reflector.Reflector[Any]) -> None:
        await asyncio.sleep(10)

    client: Any = Cluster()
    woken: list[bool] = []
    monkeypatch.setattr(reflector.Reflector, "run", over)
    async with watches.Watches(client, lambda: woken.append(True), sources=()) as watched:
        watched.raise_failed()
        async with asyncio.timeout(60):
            await watched.first_answers()
        assert woken
        with pytest.raises(RuntimeError, match="ended, and nothing had asked for that"):
            watched.raise_failed()


@pytest.mark.looptime
async def test_what_somebody_accepts_is_watched_only_as_long_as_it_is_asked_for() -> None:
    cluster = Cluster()
    client: Any = cluster
    sources = (catalog.acceptances("openshift-topology-operator"),)
    async with watches.Watches(client, lambda: None, sources=sources) as watched:
        await watched.first_answers()
        for wanted in (False, True, True, False, False):
            await watched.ask_for_acceptances(wanted=wanted)
            async with asyncio.timeout(60):
                await watched.first_answers()
            assert ("configmaps" in cluster.watched) is wanted
            assert "infrastructure" in watched.last_activity()
            assert (watched.known().acceptances == facts.NOT_READ) is not wanted
