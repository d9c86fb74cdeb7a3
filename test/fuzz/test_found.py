"""Sequences that the machine has found, as short as they can be told; each was a fault of the operator."""

from __future__ import annotations

from . import client, stage, world
from . import server as servers


def test_a_clock_that_is_a_minute_behind_delays_no_look() -> None:
    """The etcd operator's lease is from the future for half a minute: Unknown. Then it is not, and that is seen."""
    with stage.Stage() as on:
        process = on.start()
        on.jump(process, -61)
        on.wish("HighlyAvailable")
        assert on.server.phase == "Pending"
        on.pass_time(35)
        assert on.server.phase == "Converging"


def test_a_leader_that_was_blind_watches_for_the_whole_settle_time_again() -> None:
    """All is Met and recorded; then every watch is lost for minutes. Nobody knows what happened meanwhile.

    While ClusterOperator topology cannot be read nothing is recorded either, so the checks keep their old times, the
    watches of the open wish are closed, and the first look after they were opened again completes the transition.
    """
    with stage.Stage() as on:
        process = on.start()
        on.wish("HighlyAvailable")
        on.follow()
        on.pass_time(5)
        process.client.lose()
        on.pass_time(300)
        process.client.come_back()
        on.pass_time(45)
        assert on.server.phase == "Converging"
        on.pass_time(90)
        assert on.server.phase == "Completed"


def test_a_fall_that_was_never_recorded_is_no_quiet() -> None:
    """The router falls back while everything settles; the record of it is refused, and by the next try all is well."""
    with stage.Stage() as on:
        on.start()
        on.wish("HighlyAvailable")
        on.follow()
        on.pass_time(40)
        on.fault(client.Sort.SAVE, client.Harm.REFUSED)
        on.harm(world.ROUTER, "one router")
        on.settle()
        on.pass_time(0.5)
        on.mend(world.ROUTER)
        on.pass_time(40)
        assert on.server.phase == "Converging"
        on.pass_time(40)
        assert on.server.phase == "Completed"


def test_what_nobody_looked_at_is_no_quiet() -> None:
    """A request gets no answer for a while; what came and went meanwhile was never looked at."""
    with stage.Stage() as on:
        on.start()
        on.wish("HighlyAvailable")
        on.follow()
        on.pass_time(40)
        on.fault(client.Sort.SAVE, client.Harm.UNANSWERED)
        on.server.change(servers.INFRASTRUCTURE, {"metadata": {"generation": 99}})
        on.settle()
        on.harm(world.ROUTER, "one router")
        on.mend(world.ROUTER)
        on.pass_time(40)
        assert on.server.phase == "Converging"
        on.pass_time(80)
        assert on.server.phase == "Completed"
