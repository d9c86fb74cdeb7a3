"""A minute is a second in the rules that a test's Prometheus evaluates, and nothing else of them changes."""

from __future__ import annotations

import pytest

from test.observability import durations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("15m", 900.0), ("1h30m", 5400.0), ("90s", 90.0), ("500ms", 0.5), ("2w", 1209600.0), ("0", 0.0), ("0s", 0.0)],
)
def test_a_duration_is_read_as_prometheus_reads_it(text: str, seconds: float) -> None:
    assert durations.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "15", "m", "15 m", "1.5h", "15min"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        durations.seconds(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("rate(a[10m])", "rate(a[10000ms])"),
        ("rate(a[1m])", "rate(a[5000ms])"),
        ("a offset 15m", "a offset 15000ms"),
        ("a offset -2m", "a offset -2000ms"),
        ("max_over_time(a[1h:5m])", "max_over_time(a[60000ms:5000ms])"),
        ("max_over_time(a[1h:])", "max_over_time(a[60000ms:])"),
        ("max_over_time(a[1h:10s])", "max_over_time(a[60000ms:1000ms])"),
        ('a{b="[10m] offset 5m"}', 'a{b="[10m] offset 5m"}'),
        ("a{b='[10m]'} # rate(a[10m])", "a{b='[10m]'} # rate(a[10m])"),
        ("time() - a > 600", "time() - a > 600"),
        ("a5m + b", "a5m + b"),
    ],
)
def test_ranges_steps_and_offsets_are_shorter(before: str, after: str) -> None:
    assert durations.expression(before) == after


def test_a_group_is_shorter_and_the_original_stays() -> None:
    rule = {"alert": "A", "expr": "a[5m]", "for": "15m", "labels": {"severity": "warning"}}
    group = {"name": "g", "interval": "30s", "rules": [rule, {"record": "r", "expr": 1}]}
    made = durations.groups([group])
    assert made == [
        {
            "name": "g",
            "interval": "1000ms",
            "rules": [
                {"alert": "A", "expr": "a[5000ms]", "for": "15000ms", "labels": {"severity": "warning"}},
                {"record": "r", "expr": "1"},
            ],
        }
    ]
    assert rule["for"] == "15m"
