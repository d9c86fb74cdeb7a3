"""Nothing that both programs print or log holds a credential: every sort of user, the most verbose log, every verb.

The server repeats what it was sent in its errors, which is the worst that it can do.
"""

from __future__ import annotations

import base64
import json
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test.component import backend, forked, process, real
from test.component import plugin as plugins
from test.component import world as worlds
from topology_simulator.etcd import certificates

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component.world import World
    from topology_simulator.apiserver.requests import Request

TOKEN = real.OPAQUE_TOKEN
PASSWORD = "Pw.9_zzKq-3Xr8-aB"
VERBS = (
    ("plan",), ("plan", worlds.DESIRED, "-o", "json"), ("status", "-o", "yaml"), ("audit",), ("graph",),
    ("set", worlds.DESIRED), ("set", worlds.DESIRED, "--confirm", "--allow-pending"), ("cancel",),
    ("wait", "--timeout", "1s"),
)  # fmt: skip


@pytest.fixture
async def here(tmp_path: pathlib.Path) -> AsyncIterator[World]:
    async with worlds.opened(backend.Place(), tmp_path) as made:
        yield made


def users(folder: pathlib.Path) -> dict[str, tuple[dict[str, Any], tuple[str, ...]]]:
    """Every sort of user, and what must not be seen of it."""
    (folder / "token").write_text(TOKEN)
    pair = certificates.Authority("of-clients").client("jane")
    program = folder / "program"
    status = {"token": TOKEN, "clientCertificateData": pair.certificate.decode(), "clientKeyData": pair.key.decode()}
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    program.write_text(f"#!{sys.executable}\nprint({json.dumps(answer)!r})\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    data = {
        "client-certificate-data": base64.b64encode(pair.certificate).decode(),
        "client-key-data": base64.b64encode(pair.key).decode(),
    }
    key = (*pair.key.decode().splitlines()[1:-1], data["client-key-data"][40:80])
    run = {"command": "./program", "apiVersion": "client.authentication.k8s.io/v1", "args": [PASSWORD]}
    basic = base64.b64encode(f"jane:{PASSWORD}".encode()).decode()
    return {
        "token": ({"token": TOKEN}, ()),
        "file": ({"tokenFile": "token"}, ()),
        "program": ({"exec": {**run, "env": [{"name": "A", "value": PASSWORD}]}}, key),
        "key": ({**data, "token": TOKEN}, key),
        "password": ({"username": "jane", "password": PASSWORD}, (basic,)),
    }


@pytest.mark.parametrize("sort", ["token", "file", "program", "key", "password"])
@pytest.mark.parametrize("form", ["text", "json"])
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
