"""Where the cluster is and who we are.

Kubeconfigs good and bad, a pod's service account, credentials that change.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test import kubeconfigs, processes

from topology_controller.kube import client, config, credentials, errors, resource
from topology_simulator.etcd import certificates

if TYPE_CHECKING:
    import pathlib

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")
AUTHORITY = certificates.Authority("an authority").certificate
NOWHERE = {"HOME": "/nonexistent"}


def kubeconfig(server="https://api.example:6443", user=None, **cluster):
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user if user is not None else {"token": "secret-token"}}],
    }


@pytest.fixture
def write(tmp_path):
    def written(content, name="kubeconfig"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return written


async def test_the_order_in_which_places_are_looked_at(write, tmp_path):
    given = write(kubeconfig("https://given"), "given")
    named = write(kubeconfig("https://named"), "named")
    home = tmp_path / "home"
    (home / ".kube").mkdir(parents=True)
    (home / ".kube" / "config").write_text(json.dumps(kubeconfig("https://home")))
    environ = {
        "HOME": str(home),
        "KUBECONFIG": f"/nonexistent{os.pathsep}{named}",
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    }
    assert (await config.load(given, environ=environ)).host == "https://given"
    assert (await config.load(environ=environ)).host == "https://named"
    del environ["KUBECONFIG"]
    assert (await config.load(environ=environ)).host == "https://home"
    with pytest.raises(config.ConfigError, match="this is not a pod"):
        await config.load(environ=NOWHERE)


RUN = {"apiVersion": "client.authentication.k8s.io/v1"}
ECHO = {"command": "/bin/echo", "args": [json.dumps({**RUN, "kind": "ExecCredential", "status": {"token": "t"}})]}
BAD_PROGRAMS: list[tuple[dict[str, object], str]] = [
    ({"args": "one"}, "args is not a list"),
    ({"env": [{"name": "A"}]}, "env is not a list of names and values"),
    ({"env": "A=B"}, "env is not a list of names and values"),
    ({"apiVersion": None}, "apiVersion is missing"),
    ({"apiVersion": "v1beta1", **ECHO}, f"the program speaks {RUN['apiVersion']}, not v1beta1"),
    ({"command": "a\0b"}, "a"),
]
BAD_NAMES: list[tuple[dict[str, object], str]] = [
    ({"as-groups": ["ops"]}, "as-groups is about the user that `as` names, and there is no `as`"),
    ({"as-uid": "u-7"}, "as-uid is about the user that `as` names, and there is no `as`"),
    ({"as-user-extra": {"a": ["b"]}}, "as-user-extra is about the user that `as` names, and there is no `as`"),
    ({"as": ["jane"]}, "as has what is no name"),
    ({"as": "jane\r\nX-Admin: 1"}, "as has what is no name"),
    ({"as": "jane", "as-groups": "ops"}, "as-groups is not a list"),
    ({"as": "jane", "as-groups": ["ops\n"]}, "as-groups has what is no name"),
    ({"as": "jane", "as-user-extra": ["a"]}, "as-user-extra is not a mapping"),
    ({"as": "jane", "as-user-extra": {"a": "b"}}, "as-user-extra a is not a list"),
]
"""Who acts in another name does so in every request, or in none: it is never left out."""
BAD = [
    ("", "it is empty"),
    ("just text", "holds no mapping"),
    ("a: [1\nb: 2\n", "line 2: not YAML"),
    ("\x00", "not YAML"),
    (kubeconfig() | {"clusters": {"c": 1}}, "clusters is not a list of mappings"),
    (kubeconfig() | {"clusters": [{"name": "c", "cluster": {}}]}, "clusters[name=c]: names no server"),
    (kubeconfig() | {"contexts": [{"name": "one"}]}, "context"),
    (kubeconfig(**{"certificate-authority": "/nonexistent/ca"}), "/nonexistent/ca"),
    (kubeconfig(**{"certificate-authority-data": 5}), "not a usable kubeconfig"),
    (kubeconfig(user={"exec": {"command": "/nonexistent/plugin", "apiVersion": "v1"}}), "plugin: No such file"),
    (kubeconfig(user={"exec": {"apiVersion": "v1"}}), "command"),
    (kubeconfig(user={"tokenFile": "/nonexistent/token"}), "/nonexistent/token"),
    *((kubeconfig(user={"exec": {"command": "/bin/true", **RUN, **bad}}), f"exec: {why}") for bad, why in BAD_PROGRAMS),
    *((kubeconfig(user={"token": "secret-token", **bad}), why) for bad, why in BAD_NAMES),
]


@pytest.mark.parametrize(
    ("changes", "context", "text"),
    [
        ({}, "nope", 'context "nope" does not exist in FILE; contexts there: one'),
        ({"current-context": "three"}, None, 'context "three" does not exist in FILE; contexts there: one'),
        ({"contexts": []}, "one", 'context "one" does not exist in FILE; contexts there: none'),
        ({"current-context": ""}, None, "FILE has no current-context, and --context names none; contexts there: one"),
        ({"clusters": []}, None, 'context "one" in FILE names cluster "c", which does not exist there'),
    ],
)
async def test_a_context_that_is_not_there_is_named_with_those_that_are(write, changes, context, text):
    path = write(kubeconfig() | changes)
    with pytest.raises(config.ConfigError) as caught:
        await config.load(path, context)
    assert str(caught.value) == text.replace("FILE", str(path))


@pytest.mark.parametrize(("content", "text"), BAD)
async def test_a_bad_kubeconfig_is_one_line_with_the_file_and_what_is_wrong(write, content, text):
    path = write(content)
    with pytest.raises(config.ConfigError) as caught:
        await config.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret-token" not in str(caught.value)


async def test_a_context_without_a_user_asks_as_nobody(write):
    loaded = await config.load(write(kubeconfig() | {"contexts": [{"name": "one", "context": {"cluster": "c"}}]}))
    assert not loaded.api_key
    assert loaded.cert_file is None


async def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(config.ConfigError, match="nothing-here: no such file"):
        await config.load(tmp_path / "nothing-here")
    with pytest.raises(config.ConfigError, match="directory"):
        await config.load(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(config.ConfigError, match="not YAML"):
        await config.load(tmp_path / "binary")


@pytest.fixture
def pod(tmp_path):
    """The folder that a kubelet mounts."""
    (tmp_path / "token").write_text("first")
    (tmp_path / "ca.crt").write_text("not read here")
    return tmp_path


def in_pod(folder):
    environ = {**NOWHERE, "KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    return config.in_cluster(environ=environ, folder=folder)


async def test_a_pod_with_an_empty_token(pod):
    (pod / "token").write_text(" \n")
    with pytest.raises(config.ConfigError, match="empty"):
        in_pod(pod)


async def test_a_token_is_read_again_once_a_minute(pod):
    now = [0.0]
    source = credentials.TokenFile(pod / "token", lambda: now[0])
    loaded = config.library().client.Configuration()

    def used():
        source(loaded)
        return loaded.api_key["BearerToken"]

    assert used() == "Bearer first"
    (pod / "token").write_text("second\n")
    now[0] = 59
    assert used() == "Bearer first"
    now[0] = 61
    assert used() == "Bearer second"
    for damaged in ("", "\n", "half a\ntoken", "with space", "nön-ascii"):
        (pod / "token").write_text(damaged)
        now[0] += 61
        assert used() == "Bearer second", f"the last good one, in spite of {damaged!r}"
    (pod / "token").unlink()
    now[0] += 61
    assert used() == "Bearer second"
    (pod / "token").write_text("third")
    now[0] += 1
    assert used() == "Bearer third", "a bad file is looked at again soon"


@pytest.fixture
async def rotating(pod, faulty, connect):
    """A client of a pod, and a server that knows its second token only."""

    async def behave(asked, reply):
        if asked.headers["Authorization"] == "Bearer second":
            await reply.whole(200, {"apiVersion": WIDGETS.api_version, "kind": WIDGETS.kind, "metadata": {"name": "a"}})
        else:
            await reply.whole(401, {"kind": "Status", "code": 401, "reason": "Unauthorized"})

    faulty.behave = behave
    (pod / "ca.crt").write_bytes(AUTHORITY)
    return await connect(configuration=in_pod(pod))


async def test_a_rotated_token_costs_one_refused_request_and_nobody_notices(pod, faulty, rotating):
    with pytest.raises(errors.Unauthorized):
        await rotating.get(WIDGETS, "a")
    assert len(faulty.asked) == 1, "nothing newer to try"
    (pod / "token").write_text("second\n")
    # A write too: what was refused was not executed.
    assert (await rotating.merge_patch(WIDGETS, "a", {}))["kind"] == "Widget"
    tokens = [asked.headers["Authorization"] for asked in faulty.asked]
    assert tokens == ["Bearer first", "Bearer first", "Bearer second"]


@pytest.mark.parametrize("damage", [None, "", "-----BEGIN CERTIFICATE-----\nMIIB"])
async def test_a_refused_token_while_the_authority_is_being_replaced_is_an_error_of_the_request(
    pod, faulty, rotating, damage, caplog
):
    """The whole folder of a pod is replaced together: what is not there for a moment must not end the process."""
    if damage is None:
        (pod / "ca.crt").unlink()
    else:
        (pod / "ca.crt").write_text(damage)
    for _ in range(3):
        with pytest.raises(errors.Unauthorized):
            await rotating.merge_patch(WIDGETS, "a", {})
    assert len(faulty.asked) == 3, "each was sent once"
    assert [record.levelname for record in caplog.records] == ["WARNING"], "said once"
    assert "ca.crt: cannot be used for TLS" in caplog.text
    (pod / "ca.crt").write_bytes(AUTHORITY)
    (pod / "token").write_text("second")
    assert (await rotating.merge_patch(WIDGETS, "a", {}))["kind"] == "Widget"


# The library without its models, and with them where its files are elsewhere: both answer the same

PROGRAM = """
import asyncio, json, sys
from topology_controller.kube import client, config, lease, reflector, watch
async def main():
    loaded = await config.load(sys.argv[1])
    async with client.Client(loaded, user_agent="x", field_manager="x"):
        return [loaded.host, await loaded.auth_settings(), loaded.verify_ssl, loaded.tls_server_name]
