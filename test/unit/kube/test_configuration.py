"""Where the cluster is and who we are.

Kubeconfigs good and bad, a pod's service account, credentials that change.
"""

import datetime as dt
import json
import os
import stat
import sys
import time
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from topology_controller.kube import config, credentials, errors, resource, slim_import

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")
NOWHERE = {"HOME": "/nonexistent"}


def kubeconfig(server="https://api.example:6443", user=None, **cluster):
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u"}},
            {"name": "two", "context": {"cluster": "c2", "user": "u"}},
        ],
        "clusters": [
            {"name": "c", "cluster": {"server": server, **cluster}},
            {"name": "c2", "cluster": {"server": "https://two.example"}},
        ],
        "users": [{"name": "u", "user": user if user is not None else {"token": "secret-token"}}],
    }


@pytest.fixture
def write(tmp_path):
    def written(content, name="kubeconfig"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return written


async def authorization(configuration):
    settings = await configuration.auth_settings()
    return settings.get("BearerToken", {}).get("value")


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


BAD = [
    ("", "it is empty"),
    ("just text", "holds no mapping"),
    ("a: [1\nb: 2\n", "line 2: not YAML"),
    ("\x00", "not YAML"),
    (kubeconfig() | {"clusters": {"c": 1}}, "clusters is not a list of mappings"),
    (kubeconfig() | {"contexts": ["one"]}, "contexts is not a list of mappings"),
    (kubeconfig() | {"clusters": [{"name": "c", "cluster": {}}]}, "clusters[name=c]: names no server"),
    (kubeconfig() | {"contexts": [{"name": "one"}]}, "context"),
    (kubeconfig("api.example:6443"), "not an http or https address"),
    (kubeconfig(server=7), "not an http or https address"),
    (kubeconfig(**{"certificate-authority": "/nonexistent/ca"}), "/nonexistent/ca"),
    (kubeconfig(**{"certificate-authority-data": 5}), "not a usable kubeconfig"),
    (
        kubeconfig(user={"exec": {"command": "/nonexistent/plugin", "apiVersion": "v1"}}),
        "/nonexistent/plugin",
    ),
    (kubeconfig(user={"exec": {"apiVersion": "v1"}}), "command"),
    (kubeconfig(user={"tokenFile": "/nonexistent/token"}), "/nonexistent/token"),
]


@pytest.mark.parametrize(
    ("content", "context", "text"),
    [
        (kubeconfig(), "nope", 'context "nope" does not exist in FILE; contexts there: one, two'),
        (
            kubeconfig() | {"current-context": "three"},
            None,
            'context "three" does not exist in FILE; contexts there: one, two',
        ),
        (kubeconfig() | {"contexts": []}, "one", 'context "one" does not exist in FILE; contexts there: none'),
        (
            {key: value for key, value in kubeconfig().items() if key != "current-context"},
            None,
            "FILE has no current-context, and --context names none; contexts there: one, two",
        ),
        (kubeconfig() | {"clusters": []}, None, 'context "one" in FILE names cluster "c", which does not exist there'),
    ],
)
async def test_a_context_that_is_not_there_is_named_with_those_that_are(write, content, context, text):
    path = write(content)
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


async def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(config.ConfigError, match="nothing-here: no such file"):
        await config.load(tmp_path / "nothing-here")
    with pytest.raises(config.ConfigError, match="directory"):
        await config.load(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(config.ConfigError, match="not a text file"):
        await config.load(tmp_path / "binary")


class Pod:
    """The folder that a kubelet mounts, and its environment."""

    def __init__(self, folder):
        self.folder = folder
        self.environ = {**NOWHERE, "KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
        self.token("first")
        (folder / "ca.crt").write_text("not read here")

    def token(self, text):
        (self.folder / "token").write_text(text)

    def load(self):
        return config.in_cluster(environ=self.environ, folder=self.folder)


@pytest.fixture
def pod(tmp_path):
    return Pod(tmp_path)


@pytest.mark.parametrize("text", ["", " \n"])
async def test_a_pod_with_an_empty_token(pod, text):
    pod.token(text)
    with pytest.raises(config.ConfigError, match="empty"):
        pod.load()


async def test_a_token_is_read_again_once_a_minute(pod):
    now = [0.0]
    source = credentials.TokenFile(pod.folder / "token", lambda: now[0])
    loaded = slim_import.library().client.Configuration()

    def used():
        source(loaded)
        return loaded.api_key["BearerToken"]

    assert used() == "Bearer first"
    pod.token("second\n")
    now[0] = 59
    assert used() == "Bearer first"
    now[0] = 61
    assert used() == "Bearer second"
    for damaged in ("", "\n", "half a\ntoken", "with space", "nön-ascii"):
        pod.token(damaged)
        now[0] += 61
        assert used() == "Bearer second", f"the last good one, in spite of {damaged!r}"
    (pod.folder / "token").unlink()
    now[0] += 61
    assert used() == "Bearer second"
    pod.token("third")
    now[0] += 1
    assert used() == "Bearer third", "a bad file is looked at again soon"


async def test_a_rotated_token_costs_one_refused_request_and_nobody_notices(pod, faulty, connect, make_widget):
    async def behave(asked, reply):
        if asked.headers["Authorization"] == "Bearer second":
            await reply.whole(200, make_widget("a", 1))
        else:
            await reply.whole(401, {"kind": "Status", "code": 401, "reason": "Unauthorized"})

    faulty.behave = behave
    loaded = pod.load()
    loaded.ssl_ca_cert = None
    client = await connect(configuration=loaded)
    with pytest.raises(errors.Unauthorized):
        await client.get(WIDGETS, "a")
    assert len(faulty.asked) == 1, "nothing newer to try"
    pod.token("second\n")
    # A write too: what was refused was not executed.
    assert (await client.merge_patch(WIDGETS, "a", {}))["kind"] == "Widget"
    assert [asked.headers["Authorization"] for asked in faulty.asked] == [
        "Bearer first",
        "Bearer first",
        "Bearer second",
    ]


def some_authority():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "an authority")])
    now = dt.datetime.now(dt.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + dt.timedelta(days=1))
    return made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.parametrize("damage", ["gone", "empty", "half a certificate"])
