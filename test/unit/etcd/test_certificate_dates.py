"""The dates of a certificate, read by our own few lines, against the library that made it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st

from topology_controller.etcd import certificate

from . import certificates

AUTHORITY = certificates.Authority()
WHEN = st.datetimes(datetime(1951, 1, 1), datetime(2200, 1, 1)).map(  # noqa: DTZ001 - the strategy wants them naive
    lambda moment: moment.replace(microsecond=0, tzinfo=UTC)
)


@settings(max_examples=40, deadline=None)
@given(WHEN, st.integers(1, 10**9))
def test_dates_of_any_century(begin: datetime, seconds: int):
    """Before 2050 they are written with two digits of the year, from then on with four."""
    end = begin + timedelta(seconds=seconds)
    pem = AUTHORITY.issue("x", begin=begin, end=end)[0].decode()
    found = x509.load_pem_x509_certificate(pem.encode())
    assert certificate.validity(pem) == (found.not_valid_before_utc, found.not_valid_after_utc) == (begin, end)


def test_the_first_of_a_chain_is_meant_whatever_stands_around_it():
    first, second = AUTHORITY.issue("x", end=certificates.NOW)[0].decode(), AUTHORITY.pem.decode()
    assert certificate.validity(f"Subject: x\n{first}\n{second}")[1] == certificates.NOW.replace(microsecond=0)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_certificate_is_a_value_error_and_nothing_else(data: st.DataObject):
    lines = AUTHORITY.pem.decode().splitlines()
    body = "".join(lines[1:-1])
    at = data.draw(st.integers(0, len(body) - 1))
    damaged = data.draw(
        st.sampled_from((body[:at], body[:at] + data.draw(st.sampled_from("Az9/+=-\0é")) + body[at + 1 :]))
    )
    try:
        begin, end = certificate.validity("\n".join((lines[0], damaged, lines[-1])))
    except ValueError:
        return
    assert begin.tzinfo is end.tzinfo is UTC


@pytest.mark.parametrize("text", ["", "garbage", "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"])
def test_no_certificate(text: str):
    with pytest.raises(ValueError, match="no certificate"):
        certificate.validity(text)
