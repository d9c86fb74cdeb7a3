"""Which timings of the lease are accepted."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from topology_controller.kube import lease

SECONDS = st.floats(-10, 500) | st.floats() | st.integers(0, 300).map(float)


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        ((107, 107, 26), "lease duration 107 s must be longer than renew deadline 107 s"),
        ((137, 31, 26), "retry period 26 s must be at most 21 s with renew deadline 31 s"),
        ((137, 107, 97), "retry period 97 s must be at most 89.1 s with renew deadline 107 s"),
        ((6, 4, 3), "retry period 3 s must be at most 2 s with renew deadline 4 s"),
        ((6, 1.5, 0.5), "renew deadline 1.5 s must be at least 2 s"),
        ((137, 107, 0), "retry period 0 s must be more than 0"),
        ((float("nan"), 107, 26), "lease duration nan s must be a number of seconds"),
        ((137, float("nan"), 26), "renew deadline nan s must be a number of seconds"),
        ((137, 107, float("nan")), "retry period nan s must be a number of seconds"),
        ((float("inf"), 107, 26), "lease duration inf s must be a number of seconds"),
        ((601, 240, 60), "lease duration 601 s must be at most 600 s: no candidate waits longer for a holder"),
    ],
)
def test_figures_that_can_never_work_are_refused_with_the_pair_and_what_is_allowed(figures, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        lease.LeaseTiming(*figures)


@pytest.mark.parametrize(
    ("figures", "timeout"),
    [((6, 4, 1), 2), ((3, 2, 1), 1), ((15, 13, 1), 6.5), ((137, 107, 26), 10), ((270, 240, 60), 10)],
)
def test_a_request_gets_half_of_the_renew_deadline_and_ten_seconds_at_most(figures, timeout):
    assert lease.LeaseTiming(*figures).request_timeout == timeout


@given(SECONDS, SECONDS, SECONDS)
@example(6.0, 4.0, 2.0)
@example(21.0, 20.0, 10.0)
@example(130.0, 120.0, 100.0)
def test_with_what_is_accepted_a_renewal_and_a_write_fit_and_with_what_is_refused_they_do_not(
    duration, deadline, period
):
    request = min(10, deadline / 2)
    fits = request >= 1 and 0 < period <= deadline - request and period <= deadline / 1.2 and deadline < duration <= 600
    try:
        timing = lease.LeaseTiming(duration, deadline, period)
    except ValueError:
        assert not fits
    else:
        assert fits
        assert timing.request_timeout == request
