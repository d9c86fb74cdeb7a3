"""Built-in kinds are decoded into their types and encoded again, as the real server does it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_simulator.apiserver import patch, quantities, times


@pytest.mark.parametrize(
    ("given_form", "wanted"),
    [
        ("4000m", "4"),
        ("1500m", "1500m"),
        ("0.5", "500m"),
        ("16777216Ki", "16Gi"),
        ("1536Mi", "1536Mi"),
        ("250", "250"),
        ("1000", "1k"),
        ("1e3", "1k"),
        ("0", "0"),
        ("-2048Ki", "-2Mi"),
    ],
)
def test_quantities_have_one_form(given_form, wanted):
    assert quantities.canonical(given_form) == wanted
    assert quantities.canonical(wanted) == wanted


@pytest.mark.parametrize("text", ["", "many", "4 Gi", "1..2", "Ki", "1KiB"])
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(ValueError, match="quantities must match"):
        quantities.canonical(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2026-01-02T03:04:05.678901Z", "2026-01-02T03:04:05.678901Z"),
        ("2026-01-02T05:04:05.500000+02:00", "2026-01-02T03:04:05.500000Z"),
    ],
)
def test_micro_times_are_in_utc(text, wanted):
    assert times.micros(text) == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-01-02T03:04:05Z", 'cannot parse "Z" as ".000000"'),
        ("2026-01-02T03:04:05.1234567Z", 'cannot parse "7Z" as "Z07:00"'),
        ("yesterday", 'cannot parse "yesterday" as "2006"'),
    ],
)
def test_micro_times_have_six_decimals(text, words):
    with pytest.raises(ValueError, match="parsing time") as refused:
        times.micros(text)
    assert words in str(refused.value)


NUMBERS = st.integers(-3, 3) | st.booleans() | st.sampled_from([0.0, 1.0, 0.5])
VALUES = st.recursive(
    NUMBERS | st.none() | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_same_is_what_two_encodings_say(left, right):
    def typed(value):
        if isinstance(value, dict):
            return {key: typed(part) for key, part in value.items()}
        if isinstance(value, list):
            return [typed(part) for part in value]
        return (type(value).__name__, value)

    assert patch.same(left, right) is (typed(left) == typed(right))
    assert patch.same(left, left)


@given(VALUES)
def test_whole_changes_nothing_but_the_writing_of_numbers(value):
    made = patch.whole(value)
    assert made == value
    assert patch.same(patch.whole(made), made)