answer = asyncio.run(main())
names = [name for name in sys.modules if name.partition(".")[0] == "kubernetes_asyncio"]
parts = [sum(name.startswith(f"kubernetes_asyncio.client.{part}.") for name in names) for part in ("models", "api")]
print(json.dumps([answer, len(names), parts]))
"""


def test_a_client_needs_no_model_of_the_library(tmp_path):
    fields = {"tls-server-name": "api", "insecure-skip-tls-verify": True}
    path = kubeconfigs.written(tmp_path / "kubeconfig", "https://api.example:6443", {"token": "abc"}, **fields)
    ran = processes.python("-W", "error", "-c", PROGRAM, str(path))
    assert ran.code == 0, ran.complaint
    (host, auth, secure, name), names, parts = json.loads(ran.printed.strip().splitlines()[-1])
    assert parts == [0, 0]
    # Today 16. A few more are no harm; a hundred more mean that something pulls the package in.
    assert names <= 30
    assert (host, secure, name) == ("https://api.example:6443", False, "api")
    assert auth["BearerToken"]["value"] == "Bearer abc"


# -- the address of a server: it can be asked, or the file and the cluster that hold it are named


def addressed(place: pathlib.Path, server: Any, **cluster: object) -> pathlib.Path:
    return kubeconfigs.written(place, server, {"token": "abc"}, **cluster)


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is looked up and nothing contacted: what comes before that is under test."""

    async def refuse(*_: object, **__: object) -> None:
        raise OSError("nobody is asked here")

    monkeypatch.setattr(aiohttp.TCPConnector, "_create_connection", refuse)


