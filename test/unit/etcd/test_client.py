"""What the client of etcd is given and what it reads: flags, the spelling of endpoints, and etcd's JSON.

In that JSON what is absent is zero, numbers are texts, and what is anything else is no answer.
"""

import contextlib
import gc
import json
import logging
import pathlib
import ssl
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from hypothesis import given
from hypothesis import strategies as st
from test import processes

from topology_api import vocabulary
from topology_controller import cli, logs, mounted, process
from topology_controller.definitions import load
from topology_controller.etcd import client
from topology_simulator.etcd import certificates

ADDRESS = ("--bind-address", "127.0.0.1:0")


def test_endpoints_without_certificates_are_bad_usage(capsys):
    assert cli.main(["run", *ADDRESS, "--etcd-endpoints", "https://192.0.2.1:2379"]) == cli.USAGE
    assert "--etcd-endpoints goes with --etcd-cert-dir" in capsys.readouterr().err


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What an operator process would have been started with."""
    found: list[Any] = []

    async def run(options: process.Options, transitions: load.Transitions) -> None:
        found.extend(
            (options.etcd_cert_dir, options.etcd_endpoints, transitions.asks(vocabulary.CheckName.ETCD_MEMBERS_DIRECT))
        )

    monkeypatch.setattr(process, "run", run)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(logs, "set_up", lambda *_: None)
    return found


def test_a_certificate_folder_makes_the_definitions_ask_unless_it_is_a_volume_without_a_secret(started, tmp_path):
    (tmp_path / "..2026").mkdir()
    (tmp_path / "..data").symlink_to("..2026")
    flags = ["--etcd-cert-dir", str(tmp_path), "--etcd-endpoints", "https://A:1,https://192.0.2.1,https://a:1"]
    for more in ([], flags, ["--etcd-cert-dir", str(tmp_path / "missing")]):
        assert cli.main(["run", *ADDRESS, *more]) == cli.OK
    (tmp_path / "ca.crt").symlink_to("..data/ca.crt")
    assert cli.main(["run", *ADDRESS, *flags]) == cli.OK
    assert started[:3] == [None, (), False]
    assert started[5::3] == [False, True, True], "what cannot be read is Unknown, and stops a transition"
    assert started[-3:] == [tmp_path, ("https://a:1", "https://192.0.2.1:2379"), True]


def test_the_room_stays_closed_where_nobody_needs_it():
    """Memory is promised; most clusters never give certificates."""
    asked = (
        "import sys, topology_controller.process; "
        "print([name for name in sys.modules if name.startswith(('topology_controller.etcd', "
        "'topology_controller.observe.members'))])"
    )
    assert processes.python("-c", asked) == (0, "[]\n", "")


# Endpoints


@pytest.mark.parametrize(
    ("written", "spelt"),
    [
        ("https://192.0.2.1:2379", "https://192.0.2.1:2379"),
        ("https://192.0.2.1", "https://192.0.2.1:2379"),
        (" https://192.0.2.1:2379/ ", "https://192.0.2.1:2379"),
        ("HTTPS://Etcd-0.Example.ORG:1", "https://etcd-0.example.org:1"),
        ("https://[2001:DB8:0::1]:2379", "https://[2001:db8::1]:2379"),
    ],
)
def test_two_spellings_are_one_endpoint(written: str, spelt: str):
    assert client.parse_endpoint(written) == spelt
    assert client.parse_endpoint(spelt) == spelt


@pytest.mark.parametrize(
    "written",
    [
        "", "192.0.2.1:2379", "http://192.0.2.1:2379", "unix://socket", "https://", "https://h:0x1", "https://h:99999",
        "https://u:p@h:1", "https://h:1/v3", "https://h:1?x=1", "https://h:1#x", "https://[::1:1", "https://:2379",
    ],
)  # fmt: skip
def test_anything_else_is_refused_and_shown(written: str):
    with pytest.raises(ValueError, match=r"URL|https"):
        client.parse_endpoint(written)


# Answers

HEADER = {"cluster_id": "2655536050733517058", "member_id": "18446744073709551615", "raft_term": "2"}
SIMPLE = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = st.recursive(
    SIMPLE | st.sampled_from(("1", "-1", "9" * 20)),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ("header", "cluster_id", "member_id", "members", "ID", "name", "clientURLs", "isLearner", "leader",
             "health", "raftTerm", "errors")
        ),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip


def member(**changes: Any) -> dict[str, Any]:
    return {"ID": "51966", "name": "m", "peerURLs": ["p"], "clientURLs": ["https://b:1", "https://a:1"], **changes}


def read(kind: type[Any], raw: Any) -> Any:
    return kind.model_validate_json(json.dumps(raw))


def test_a_member_list():
    found = read(
        client.MemberList, {"header": HEADER, "members": [member(), {"ID": "2"}, member(ID="3", isLearner=True)]}
    )
    assert (found.cluster, found.member) == (f"{2655536050733517058:x}", "f" * 16)
    assert [(one.id, one.name, one.learner, one.client_urls) for one in found.members] == [
        ("2", "", False, ()),
        ("3", "m", True, ("https://a:1", "https://b:1")),
        ("cafe", "m", False, ("https://a:1", "https://b:1")),
    ]


@pytest.mark.parametrize(
    "members",
    [
        None, [], {}, [None], [member(ID=None)], [member(ID="0")], [member(ID="x")], [member(ID=True)],
        [member(ID=str(2**64))], [member(ID=-1)], [member(name=1)], [member(isLearner="true")],
        [member(clientURLs="x")], [member(clientURLs=[1])], [member(), member()],
    ],
)  # fmt: skip
def test_a_list_that_is_none(members: Any):
    with pytest.raises(ValueError, match=r"\S"):
        read(client.MemberList, {"header": HEADER, "members": members})


@given(JSON)
def test_garbage_is_a_value_error_and_nothing_else(raw: Any):
    for kind in (client.MemberList, client.Status, client.Health):
        with contextlib.suppress(ValueError):
            read(kind, raw)


# -- the certificate folder while somebody changes it: the newest good set, never a mixed or a half-written one

FILES = ("ca.crt", "tls.crt", "tls.key")


def refused(path: pathlib.Path) -> str:
    with pytest.raises(mounted.MountedFileError) as error:
        client.Folder(path).context()
    return str(error.value)


def test_tls_is_strict(folder: pathlib.Path):
    context = client.Folder(folder).context()
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "content", [None, b"", b"garbage", b"-----BEGIN CERTIFICATE-----\nAAAA\n", b"\xff\x00" * 10, b"A" * (2**20 + 1)]
)
def test_a_file_that_is_not_what_it_should_be_is_named(folder: pathlib.Path, name: str, content: bytes | None):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    assert refused(folder).startswith(f"{folder / name} ")


def locked(key: bytes, password: bytes) -> bytes:
    how = serialization.BestAvailableEncryption(password)
    loaded = serialization.load_pem_private_key(key, None)
    return loaded.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)


@pytest.mark.parametrize("damage", ["of another certificate", "secret", " "])
def test_a_key_of_another_or_with_a_password_is_refused_and_nobody_asked(folder, authority, damage):
    place = folder / "tls.key"
    other = authority.client().key if damage.startswith("of") else locked(place.read_bytes(), damage.encode())
    place.write_bytes(other)
    assert "tls.key is no unencrypted key that goes with tls.crt" in refused(folder)


def test_no_key_is_told(folder: pathlib.Path, caplog: pytest.LogCaptureFixture):
    kept = client.Folder(folder)
    kept.context()
    secret = (folder / "tls.key").read_text().splitlines()[1]
    (folder / "tls.key").write_text(f"broken {secret}")
    kept.context()
    assert caplog.text
    assert secret[:20] not in caplog.text + refused(folder)


@pytest.mark.parametrize("name", FILES)
def test_half_written_files_leave_the_last_good_set_and_it_is_said_once(folder, name, authority, caplog):
    caplog.set_level(logging.INFO)
    kept = client.Folder(folder)
    good = kept.context()
    whole = (folder / name).read_bytes()
    for written in (b"", whole[: len(whole) // 2]):
        (folder / name).write_bytes(written)
        for _ in range(3):
            assert kept.context() is good
    said = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert len(said) == len(set(said)), said
    assert 1 <= len(said) <= 2
    assert all(name in line for line in said), said
    (folder / name).write_bytes(whole)
    assert kept.context() is good
    assert "can be used again" in caplog.records[-1].message
    certificates.write(folder, authority.certificate, authority.client())
    assert kept.context() is not good, "the newest set"
