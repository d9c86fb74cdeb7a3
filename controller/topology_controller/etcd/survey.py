"""Asks every member everything, at once, within one budget of time, as the change rests on fresh evidence.

A voter that is not among the given endpoints must not be missed: every voter in a member list is asked at the
addresses that it advertises, in the same budget; by TLS only a member can answer there. It is asked at known hosts
only: a member that means harm could name any machine in the network. `observe.members` turns the probes into facts.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Container, Iterable, Iterator

from .client import Client, EtcdError, MemberList, Observer, Status, host_of, parse_endpoint

BUDGET = 1.0  # seconds for a whole survey
_MOST_ENDPOINTS = 32  # asked in one survey; a cluster has three or five
_NAMED_SHARE = 0.25
"""Share of the budget that the given endpoints have, before voters that have not answered are asked elsewhere."""


class Probe:
    """The requests to one endpoint, and the responses that came in time."""

    def __init__(self, endpoint: str) -> None:
        late = EtcdError(endpoint, "no answer in time", down=True)
        self.endpoint = endpoint
        self.status: Status | EtcdError = late
        self.confirmed: MemberList | EtcdError = late  # through the quorum
        self.opinion: MemberList | None = None  # the member's own, asked for only when it knows of no leader
        self.healthy: bool | EtcdError = late

    @property
    def listed(self) -> MemberList | None:
        """The best list that it gave."""
        return self.opinion if isinstance(self.confirmed, EtcdError) else self.confirmed

    async def run(self, client: Client) -> None:
        """Ask everything, over two connections, because what waits for the quorum may wait without end."""

        async def ask_the_quorum() -> None:
            self.confirmed = await client.members(self.endpoint, confirmed=True)
            if isinstance(self.confirmed, MemberList):
                self.healthy = await client.healthy(self.endpoint)

        async with asyncio.TaskGroup() as group:
            group.create_task(ask_the_quorum())
            self.status = await client.status(self.endpoint)
            if isinstance(self.status, Status) and not self.status.leader:
                # Its own list proves nothing; it shows what is wrong.
                opinion = await client.members(self.endpoint, confirmed=False)
                self.opinion = opinion if isinstance(opinion, MemberList) else None


async def survey(
    context: ssl.SSLContext,
    endpoints: Iterable[str],
    hosts: Container[str],
    *,
    budget: float = BUDGET,
    observer: Observer | None = None,
) -> tuple[Probe, ...]:
    """Ask these endpoints, and the voters that they reveal at `hosts`, within the budget. Raises only what is a bug."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + budget
    probes: dict[str, Probe] = {}
    tasks: set[asyncio.Task[None]] = set()
    async with contextlib.aclosing(Client(context, observer)) as client:

        def ask(places: Iterable[str]) -> None:
            for endpoint in places:
                if endpoint not in probes and len(probes) < _MOST_ENDPOINTS:
                    probes[endpoint] = Probe(endpoint)
                    tasks.add(asyncio.create_task(probes[endpoint].run(client), name=f"ask {endpoint}"))

        ask(endpoints)
        try:
            await _wait(tasks, budget * _NAMED_SHARE, asyncio.ALL_COMPLETED)
            while True:
                ask(sorted(_unasked(tuple(probes.values()), hosts)))
                left = deadline - loop.time()
                if left <= 0 or not (pending := {task for task in tasks if not task.done()}):
                    break
                await _wait(pending, left, asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return tuple(sorted(probes.values(), key=lambda probe: probe.endpoint))


async def _wait(tasks: set[asyncio.Task[None]], seconds: float, until: str) -> None:
    """Wait for tasks; what one of them raised is a bug and goes on."""
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=until) if tasks else (set(), set())
    for task in done:
        task.result()


def _unasked(probes: tuple[Probe, ...], hosts: Container[str]) -> Iterator[str]:
    """Where voters that have not answered say that they can be asked, as far as we would ask there."""
    answered = {probe.status.member for probe in probes if not isinstance(probe.status, EtcdError)}
    for probe in probes:
        for member in () if probe.listed is None else probe.listed.members:
            for url in () if member.learner or member.id in answered else member.client_urls:
                with contextlib.suppress(ValueError):
                    if host_of(endpoint := parse_endpoint(url)) in hosts:
                        yield endpoint