async def asked(path: pathlib.Path) -> str:
    """Ask a server; return what came of it, and raise what is none of our errors."""
    try:
        loaded = await config.load(path)
        async with client.Client(loaded, user_agent="t", field_manager="t") as asking:
            await asking.merge_patch(WIDGETS, "a", {})
    except config.ConfigError as error:
        return f"refused: {error}"
    except errors.Unreachable:
        return "asked"
    raise AssertionError("no answer can have come")


SECRET = "s3cret-of-this-test"
GOOD = [
    "https://api.example:6443",
    "https://api.example/",
    "https://127.0.0.1:1/a/path/k8s/clusters/c-1x",
    "https://[::1]:6443",
    "https://[fd00::1]",
    "http://localhost:8080",
    "https://xn--bcher-kva.example",
    "https://api_1.example:443/%7Euser/",
]
MALFORMED: list[object] = [
    "https://[x]", "https://[", "https://]", "https://[::1", "https://[:::::]", "https://[::1]x", "https://::1",
    "https://", "http://", "https:///path", "https://:6443", "https://host:", "https://host:port", "https://host:65536",
    "https://host:-1", "https://host:1e3", "https://ho st", "https://host/a b", "https://host\t", " https://host",
    "https://host\n", "https://host?x=1", "https://host#x", "https://host\\@evil", "https://user@host",
    f"https://admin:{SECRET}@host", f"http://admin:{SECRET}@host",
    "HTTPS://host", "ftp://host", "host:6443", "//host", "", "https", "https:host",
    "https://\x1b]0;x\x07", "https://\u202ehost", "https://ho\x00st", "https://höst", "https://host/ä", "https://ho%00st",
    7, True, [], {}, ["https://host"],
]  # fmt: skip


