"""`?timeout=`: what waits for longer is not executed."""

from __future__ import annotations

import pytest

from topology_simulator.apiserver import times
from topology_simulator.apiserver.faults import Fault


async def test_what_waits_for_longer_than_its_timeout_is_not_executed(client, api, samples):
    api.faults.add(Fault(action="slow", delay=0.2, verb="create"))
    assert (await client.post(f"{samples.NODES}?timeout=100ms", samples.node("late"))).code == 504
    assert (await client.get(f"{samples.NODES}/late")).code == 404
    assert (await client.post(f"{samples.NODES}?timeout=10s", samples.node("early"))).code == 201


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3s", 3.0), ("1500ms", 1.5), ("1h1m1.5s", 3661.5), (".5s", 0.5), ("+3s", 3.0), ("-1s", -1.0), ("0", 0.0)],
)
def test_durations_of_go(text, seconds):
    assert times.parsed_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("soon", 'time: invalid duration "soon"'),
        ("", 'time: invalid duration ""'),
        ("3", 'time: missing unit in duration "3"'),
        ("3 s", 'time: unknown unit " s" in duration "3 s"'),
        ("1s.", 'time: invalid duration "1s."'),
    ],
)
def test_what_is_no_duration_is_refused_in_the_words_of_go(text, why):
    with pytest.raises(ValueError, match="time: ") as caught:
        times.parsed_duration(text)
    assert str(caught.value) == why
