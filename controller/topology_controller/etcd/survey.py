"""Asks every member everything, at once, within one budget of time.

The flip rests on evidence that is younger than two seconds, so a survey is over after `budget` seconds whatever
happens: a member that accepts a connection and then stands still (its process was stopped, its disk hangs) costs no
more than that, and none of the others waits for it. What had been answered by then counts.

It is not enough to ask where we were told to ask: a voter that nobody lists must not be missed. So every voter that a
member list reveals is asked at the addresses that it advertises itself, in the same budget; TLS sees to it that only
a member can answer there. `observe.members` turns what comes back into facts.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import client, endpoint, errors

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Iterator

    from . import answers

BUDGET = 1.0
"""Seconds for a whole survey."""
_MOST = 32
"""Endpoints that are asked in one survey; a cluster has three or five."""
_PATIENCE = 0.25
"""Share of the budget that the endpoints that were named have, before others are asked for who has not answered."""
_TOO_LATE = "no answer in time"


@dataclass(frozen=True, slots=True)
class Voice:
    """What one endpoint said: at least its status.

    `listed` is its member list, None when it gave none. `confirmed` says that the list came through the quorum. When
    it did not, `unconfirmed` says why. `healthy` is an error when it could not be had.
    """

    endpoint: str
    status: answers.Status
    listed: answers.MemberList | None
    confirmed: bool
    unconfirmed: str
    healthy: bool | errors.EtcdError


@dataclass(frozen=True, slots=True)
class Silence:
    """An endpoint that did not say enough, and why. `members` are the ids of those who advertise it."""

    endpoint: str
    members: tuple[str, ...]
    error: errors.EtcdError


@dataclass(frozen=True, slots=True)
class Survey:
    """What came back, both parts sorted by endpoint."""

    voices: tuple[Voice, ...]
    silences: tuple[Silence, ...]


async def survey(
    context: ssl.SSLContext,
    endpoints: Iterable[str],
    *,
    budget: float = BUDGET,
    observer: client.Observer | None = None,
) -> Survey:
    """Ask these endpoints, and the voters that they reveal, in at most `budget` seconds. Raises only what is a bug."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + budget
    hearings: dict[str, _Hearing] = {}
    tasks: set[asyncio.Task[None]] = set()
    async with client.Client(context, observer) as asking:

        def ask(places: Iterable[str]) -> None:
            for place in places:
                if place not in hearings and len(hearings) < _MOST:
                    hearings[place] = _Hearing(place)
                    tasks.add(asyncio.create_task(hearings[place].run(asking), name=f"ask {place}"))

        ask(endpoints)
        try:
            await _some(tasks, budget * _PATIENCE, asyncio.ALL_COMPLETED)
            while True:
                ask(sorted(_unheard(hearings.values())))
                left = deadline - loop.time()
                if left <= 0 or not (pending := {task for task in tasks if not task.done()}):
                    break
                await _some(pending, left, asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return _result(hearings)


async def _some(tasks: set[asyncio.Task[None]], seconds: float, until: str) -> None:
    """Wait for tasks; what one of them raised is a bug and goes on."""
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=until) if tasks else (set(), set())
    for task in done:
        task.result()


class _Hearing:
    """The questions to one endpoint, and what has been answered so far."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.status: answers.Status | None = None
        self.listed: answers.MemberList | None = None
        self.opinion: answers.MemberList | None = None
        self.healthy: bool | errors.EtcdError = errors.Silent(place, _TOO_LATE)
        self.trouble: dict[str, errors.EtcdError] = {}

    async def run(self, asking: client.Client) -> None:
        """Ask everything. Two connections, because what waits for the quorum may wait for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._about_itself(asking))
            group.create_task(self._through_the_quorum(asking))

    async def _about_itself(self, asking: client.Client) -> None:
        with self._noting("status"):
            self.status = await asking.status(self.place)
            if self.status.leader is None:
                with contextlib.suppress(errors.EtcdError):
                    # Proves nothing; it says what is wrong.
                    self.opinion = await asking.members(self.place, confirmed=False)

    async def _through_the_quorum(self, asking: client.Client) -> None:
        with self._noting("list"):
            self.listed = await asking.members(self.place, confirmed=True)
            try:
                self.healthy = await asking.healthy(self.place)
            except errors.EtcdError as error:
                self.healthy = error

    @contextlib.contextmanager
    def _noting(self, question: str) -> Iterator[None]:
        try:
            yield
        except errors.EtcdError as error:
            self.trouble[question] = error

    @property
    def known(self) -> answers.MemberList | None:
        """The best list that it gave."""
        return self.listed or self.opinion

    def outcome(self) -> Voice | errors.EtcdError:
        """What it comes to."""
        late = errors.Silent(self.place, _TOO_LATE)
        if self.status is None:
            return self.trouble.get("status", late)
        if self.known is not None and self.known.member != self.status.member:
            why = "several members answer there: name an endpoint of each member's own"
            return errors.Garbled(self.place, why)
        unconfirmed = "" if self.listed else self.trouble.get("list", late).why
        return Voice(self.place, self.status, self.known, self.listed is not None, unconfirmed, self.healthy)


def _members(hearings: Iterable[_Hearing]) -> list[answers.Member]:
    return [member for hearing in hearings if hearing.known is not None for member in hearing.known.members]


def _unheard(hearings: Iterable[_Hearing]) -> set[str]:
    """Where voters that have not been heard say that they can be asked, as far as we would ask there."""
    asked = tuple(hearings)
    heard = {hearing.status.member for hearing in asked if hearing.status is not None}
    found = set()
    for member in _members(asked):
        for url in () if member.learner or member.id in heard else member.client_urls:
            with contextlib.suppress(ValueError):
                found.add(endpoint.parse(url))
    return found


def _result(hearings: dict[str, _Hearing]) -> Survey:
    owners: dict[str, set[str]] = {}
    silences = []
    for member in _members(hearings.values()):
        for url in member.client_urls:
            try:
                owners.setdefault(endpoint.parse(url), set()).add(member.id)
            except ValueError as error:
                owners.setdefault(url, set()).add(member.id)
                silences.append(Silence(url, (member.id,), errors.Garbled(url, f"not asked: {error}")))
    voices = []
    for place, hearing in hearings.items():
        outcome = hearing.outcome()
        if isinstance(outcome, Voice):
            voices.append(outcome)
        else:
            silences.append(Silence(place, tuple(sorted(owners.get(place, ()))), outcome))
    return Survey(
        tuple(sorted(voices, key=lambda one: one.endpoint)),
        tuple(sorted({one.endpoint: one for one in silences}.values(), key=lambda one: one.endpoint)),
    )
