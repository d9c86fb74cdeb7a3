"""Which TLS an APIServer object asks of us, and what a client then gets."""

from __future__ import annotations

import ssl

import pytest

from topology_controller.serve import tls

from . import ground

STRICT = "StrictAllComponents"
LEGACY = "LegacyAdheringComponentsOnly"
V10, V11, V12, V13 = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


def spec(kind: object = None, adherence: str | None = None, **custom: object) -> dict[str, object]:
    made: dict[str, object] = {} if adherence is None else {"tlsAdherence": adherence}
    if kind is not None:
        made["tlsSecurityProfile"] = {"type": kind, **({"custom": custom} if custom else {})}
    return {"spec": made}


@pytest.mark.parametrize(
    ("raw", "minimum"),
    [
        ({}, V12),
        ({"spec": {}}, V12),
        ({"spec": {"tlsSecurityProfile": None}}, V12),
        ({"spec": {"tlsSecurityProfile": {}}}, V12),
        (spec("Intermediate"), V12),
        (spec("Modern"), V13),
        (spec("Modern", LEGACY), V13),
        (spec("Modern", STRICT), V13),
        (spec("Old", STRICT), V10),
        (spec("Old", "SomethingNew"), V10),
        (spec("Old", LEGACY), V12),
        (spec("Old"), V12),
        (spec("Postmodern"), V13),
        (spec(["Old"]), V13),
        ({"spec": {"tlsSecurityProfile": "Old"}}, V13),
        ({"spec": "Old"}, V13),
        (spec("Custom"), V13),
        (spec("Custom", minTLSVersion="VersionTLS12", ciphers=["ECDHE-RSA-AES128-GCM-SHA256"]), V12),
        (spec("Custom", STRICT, minTLSVersion="VersionTLS11", ciphers=["AES128-SHA"]), V11),
        (spec("Custom", minTLSVersion="VersionTLS11", ciphers=["AES128-SHA"]), V12),
        (spec("Custom", minTLSVersion="VersionTLS12", ciphers=["TLS_AES_128_GCM_SHA256"]), V13),
        (spec("Custom", minTLSVersion="VersionTLS13", ciphers=["AES128-SHA"]), V13),
        (spec("Custom", minTLSVersion="VersionTLS14", ciphers=["AES128-SHA"]), V13),
        (spec("Custom", minTLSVersion="VersionTLS12", ciphers="AES128-SHA"), V13),
    ],
    ids=str,
)
def test_the_lowest_version_that_is_spoken(raw, minimum):
    assert tls.wanted(raw).minimum == minimum


def test_without_strict_adherence_nothing_weaker_than_our_own_profile_is_taken_over():
    assert tls.wanted(spec("Old", LEGACY)) == tls.INTERMEDIATE
    assert tls.wanted(spec("Custom", minTLSVersion="VersionTLS10", ciphers=["DES-CBC3-SHA"])) == tls.INTERMEDIATE
    assert tls.wanted(spec("Old", STRICT)) == tls.OLD


def test_what_is_no_name_of_a_cipher_never_reaches_openssl():
    """Its list has a language: ALL, !this, @SECLEVEL=0. An administrator who is not to be trusted could write it."""
    names = [
        "ALL",
        "@SECLEVEL=0",
        "!AES128-SHA",
        "+AES128-SHA",
        "a:b-c",
        "eNULL",
        "-AES128-SHA",
        "ECDHE-RSA-AES256-SHA",
    ]
    found = tls.wanted(spec("Custom", STRICT, minTLSVersion="VersionTLS12", ciphers=names))
    assert found.ciphers == ("ECDHE-RSA-AES256-SHA",)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return tls.read(ground.serving_pair(tmp_path_factory.mktemp("serving")))


def test_every_profile_of_the_api_is_one_that_this_openssl_can_make(pair):
    for one in (tls.OLD, tls.INTERMEDIATE, tls.MODERN):
        made = tls.make(pair, "", one)
        known = {cipher["name"] for cipher in made.get_ciphers()}
        assert set(tls.INTERMEDIATE.ciphers) <= known or one is tls.MODERN