async def test_a_refused_token_while_the_authority_is_being_replaced_is_an_error_of_the_request(
    pod, faulty, connect, damage, caplog
):
    """The whole folder of a pod is replaced together: what is not there for a moment must not end the process."""

    async def behave(asked, reply):
        if asked.headers["Authorization"] == "Bearer second":
            await reply.whole(200, {"apiVersion": WIDGETS.api_version, "kind": WIDGETS.kind, "metadata": {"name": "a"}})
        else:
            await reply.whole(401, {"kind": "Status", "code": 401, "reason": "Unauthorized"})

    faulty.behave = behave
    loaded = pod.load()
    authority = some_authority()
    (pod.folder / "ca.crt").write_text(authority)
    client = await connect(configuration=loaded)
    if damage == "gone":
        (pod.folder / "ca.crt").unlink()
    else:
        (pod.folder / "ca.crt").write_text("" if damage == "empty" else "-----BEGIN CERTIFICATE-----\nMIIB")
    for _ in range(3):
        with pytest.raises(errors.Unauthorized):
            await client.merge_patch(WIDGETS, "a", {})
    assert len(faulty.asked) == 3, "each was sent once"
    assert [record.levelname for record in caplog.records] == ["WARNING"], "said once"
    assert "ca.crt: cannot be used for TLS" in caplog.text
    (pod.folder / "ca.crt").write_text(authority)
    pod.token("second")
    assert (await client.merge_patch(WIDGETS, "a", {}))["kind"] == "Widget"


PLUGIN = """#!{python}
import json, pathlib
count = pathlib.Path({count!r})
number = int(count.read_text()) + 1
count.write_text(str(number))
status = {{"token": f"token-{{number}}"}}
{more}
version = "client.authentication.k8s.io/v1"
print(json.dumps({{"apiVersion": version, "kind": "ExecCredential", "status": status}}))
"""


@pytest.fixture
def plugin(tmp_path, write):
    def made(more=""):
        count = tmp_path / "count"
        count.write_text("0")
        program = tmp_path / "plugin"
        program.write_text(PLUGIN.format(python=sys.executable, count=str(count), more=more))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        run = {"command": str(program), "apiVersion": "client.authentication.k8s.io/v1"}
        return write(kubeconfig(user={"exec": run}))

    return made


async def test_an_exec_plugin_is_run_once_until_the_server_refuses_its_token(plugin, monkeypatch):
    # The plugin is made on the real clock, which began when the machine did.
    now = [time.monotonic()]
    loaded = await config.load(plugin())
    hook: Any = loaded.refresh_api_key_hook
    hook._monotonic = lambda: now[0]
    assert [await authorization(loaded) for _ in range(3)] == ["Bearer token-1"] * 3
    now[0] += 3600
    assert await authorization(loaded) == "Bearer token-1"
    credentials.rejected(loaded)
    assert await authorization(loaded) == "Bearer token-2"
    credentials.rejected(loaded)
    assert await authorization(loaded) == "Bearer token-2", "not more than once in ten seconds"
    now[0] += 11
    assert await authorization(loaded) == "Bearer token-3"


async def test_a_plugin_that_fails_later_is_an_error_of_the_request(plugin, faulty, connect):
    loaded = await config.load(plugin('if number > 1: raise SystemExit("the identity provider is down")'))
    client = await connect(configuration=loaded)
    hook: Any = loaded.refresh_api_key_hook
    hook._ask_again = 0.0
    credentials.rejected(loaded)
    with pytest.raises(errors.Unauthorized) as caught:
        await client.merge_patch(WIDGETS, "a", {})
    assert "the identity provider is down" in str(caught.value)
    assert not caught.value.outcome_unknown
    assert not faulty.asked
