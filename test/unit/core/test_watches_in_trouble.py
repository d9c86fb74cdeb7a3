"""What a watch said last is believed for a minute of trouble, and for no longer."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from topology_controller.kube import errors
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
