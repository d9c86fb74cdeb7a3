"""What stands in a kubeconfig, or comes from a credential plugin, never becomes a file: a killed process leaves no key.

Real processes, against a server that asks for a client certificate: the operator, the plugin for kubectl, and a small
one that has forbidden itself to write any file at all.
"""

import base64
import contextlib
import json
import os
import pathlib
import ssl
import sys
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from test import processes, skips

from topology_controller.kube import client as clients
from topology_controller.kube import config, errors, resource
from topology_simulator.etcd import certificates

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")
AUTHORITY = certificates.Authority("cluster")
ADMIN = AUTHORITY.client("system:admin")


Fields = dict[str, Any]


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def kubeconfig(
    folder: pathlib.Path, port: int, user: Fields | None = None, cluster: Fields | None = None
) -> pathlib.Path:
    """Write a kubeconfig that has everything in it: authority, certificate, key."""
    if user is None:
        user = {"client-certificate-data": encoded(ADMIN.certificate), "client-key-data": encoded(ADMIN.key)}
    inside = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": encoded(AUTHORITY.certificate)}
    content = {
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {**inside, **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
    }
    place = folder / "kubeconfig"
    place.write_text(json.dumps(content))
    return place


def plugin(folder: pathlib.Path, certificate: bytes, key: bytes) -> Fields:
    """Make a credential plugin that prints a certificate."""
    status = {"clientCertificateData": certificate.decode(), "clientKeyData": key.decode()}
    version = "client.authentication.k8s.io/v1"
    printed = folder / "printed"
    printed.write_text(json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status}))
    return {"exec": {"command": "cat", "args": [str(printed)], "apiVersion": version}}


@pytest.fixture
async def secured(faulty, make_widget, tmp_path):
    """Answer whoever has a certificate of the authority: with a widget, or 404 for what it has not."""

    async def behave(asked, reply):
        if asked.path.endswith("/widgets/a"):
            await reply.whole(200, make_widget("a", 1))
        else:
            await reply.whole(404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not here"})

    serving = AUTHORITY.member("server", ("127.0.0.1",))
    for name, content in (("crt", serving.certificate), ("key", serving.key), ("ca", AUTHORITY.certificate)):
        (tmp_path / f"server.{name}").write_bytes(content)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    context.load_verify_locations(tmp_path / "server.ca")
    context.verify_mode = ssl.CERT_REQUIRED
    await faulty.stop()
    faulty.tls, faulty.behave = context, behave
    await faulty.start()
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
        print(found["metadata"]["name"], configuration.cert_file, configuration.key_file, configuration.ssl_ca_cert)
sys.addaudithook(refuse)
asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason=f"{skips.ELSEWHERE}files in memory are Linux's")
@pytest.mark.parametrize("source", ["kubeconfig", "credential plugin"])
async def test_no_file_is_written_not_even_for_a_moment(secured, tmp_path, empty, source):
    user = plugin(tmp_path, ADMIN.certificate, ADMIN.key) if source == "credential plugin" else None
    async with running(empty, "-c", WITHOUT_FILES, str(kubeconfig(tmp_path, secured.port, user))) as process:
        out, err = await process.communicate()
    assert out.decode() == "a None None None\n", err.decode()
    assert secured.asked


async def ask(place):
    loaded = await config.load(place)
    loaded.proxy = ""
    async with clients.Client(loaded, user_agent="t", field_manager="t", request_timeout=5) as client:
        await client.get(WIDGETS, "a")
    return loaded


async def test_what_is_written_there_outweighs_a_file_as_with_kubectl(secured, tmp_path):
    both = {"client-certificate": "/nonexistent/tls.crt", "client-key": "/nonexistent/tls.key"}
    both |= {"client-certificate-data": encoded(ADMIN.certificate), "client-key-data": encoded(ADMIN.key)}
    await ask(kubeconfig(tmp_path, secured.port, both, {"certificate-authority": "/nonexistent/ca"}))


async def test_a_plugin_that_prints_another_certificate_is_believed(secured, tmp_path):
    """The server refuses the first one; the plugin prints another, and what was asked is answered."""
    behave = secured.behave
    refused: list[Any] = []

    async def behave_once(asked, reply):
        if not refused:
            refused.append(asked)
            await reply.whole(401, b"Unauthorized")
        else:
            await behave(asked, reply)

    secured.behave = behave_once
    place = kubeconfig(tmp_path, secured.port, plugin(tmp_path, ADMIN.certificate, ADMIN.key))
    loaded = await config.load(place)
    loaded.proxy = ""
    other = AUTHORITY.client("system:admin")
    plugin(tmp_path, other.certificate, other.key)
    hook: Any = loaded.refresh_api_key_hook
    hook._ask_again = 0.0
    async with clients.Client(loaded, user_agent="t", field_manager="t", request_timeout=5) as client:
        await client.get(WIDGETS, "a")
    assert len(refused) == 1
    assert secured.asked[-1].connection != refused[0].connection


async def test_a_plugin_that_fails_when_it_is_needed_leaves_the_answer_of_the_server(secured, tmp_path, caplog):
    async def refuse(asked, reply):
        await reply.whole(401, b"Unauthorized")

    secured.behave = refuse
    place = kubeconfig(tmp_path, secured.port, plugin(tmp_path, ADMIN.certificate, ADMIN.key))
    loaded = await config.load(place)
    loaded.proxy = ""
    (tmp_path / "printed").write_text("{}")
    hook: Any = loaded.refresh_api_key_hook
    hook._ask_again = 0.0
    async with clients.Client(loaded, user_agent="t", field_manager="t", request_timeout=5) as client:
        with pytest.raises(errors.Unauthorized):
            await client.get(WIDGETS, "a")
    assert "there are no newer ones: exec: what the program printed has no" in caplog.text


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
    user = {"client-certificate-data": encoded(ADMIN.certificate), "client-key-data": encoded(ADMIN.key)}
    with pytest.raises(config.ConfigError, match=told) as caught:
        await ask(kubeconfig(tmp_path, 1, {**user, part: value}))
    assert encoded(ADMIN.key) not in str(caught.value)


async def test_a_cluster_that_asks_nobody_who_they_are(secured, tmp_path):
    place = kubeconfig(tmp_path, secured.port, {})
    place.write_text(place.read_text().replace('"user": "u"', '"namespace": "default"'))
    loaded = await config.load(place)
    assert not loaded.api_key
    assert loaded.cert_file is None
