"""Certificate, client CA and profile change while people come and go; and which TLS an APIServer object asks of us.

Each context is of one whole set of files, and never waited for.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from typing import TYPE_CHECKING

import aiohttp
import pytest
from cryptography.hazmat.primitives import serialization
from test import polling

from topology_controller import mounted
from topology_controller.serve import tls

from . import ground

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

MODERN = {"tlsSecurityProfile": {"type": "Modern"}}
SLOW = 3600.0


def following(folder: pathlib.Path) -> tls.ServingTLS:
    return tls.ServingTLS(None, folder)  # type: ignore[arg-type]  # nothing is watched


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
    async with asyncio.timeout(20 * polling.PATIENCE):
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
            await polling.until("it was hammered", lambda: len(codes) >= count + 20)  # noqa: B023 - waited for here
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
            await polling.until("there is a new context", lambda: ground.context(server) is not before)  # noqa: B023 - waited for here
            assert (await ground.get(server, new, "/healthz"))[0] == 200
            if lets_in:
                assert (await ground.get(server, old, "/healthz"))[0] == 200
            else:
                with pytest.raises(aiohttp.ClientError):
                    await ground.get(server, old, "/healthz")


async def test_before_anything_was_read_the_strictest_holds(cluster, folder, tmp_path):
    made = tls.ServingTLS(cluster, folder)
    assert made.profile == tls.MODERN
    assert made.current.minimum_version == ssl.TLSVersion.TLSv1_3
    assert made.current.verify_mode == ssl.CERT_NONE


async def test_a_new_client_ca_counts_and_the_old_one_does_not(cluster, folder, tmp_path):
    mine = ground.client_tls(tmp_path / "a", ground.CLIENTS.client(ground.PROMETHEUS))
    theirs = ground.client_tls(tmp_path / "b", ground.STRANGERS.client(ground.PROMETHEUS))
    async with ground.served(cluster, folder, period=SLOW) as server:
        assert (await ground.get(server, mine, "/metrics"))[0] == 200
        before = ground.context(server)
        cluster.change(client_ca=ground.STRANGERS.certificate.decode())
        await polling.until("there is a new context", lambda: ground.context(server) is not before)
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
        (spec("Modern", STRICT), V13),
        (spec("Old", STRICT), V10),
        (spec("Old", "SomethingNew"), V10),
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
    assert tls.wanted(raw).minimum == minimum


def test_without_strict_adherence_nothing_weaker_than_our_own_profile_is_taken_over():
    assert tls.wanted(spec("Old", LEGACY)) == tls.INTERMEDIATE
    assert tls.wanted(spec("Custom", minTLSVersion="VersionTLS10", ciphers=["DES-CBC3-SHA"])) == tls.INTERMEDIATE
    assert tls.wanted(spec("Old", STRICT)) == tls.OLD


def test_what_is_no_name_of_a_cipher_never_reaches_openssl():
    """Its list has a language: ALL, !this, @SECLEVEL=0. An administrator who is not to be trusted could write it."""
    names = ["ALL", "@SECLEVEL=0", "!AES128-SHA", "-AES128-SHA", "a:b-c", "eNULL", "ECDHE-RSA-AES256-SHA"]
    found = tls.wanted(spec("Custom", STRICT, minTLSVersion="VersionTLS12", ciphers=names))
    assert found.ciphers == ("ECDHE-RSA-AES256-SHA",)


def test_every_profile_of_the_api_is_one_that_this_openssl_can_make(folder):
    pair = mounted.read(folder, tls.CERTIFICATE, tls.KEY)
    for one in (tls.OLD, tls.INTERMEDIATE, tls.MODERN):
        known = {cipher["name"] for cipher in tls.make(pair, "", one).get_ciphers()}
        assert set(tls.INTERMEDIATE.ciphers) <= known or one is tls.MODERN


CA = ground.CLIENTS.certificate.decode()


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.INFO, logger="topology_controller")
    return lambda: [record.getMessage() for record in caplog.records]


def test_each_of_the_three_makes_a_new_context_and_never_changes_the_old(folder, said):
    contexts = following(folder)
    seen = [contexts.current]
    for change in (
        lambda: contexts.renew("", tls.INTERMEDIATE),
        lambda: contexts.renew(CA, tls.INTERMEDIATE),
        lambda: (ground.serving_pair(folder), contexts.renew(CA, tls.INTERMEDIATE))[1],
    ):
        versions = [(one.minimum_version, one.verify_mode) for one in seen]
        assert change()
        assert contexts.current not in seen
        assert [(one.minimum_version, one.verify_mode) for one in seen] == versions
        seen.append(contexts.current)
    assert said() == [f"the serving certificate in {folder} was replaced"]


@pytest.mark.parametrize("name", ["tls.crt", "tls.key"])
@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN CERTIFICATE-----\n!\n", b"x" * 2_000_000])
def test_what_is_no_pair_is_refused_at_the_start_and_survived_later(folder, name, content, said):
    good = following(folder)
    before = good.current
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(OSError, match=name.replace(".", r"\.")) as raised:
        following(folder)
    assert "BEGIN" not in str(raised.value)
    assert good.renew("", tls.MODERN) is False
    assert good.current is before
    assert name in said()[0]


def test_an_encrypted_key_does_not_ask_at_the_terminal(folder):
    key = serialization.load_pem_private_key((folder / "tls.key").read_bytes(), None)
    sealed = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    )
    (folder / "tls.key").write_bytes(sealed)
    with pytest.raises(OSError, match=r"tls\.key cannot be used"):
        following(folder)


def test_a_client_ca_that_is_none_leaves_the_one_before(folder, said):
    contexts = following(folder)
    contexts.renew(CA, tls.INTERMEDIATE)
    contexts.renew("nonsense", tls.INTERMEDIATE)
    assert contexts.current.get_ca_certs(), "the one before still counts"
    assert len(said()) == 1
    assert "the client CA cannot be used" in said()[0]
    contexts.renew(CA + ground.STRANGERS.certificate.decode(), tls.INTERMEDIATE)
    assert len(contexts.current.get_ca_certs()) == 2


def test_ciphers_that_nobody_knows_leave_tls_13(folder, said):
    contexts = following(folder)
    contexts.renew("", tls.Profile("Custom", tls.INTERMEDIATE.minimum, ("NOT-A-CIPHER",)))
    assert contexts.current.minimum_version == tls.MODERN.minimum
    assert "TLS profile Custom cannot be used, so TLS 1.3 it is" in said()[0]


def test_nothing_of_a_key_stays_on_a_disk(folder, monkeypatch):
    """OpenSSL reads from memory where the system has that."""
    monkeypatch.setattr("tempfile.TemporaryFile", lambda: pytest.fail("a file was made"))
    following(folder)


def test_without_memory_files_a_temporary_one_does(folder, monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    assert following(folder).current is not None


# A mounted volume

NAMES = ("one", "two")


def volume(folder: pathlib.Path, *sets: str) -> None:
    """Make a folder as kubelet does: sets of files, and links that lead to the first one."""
    for name in sets:
        (folder / f"..{name}").mkdir()
        for file in NAMES:
            (folder / f"..{name}" / file).write_text(f"{file} of {name}")
    (folder / "..data").symlink_to(f"..{sets[0]}")
    for file in NAMES:
        (folder / file).symlink_to(f"..data/{file}")


def turn(folder: pathlib.Path, name: str) -> None:
    (folder / "..link").symlink_to(f"..{name}")
    (folder / "..link").rename(folder / "..data")


@pytest.fixture
def opened(monkeypatch):
    """Call something after every file that is opened."""
    calls: list[Callable[[], None]] = []
    real = os.open

    def opening(place, *options):
        number = real(place, *options)
        for call in calls:
            call()
        return number

    monkeypatch.setattr(os, "open", opening)
    return calls


def test_a_volume_that_is_turned_meanwhile_is_read_again_and_never_mixed(tmp_path, opened):
    volume(tmp_path, "old", "new")
    opened.append(lambda: turn(tmp_path, "new"))
    assert mounted.read(tmp_path, *NAMES) == (b"one of new", b"two of new")


def test_a_volume_that_is_turned_all_the_time_is_given_up(tmp_path, opened):
    volume(tmp_path, "old", "new")
    sets = iter(["new", "old"] * 10)
    opened.append(lambda: turn(tmp_path, next(sets)))
    with pytest.raises(mounted.MountedFileError, match="changes while it is being read"):
        mounted.read(tmp_path, "one")


def test_a_file_that_cannot_be_read_is_named_as_it_is_seen(tmp_path):
    volume(tmp_path, "old")
    (tmp_path / "pipe").symlink_to("..data/pipe")
    os.mkfifo(tmp_path / "..old" / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "..old" / "folder").mkdir()
    for name, reason in (
        ("three", "does not exist"),
        ("pipe", "is no regular file"),
        ("folder", "is no regular file"),
        ("two", "is larger than 3 bytes"),
        ("one/two", "cannot be read: Not a directory"),
    ):
        with pytest.raises(mounted.MountedFileError) as raised:
            mounted.read(tmp_path, name, largest=3)
        assert (raised.value.path, raised.value.reason) == (tmp_path / name, reason)
        assert str(raised.value) == f"{tmp_path / name} {reason}"
