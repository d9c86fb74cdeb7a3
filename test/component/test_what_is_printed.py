"""Nothing that both programs print or log holds a credential, or what a terminal would obey, wherever it is from.

A user of each sort, the most verbose log and every verb, while the server repeats what it was sent in its errors, which
is the worst that it can do. What a terminal is sent is read byte by byte.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import kubeconfigs, processes
from test.component import backend, forked, process, real
from test.component import plugin as plugins
from test.component import world as worlds
from topology_api import vocabulary
from topology_simulator import kinds
from topology_simulator.etcd import certificates

if TYPE_CHECKING:
    import pathlib

    from test.component.world import World
    from topology_simulator.apiserver.requests import Request

TOKEN = real.OPAQUE_TOKEN
PASSWORD = "Pw.9_zzKq-3Xr8-aB"
VERBS = (
    ("plan", worlds.DESIRED, "-o", "json"), ("status", "-o", "yaml"), ("audit",),
    ("set", worlds.DESIRED, "--confirm", "--allow-pending"), ("cancel",), ("wait", "--timeout", "1s"),
)  # fmt: skip


def users(folder: pathlib.Path) -> dict[str, tuple[dict[str, Any], tuple[str, ...]]]:
    """Sorts of users, and what must not be seen of each."""
    (folder / "token").write_text(TOKEN)
    pair = certificates.Authority("of-clients").client("jane")
    program = folder / "program"
    status = {"token": TOKEN, "clientCertificateData": pair.certificate.decode(), "clientKeyData": pair.key.decode()}
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    program.write_text(f"#!{sys.executable}\nprint({json.dumps(answer)!r})\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    key = tuple(pair.key.decode().splitlines()[1:-1])
    run = {"command": "./program", "apiVersion": "client.authentication.k8s.io/v1", "args": [PASSWORD]}
    basic = base64.b64encode(f"jane:{PASSWORD}".encode()).decode()
    return {
        "file": ({"tokenFile": "token"}, ()),
        "program": ({"exec": {**run, "env": [{"name": "A", "value": PASSWORD}]}}, key),
        "password": ({"username": "jane", "password": PASSWORD}, (basic,)),
    }


@pytest.mark.parametrize(("sort", "form"), [("file", "json"), ("program", "text"), ("password", "text")])
async def test_no_output_holds_a_credential(here: World, tmp_path: pathlib.Path, sort: str, form: str) -> None:
    user, more = users(tmp_path)[sort]
    echo = f"you sent\nAuthorization: Bearer {TOKEN}\nCookie: a={TOKEN}\nand {TOKEN} it was, https://u:{TOKEN}@p/"
    if sort == "password":
        echo = f"you sent\nAuthorization: Basic {more[0]}\nand {more[0]} it was, https://u:{PASSWORD}@p/"
    for verb, resource, code in (("create", "events", 403), ("list", "nodes", 422), ("watch", "etcds", 400)):
        for agent in (process.USER_AGENT, plugins.AGENT):
            here.server.fault("status", user_agent=agent, verb=verb, resource=resource, code=code, message=echo)
    here.server.fault(
        "status", user_agent=plugins.AGENT, verb="patch", resource="infrastructures", code=422, message=echo
    )
    heard: set[str] = set()

    async def note(request: Request) -> None:
        heard.add(backend.who(request))

    here.server.before(lambda _: True, note, count=None)
    access = here.server.kubeconfig()
    path = tmp_path / "kubeconfig-of-a-secret"
    path.write_text(
        yaml.safe_dump({**access, "users": [{"name": one["name"], "user": user} for one in access["users"]]})
    )
    flags = ("-v", "6", "--log-format", form)
    operator = await process.start(
        "operator-t", path, tmp_path / "secret.log", settle=0, lease=process.LEASE, flags=flags
    )
    here.operators.append(operator)
    await here.ask_for()
    await operator.said("cannot watch etcds")
    outputs = []
    for words in VERBS:
        ended = await forked.run(forked.PLUGIN, *words, "--kubeconfig", str(path))
        outputs += [ended.printed, ended.complaint]
    await operator.stop()
    outputs.append(operator.words())
    assert heard >= {TOKEN if sort != "password" else f"Basic {more[0]}"}, "else nothing is shown here"
    assert any("removed" in one for one in outputs)
    for secret in (TOKEN, TOKEN[4:], base64.b64encode(TOKEN.encode()).decode()[:-4], PASSWORD, *more):
        assert not [one for one in outputs if secret in one], secret


# -- on a terminal

PLUGIN, OPERATOR = "kubectl_topology", "topology_controller"
STARTED = {PLUGIN: ("plan",), OPERATOR: ("run", "--bind-address", "127.0.0.1:0")}
EVIL = "\x1b]0;PWNED\x07\x1b[2J\x1b[H\u202edlrow\u2066\u200b\x9b31m"
TAG = "!%1B%5D0%3BPWNED%07%1B%5B2J%1B%5BH%E2%80%AEdlrow"
MANIFEST = f"""apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata: {{name: cluster}}
spec: {{desiredTopology: {TAG} HighlyAvailable}}
"""


async def shown(program: str, *words: object) -> str:
    """Run a program on a terminal to its end; return what that was sent, which no terminal would obey."""
    ours, theirs = os.openpty()
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb", buffering=0)
    )
    try:
        started = await forked.start(
            program, [*map(str, words)], environment={**os.environ, "NO_COLOR": "1"}, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        async with processes.killed_after(started) as running:
            received = b""
            # Linux ends a terminal whose other side is closed with an error.
            with contextlib.suppress(OSError):
                while chunk := await reader.read(65536):
                    received += chunk
            await running.wait()
    finally:
        transport.close()
    text = received.decode("utf-8", "replace").replace("\r\n", "\n")
    assert [letter for letter in text if not letter.isprintable() and letter != "\n"] == [], text
    assert "Traceback" not in text
    return text


@pytest.mark.parametrize("program", STARTED)
async def test_no_file_of_its_user_reaches_a_terminal(tmp_path: pathlib.Path, program: str) -> None:
    """A kubeconfig, definitions, and the names of both."""
    for path in (
        kubeconfigs.written(tmp_path / "kubeconfig", f"https://127.0.0.1:9/{EVIL}"),
        kubeconfigs.written(tmp_path / f"there{EVIL}", "none"),
    ):
        assert "PWNED" in await shown(program, *STARTED[program], "--kubeconfig", path), "else nothing is shown here"
    folder = tmp_path / "definitions"
    folder.mkdir()
    (folder / f"a{EVIL}.yaml").write_text(f"name: {TAG} x\n")
    (folder / f"b\n{program}: all is well.yaml").write_text(json.dumps({"name": EVIL, EVIL: EVIL}))
    text = await shown(program, *STARTED[program], "--transitions-dir", folder)
    assert "PWNED" in text
    assert f"\n{program}: all is well" not in text


async def test_no_manifest_and_no_configuration_reaches_a_terminal(here: World, tmp_path: pathlib.Path) -> None:
    path = tmp_path / f"a{EVIL}.yaml"
    path.write_text(MANIFEST)
    text = await shown(PLUGIN, "plan", "-f", path, "--kubeconfig", tmp_path / "none")
    assert "PWNED" in text
    assert all(line.startswith("kubectl-topology: ") for line in text.splitlines()), "no line is forged"

    head = "apiVersion: topology.openshift.io/v1\nkind: TopologyOperatorConfig\n"
    data = {vocabulary.CONFIGURATION_KEY: f"{head}logLevel: {TAG} info"}
    made = kinds.CONFIG_MAPS.new(vocabulary.CONFIGURATION, vocabulary.DEFAULT_NAMESPACE, data=data)
    await here.api.create(kinds.CONFIG_MAPS, made)
    (tmp_path / "kubeconfig-here").write_text(json.dumps(here.server.kubeconfig()))
    text = await shown(PLUGIN, "status", "--kubeconfig", tmp_path / "kubeconfig-here")
    assert "the configuration of the operator cannot be used" in text
