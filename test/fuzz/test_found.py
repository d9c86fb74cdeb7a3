"""Sequences that the machine has found, as short as they can be told; each was a fault of the operator."""

from __future__ import annotations

from . import stage


def test_a_clock_that_is_a_minute_behind_delays_no_look() -> None:
    """The etcd operator's lease is from the future for half a minute: Unknown. Then it is not, and that is seen."""
    with stage.Stage() as on:
        process = on.start()
        on.jump(process, -61)
        on.wish("HighlyAvailable")
        assert on.server.phase == "Pending"
        on.pass_time(35)
        assert on.server.phase == "Converging"
