"""What stands in a kubeconfig, or comes from a credential plugin, never becomes a file nor a line of a log.

Real processes, against a server that asks for a client certificate: the operator that is killed, and a small one that
has forbidden itself to write any file at all. And at -v 6, a server that repeats what it was sent.
"""

import base64
import contextlib
import json
import logging
import os
import pathlib
import ssl
import stat
import sys
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from test import kubeconfigs, processes, skips

from topology_controller import logs, terminal
from topology_controller.kube import client as clients
from topology_controller.kube import config, errors, resource, transport
from topology_simulator.etcd import certificates

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")
AUTHORITY = certificates.Authority("cluster")
ADMIN = AUTHORITY.client("system:admin")


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


USER = {"client-certificate-data": encoded(ADMIN.certificate), "client-key-data": encoded(ADMIN.key)}


def kubeconfig(folder: pathlib.Path, port: int, user: dict[str, Any] | None = None, **cluster: Any) -> pathlib.Path:
    """Write a kubeconfig that has everything in it: authority, certificate, key."""
    inside = {"certificate-authority-data": encoded(AUTHORITY.certificate), **cluster}
    return kubeconfigs.written(folder / "kubeconfig", f"https://127.0.0.1:{port}", user or USER, **inside)


def plugin(folder: pathlib.Path, **status: str) -> dict[str, Any]:
    """Make a credential plugin that prints this status."""
    version = "client.authentication.k8s.io/v1"
    printed = folder / "printed"
    printed.write_text(json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status}))
    return {"exec": {"command": "cat", "args": [str(printed)], "apiVersion": version}}


def certified(folder: pathlib.Path, pair: certificates.Pair = ADMIN) -> dict[str, Any]:
    return plugin(folder, clientCertificateData=pair.certificate.decode(), clientKeyData=pair.key.decode())