@pytest.mark.parametrize("server", GOOD)
async def test_a_good_address_is_asked(unreachable: None, tmp_path: pathlib.Path, server: str) -> None:
    assert await asked(addressed(tmp_path / "kc", server)) == "asked"


@pytest.mark.parametrize("server", MALFORMED, ids=repr)
async def test_a_malformed_address_is_refused_with_its_file_and_cluster(
    unreachable: None, tmp_path: pathlib.Path, server: object
) -> None:
    path = addressed(tmp_path / "kc", server)
    answer = await asked(path)
    assert answer.startswith(f"refused: {path}: clusters[name=c]: the server is ")
    assert "not an http or https address" in answer
    assert answer.isprintable()
    assert SECRET not in answer


_PIECES = st.sampled_from(
    ["https://", "http://", "[", "]", "::1", ":", "@", "/", "\\", "?", "#", "%", ".", "x", "9", "99999", "\t", " ", "é"]
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    server=st.builds("https://{}".format, st.text(max_size=12))
    | st.builds("".join, st.lists(_PIECES, max_size=8))
    | st.text(max_size=12)
)
async def test_whatever_stands_there_is_asked_or_refused(
    unreachable: None, tmp_path: pathlib.Path, server: str
) -> None:
    path = addressed(tmp_path / "kc", server)
    answer = await asked(path)
    assert answer == "asked" or answer.startswith(f"refused: {path}: clusters[name=c]: the server is ")
    assert answer.isprintable()


@pytest.mark.parametrize("key", ["proxy-url", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority"])
@pytest.mark.parametrize("value", [7, [], {}, "https://[x]", "http://[", "x\n", "\x00"], ids=repr)
async def test_what_else_a_cluster_says_ends_in_one_of_our_errors_too(
    unreachable: None, tmp_path: pathlib.Path, key: str, value: Any
) -> None:
    found: list[errors.Malformed] = []
    try:
        await asked(addressed(tmp_path / "kc", "https://api.example", **{key: value}))
    except errors.Malformed as error:
        found.append(error)
    assert not any(error.sent for error in found)
