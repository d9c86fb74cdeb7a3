"""Certificate, client CA and profile change while people come and go; and which TLS an APIServer object asks of us."""

from __future__ import annotations

import asyncio
import ssl

import aiohttp
import pytest

from topology_controller.serve import server as servers
from topology_controller.serve import tls as serving

from . import ground

MODERN = {"tlsSecurityProfile": {"type": "Modern"}}
SLOW = 3600.0


@pytest.fixture
def cluster():
    made = ground.Cluster(client_ca=ground.CLIENTS.certificate.decode())
    made.know("alices", "alice", "/metrics", "/cluster-topology-operator/page")
    return made


@pytest.fixture
def folder(tmp_path):
    return ground.serving_pair(tmp_path / "serving")


async def serial(server, tls) -> str:
    """Which certificate a new connection is shown."""
    _, writer = await asyncio.open_connection("127.0.0.1", server.bound, ssl=tls)
    try:
        return str(writer.get_extra_info("peercert")["serialNumber"])
    finally:
        writer.transport.abort()


async def renewed(server, folder, tls) -> str:
    """Replace the certificate, wait until the new one is shown, and return which the old one was."""
    before = await serial(server, tls)
    ground.serving_pair(folder)
    async with asyncio.timeout(20):
        while await serial(server, tls) == before:  # noqa: ASYNC110 - a socket has no event to wait for
            await asyncio.sleep(0.02)
    return before


async def test_a_new_certificate_is_served_without_a_gap_while_clients_hammer(cluster, folder, tmp_path):
    tls = ground.client_tls(tmp_path)
    stop = asyncio.Event()
    codes: list[int] = []
    serials: set[str] = set()

    async def hammer(*, kept: bool) -> None:
        connector = aiohttp.TCPConnector(ssl=tls, force_close=not kept)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=20)) as client:
            while not stop.is_set():
                headers = {"Authorization": "Bearer alices"}
                async with client.get(ground.url(server, "/metrics"), headers=headers) as answer:
                    codes.append(answer.status)
                    await answer.read()

    async with ground.served(cluster, folder) as server, asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(hammer(kept=number % 2 == 0))
        for _ in range(8):
            count = len(codes)
            serials.add(await renewed(server, folder, tls))
            await ground.until("it was hammered", lambda: len(codes) >= count + 20)  # noqa: B023 - waited for here
        stop.set()
    assert set(codes) == {200}, "not one was refused, cut or answered otherwise"
    assert len(serials) == 8
    assert len(codes) >= 8 * 20


async def test_the_profile_is_followed_at_once_and_back(cluster, folder, tmp_path):
    old = ground.client_tls(tmp_path, newest=ssl.TLSVersion.TLSv1_2)
    new = ground.client_tls(tmp_path)
    async with ground.served(cluster, folder, period=SLOW) as server:
        assert (await ground.get(server, old, "/healthz"))[0] == 200
        for spec, lets_in in ((MODERN, False), (None, True), ({"tlsSecurityProfile": {"type": "New"}}, False)):
            before = ground.context(server)
            cluster.change(profile=spec or {})
            await ground.until("there is a new context", lambda: ground.context(server) is not before)  # noqa: B023 - waited for here
            assert (await ground.get(server, new, "/healthz"))[0] == 200
            if lets_in:
                assert (await ground.get(server, old, "/healthz"))[0] == 200
            else:
                with pytest.raises(aiohttp.ClientError):
                    await ground.get(server, old, "/healthz")


async def test_before_anything_was_read_the_strictest_holds(cluster, folder, tmp_path):
    made = servers.Security(cluster, folder).tls
    assert made.profile == serving.MODERN
    assert made.context.minimum_version == ssl.TLSVersion.TLSv1_3
    assert made.context.verify_mode == ssl.CERT_NONE


async def test_a_new_client_ca_counts_and_the_old_one_does_not(cluster, folder, tmp_path):
    mine = ground.client_tls(tmp_path / "a", ground.CLIENTS.client(ground.PROMETHEUS))
    theirs = ground.client_tls(tmp_path / "b", ground.STRANGERS.client(ground.PROMETHEUS))
    async with ground.served(cluster, folder, period=SLOW) as server:
        assert (await ground.get(server, mine, "/metrics"))[0] == 200
        before = ground.context(server)
        cluster.change(client_ca=ground.STRANGERS.certificate.decode())
        await ground.until("there is a new context", lambda: ground.context(server) is not before)
        assert (await ground.get(server, theirs, "/metrics"))[0] == 200
        with pytest.raises(aiohttp.ClientError):
            await ground.get(server, mine, "/metrics")


# Profiles

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
        ({"spec": {}}, V12),
        ({"spec": {"tlsSecurityProfile": {}}}, V12),
        (spec("Intermediate"), V12),
        (spec("Modern"), V13),
        (spec("Modern", STRICT), V13),
        (spec("Old", STRICT), V10),
        (spec("Old", "SomethingNew"), V10),
        (spec("Old", LEGACY), V12),
        (spec("Old"), V12),
        (spec("Postmodern"), V13),
        (spec(["Old"]), V13),
        ({"spec": {"tlsSecurityProfile": "Old"}}, V13),
        (spec("Custom"), V13),
        (spec("Custom", minTLSVersion="VersionTLS12", ciphers=["ECDHE-RSA-AES128-GCM-SHA256"]), V12),
        (spec("Custom", STRICT, minTLSVersion="VersionTLS11", ciphers=["AES128-SHA"]), V11),
        (spec("Custom", minTLSVersion="VersionTLS11", ciphers=["AES128-SHA"]), V12),
        (spec("Custom", minTLSVersion="VersionTLS12", ciphers=["TLS_AES_128_GCM_SHA256"]), V13),
        (spec("Custom", minTLSVersion="VersionTLS13", ciphers=["AES128-SHA"]), V13),
        (spec("Custom", minTLSVersion="VersionTLS12", ciphers="AES128-SHA"), V13),
    ],
    ids=str,
)
def test_the_lowest_version_that_is_spoken(raw, minimum):
    assert serving.wanted(raw).minimum == minimum


def test_without_strict_adherence_nothing_weaker_than_our_own_profile_is_taken_over():
    assert serving.wanted(spec("Old", LEGACY)) == serving.INTERMEDIATE
    assert (
        serving.wanted(spec("Custom", minTLSVersion="VersionTLS10", ciphers=["DES-CBC3-SHA"])) == serving.INTERMEDIATE
    )
    assert serving.wanted(spec("Old", STRICT)) == serving.OLD


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
    found = serving.wanted(spec("Custom", STRICT, minTLSVersion="VersionTLS12", ciphers=names))
    assert found.ciphers == ("ECDHE-RSA-AES256-SHA",)


def test_every_profile_of_the_api_is_one_that_this_openssl_can_make(folder):
    pair = serving.read(folder)
    for one in (serving.OLD, serving.INTERMEDIATE, serving.MODERN):
        known = {cipher["name"] for cipher in serving.make(pair, "", one).get_ciphers()}
        assert set(serving.INTERMEDIATE.ciphers) <= known or one is serving.MODERN