@pytest.fixture
async def secured(faulty, make_widget, tmp_path):
    """Answer whoever has a certificate of the authority: with a widget, or 404 for what it has not."""

    async def behave(asked, reply):
        if asked.path.endswith("/widgets/a"):
            await reply.whole(200, make_widget("a", 1))
        else:
            await reply.whole(404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not here"})

    place = certificates.write(tmp_path / "server", AUTHORITY.certificate, AUTHORITY.member("server"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / certificates.CERTIFICATE_FILE, place / certificates.KEY_FILE)
    context.load_verify_locations(place / certificates.CA_FILE)
    context.verify_mode = ssl.CERT_REQUIRED
    faulty.behave = behave
    await faulty.secure(context)
    return faulty


@contextlib.asynccontextmanager
async def running(folder, *arguments):
    """Run a program whose folder for temporary files, home and working folder is one that is empty."""
    environ = {**os.environ, "TMPDIR": str(folder), "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    environ.pop("KUBECONFIG", None)
    async with processes.killed_after(
        await processes.started(sys.executable, *arguments, env=environ, cwd=folder)
    ) as process:
        yield process


@pytest.fixture
def empty(tmp_path):
    place = tmp_path / "empty"
    place.mkdir()
    return place


async def test_an_operator_that_is_killed_leaves_nothing(secured, tmp_path, empty, soon):
    place = kubeconfig(tmp_path, secured.port)
    arguments = ("-m", "topology_controller", "run", "--kubeconfig", str(place), "--bind-address", "127.0.0.1:0")
    async with running(empty, *arguments) as process:
        await soon(lambda: secured.asked, 60.0)
        assert not list(empty.iterdir()), "while it runs"
        process.kill()
        await process.wait()
    assert not list(empty.iterdir())


WITHOUT_FILES = """
import asyncio, os, sys
from topology_controller.kube import client, config, resource
# Whatever the standard library and the package of the API read lazily is read before.
def refuse(event, arguments):
    if event.startswith("tempfile.") or event == "open" and (
        isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        or arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    ) and not isinstance(arguments[0], int) and arguments[0] != os.devnull:
        raise SystemError(f"a file is written: {arguments[0]}")
async def main():
    configuration = await config.load(sys.argv[1])
    configuration.proxy = ""
    async with client.Client(configuration, user_agent="t", field_manager="t", request_timeout=20) as opened:
        found = await opened.get(resource.Resource("example.org", "v1", "widgets", "Widget"), "a")
        print(found["metadata"]["name"], configuration.files)
sys.addaudithook(refuse)
asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason=f"{skips.ELSEWHERE}files in memory are Linux's")
@pytest.mark.parametrize("source", ["kubeconfig", "credential plugin"])
async def test_no_file_is_written_not_even_for_a_moment(secured, tmp_path, empty, source):
    user = certified(tmp_path) if source == "credential plugin" else None
    async with running(empty, "-c", WITHOUT_FILES, str(kubeconfig(tmp_path, secured.port, user))) as process:
        out, err = await process.communicate()
    assert out.decode() == "a {}\n", err.decode()
    assert secured.asked


async def ask(place):
    loaded = await config.load(place)
    loaded.proxy = ""
    async with clients.Client(loaded, user_agent="t", field_manager="t", request_timeout=5) as client:
        await client.get(WIDGETS, "a")
    return loaded


async def test_what_is_written_there_outweighs_a_file_as_with_kubectl(secured, tmp_path):
    both = {"client-certificate": "/nonexistent/tls.crt", "client-key": "/nonexistent/tls.key"}
    await ask(kubeconfig(tmp_path, secured.port, {**both, **USER}, **{"certificate-authority": "/nonexistent/ca"}))


async def test_a_plugin_that_prints_another_certificate_is_believed(secured, tmp_path):
    """The server refuses the first one; the plugin prints another, and what was asked is answered."""
    behave = secured.behave

    async def behave_once(asked, reply):
        await (behave(asked, reply) if len(secured.asked) > 1 else reply.whole(401, b"Unauthorized"))

    secured.behave = behave_once
    loaded: Any = await config.load(kubeconfig(tmp_path, secured.port, certified(tmp_path)))
    loaded.proxy, loaded.refresh._ask_again = "", 0.0
    certified(tmp_path, AUTHORITY.client("system:admin"))
    async with clients.Client(loaded, user_agent="t", field_manager="t", request_timeout=5) as client:
        await client.get(WIDGETS, "a")
    refused, answered = secured.asked
    assert answered.connection != refused.connection


def locked(key: bytes) -> bytes:
    loaded = serialization.load_pem_private_key(key, None)
    locking = serialization.BestAvailableEncryption(b"a passphrase")
    return loaded.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locking)


@pytest.mark.parametrize("where", ["client-key-data", "client-key"])
async def test_a_passphrase_is_never_asked_for(tmp_path, where):
    key = locked(ADMIN.key)
    (tmp_path / "tls.key").write_bytes(key)
    user = {"client-certificate-data": encoded(ADMIN.certificate)}
    user[where] = encoded(key) if where == "client-key-data" else str(tmp_path / "tls.key")
    with pytest.raises(config.ConfigError, match="has a passphrase, which is not supported"):
        await ask(kubeconfig(tmp_path, 1, user))


@pytest.mark.parametrize(
    ("part", "value", "told"),
    [
        ("client-key-data", "!", "client-key-data is not base64"),
        ("client-key-data", 7, "client-key-data is not a text"),
        ("client-certificate-data", encoded(b"no certificate"), "client-certificate-data, client-key-data: cannot"),
        ("client-key-data", encoded(b"no key"), "client-certificate-data, client-key-data: cannot be used for TLS"),
    ],
)
async def test_what_cannot_be_used_is_named_as_it_stands_there(tmp_path, part, value, told):
    with pytest.raises(config.ConfigError, match=told) as caught:
        await ask(kubeconfig(tmp_path, 1, {**USER, part: value}))
    assert encoded(ADMIN.key) not in str(caught.value)


# Logs

# It does not look like a credential.
TOKEN = "Xq.3vTt-_8Rk2LmZ0p/Ws1"


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch):
    monkeypatch.setattr(terminal, "_known", {})


async def echo(asked, reply):
    """Say what was sent, once with its name and once without, as an API error and as something else."""
    sent = asked.headers["Authorization"]
    said = f"headers:\n{json.dumps(asked.headers)}\nor {sent} or {sent.rpartition(' ')[2]}"
    if asked.method == "GET":
        await reply.whole(403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": said})
    else:
        await reply.whole(500, said.encode())


@pytest.mark.parametrize("kind", ["token", "tokenFile", "exec", "password"])
async def test_what_the_server_repeats_is_not_logged(kind, tmp_path, faulty, connect, caplog):
    (tmp_path / "token").write_text(TOKEN)
    users = {"token": {"token": TOKEN}, "tokenFile": {"tokenFile": "token"}, "exec": plugin(tmp_path, token=TOKEN)}
    users["password"] = {"username": "jane", "password": TOKEN}
    basic = encoded(f"jane:{TOKEN}".encode())
    sent = basic if kind == "password" else TOKEN
    caplog.set_level(terminal.REQUESTS, logger="topology_controller")
    faulty.behave = echo
    client = await connect(configuration=await config.load(kubeconfig(tmp_path, 1, users[kind])))
    log = logging.getLogger(transport.__name__)
    for call in (client.get(WIDGETS, "a"), client.merge_patch(WIDGETS, "a", {})):
        with pytest.raises(errors.KubeError) as caught:
            await call
        for secret in (TOKEN[4:], basic):
            assert secret not in str(caught.value) + repr(caught.value.message)
        log.warning("%(error)s", {"error": caught.value})
        log.error("a bug", exc_info=caught.value)
        # As a body that somebody logs without having cleaned it, and with a cause that nobody cleaned.
        log.warning("%s", sent)
    assert faulty.asked[0].headers["Authorization"].partition(" ")[2] == sent, "else nothing is shown here"
    requests = [record.getMessage() for record in caplog.records if record.levelno == terminal.REQUESTS]
    assert [line.partition(" after ")[0] for line in requests] == [
        "GET /apis/example.org/v1/widgets/a: 403",
        "PATCH /apis/example.org/v1/widgets/a: 500",
    ]
    for formatter in (logs.Text(), logs.Json()):
        lines = [formatter.format(record) for record in caplog.records]
        assert len(lines) >= 8
        for line in lines:
            assert not [secret for secret in (TOKEN, TOKEN[4:], basic) if secret in line]
        assert any("(removed)" in line for line in lines)


async def test_a_plugin_that_fails_does_not_tell_what_it_knows(tmp_path):
    program = tmp_path / "plugin"
    words = f"Authorization: Bearer {TOKEN}"
    program.write_text(f"#!/bin/sh\necho '{words}' >&2\necho '{words}'\nexit 3\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    user = {"exec": {"command": str(program), "apiVersion": "client.authentication.k8s.io/v1"}}
    with pytest.raises(config.ConfigError) as caught:
        await config.load(kubeconfig(tmp_path, 1, user))
    assert TOKEN not in str(caught.value)


async def test_the_password_of_a_proxy_is_not_logged(faulty, connect, caplog):
    client = await connect()
    client.proxy = "http://me:Pr0xyPassw0rd-21@127.0.0.1:9"
    with pytest.raises(errors.Unreachable) as caught:
        await client.merge_patch(WIDGETS, "a", {})
    logging.getLogger(transport.__name__).error("%(error)s", {"error": caught.value}, exc_info=caught.value)
    for formatter in (logs.Text(), logs.Json()):
        assert all("Pr0xyPassw0rd" not in formatter.format(record) for record in caplog.records)
