"""The status page on a port of its own, in front of a decision and facts that a test puts there."""

import contextlib
from collections.abc import AsyncIterator
from datetime import datetime

from test.unit.core import page_state, worlds

from topology_controller.observe import facts
from topology_controller.report import view
from topology_controller.serve import routes, server

from . import ground

USUAL = server.Limits()
QUICK = routes.Timing(interval=0.05, comment=0.3, standby=0.1, write=0.5)
LONG = 10.0


class Watches:
    def __init__(self) -> None:
        self.facts: facts.Facts = worlds.healthy()
        self.looks = 0

    def known(self) -> facts.Facts:
        self.looks += 1
        return self.facts


class House:
    """The latest decision, watches, and the page that shows them, on a port of its own."""

    def __init__(self, timing: routes.Timing) -> None:
        self.latest = view.Latest()
        self.watches = Watches()
        self.page = routes.Page(self.latest, self.watches.known, page_state.about, timing=timing)
        self.url = ""
        self.wanted = 0
        """How often the loop was asked to read again what nothing watches."""

    def pin(self, known: facts.Facts, now: datetime = worlds.NOW) -> None:
        """Let the loop have decided from these facts."""
        self.watches.facts = known
        self.latest.wanted = self._look_again
        self.latest.set(worlds.decide(known, now=now), known)

    def _look_again(self) -> None:
        self.wanted += 1


@contextlib.asynccontextmanager
async def opened(timing: routes.Timing = QUICK, limits: server.Limits = USUAL) -> AsyncIterator[House]:
    """Serve it as the operator does on loopback."""
    house = House(timing)
    where = server.Address.parse("127.0.0.1:0")
    async with ground.running(server.Server(where, house.page.routes(), limits=limits)) as served, house.page:
        house.url = f"http://127.0.0.1:{served.bound}"
        yield house
