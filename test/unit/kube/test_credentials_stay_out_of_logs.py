"""At -v 6, against a server that repeats what it was sent: the credentials of every kind of kubeconfig stay inside."""

from __future__ import annotations

import json
import logging
import stat
import sys

import pytest

from topology_controller import logs
from topology_controller.kube import config, errors, redact, resource, transport

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")
# Neither looks like a credential.
TOKEN = "Xq.3vTt-_8Rk2LmZ0p/Ws1"
PLUGIN = """#!{python}
import json
version = "client.authentication.k8s.io/v1"
print(json.dumps({{"apiVersion": version, "kind": "ExecCredential", "status": {{"token": {token!r}}}}}))
"""


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch):
    monkeypatch.setattr(redact, "_known", {})


def by_token(folder):
    return {"token": TOKEN}


def by_file(folder):
    (folder / "token").write_text(TOKEN)
    return {"tokenFile": str(folder / "token")}


def by_plugin(folder):
    program = folder / "plugin"
    program.write_text(PLUGIN.format(python=sys.executable, token=TOKEN))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"command": str(program), "apiVersion": "client.authentication.k8s.io/v1"}}


def kubeconfig(folder, user):
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://api.example:6443"}}],
        "users": [{"name": "u", "user": user}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(content))
    return path


async def echo(asked, reply):
    """Say what was sent, once with its name and once without, as an API error and as something else."""
    sent = asked.headers["Authorization"]
    said = f"headers:\n{json.dumps(asked.headers)}\nor {sent} or {sent.rpartition(' ')[2]}"
    if asked.method == "GET":
        await reply.whole(403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": said})
    else:
        await reply.whole(500, said.encode())


@pytest.mark.parametrize("user", [by_token, by_file, by_plugin])
async def test_what_the_server_repeats_is_not_logged(user, tmp_path, faulty, connect, caplog):
    caplog.set_level(redact.REQUESTS, logger="topology_controller")
    faulty.behave = echo
    client = await connect(configuration=await config.load(kubeconfig(tmp_path, user(tmp_path))))
    log = logging.getLogger(transport.__name__)
    for call in (client.get(WIDGETS, "a"), client.merge_patch(WIDGETS, "a", {})):
        with pytest.raises(errors.KubeError) as caught:
            await call
        log.warning("%(error)s", {"error": caught.value})
        log.error("a bug", exc_info=caught.value)
        # As a body that somebody logs without having cleaned it, and with a cause that nobody cleaned.
        log.warning("%s", TOKEN)
    assert faulty.asked[0].headers["Authorization"] == f"Bearer {TOKEN}", "else nothing is shown here"
    requests = [record.getMessage() for record in caplog.records if record.levelno == redact.REQUESTS]
    assert [line.partition(" after ")[0] for line in requests] == [
        "GET /apis/example.org/v1/widgets/a: 403",
        "PATCH /apis/example.org/v1/widgets/a: 500",
    ]
    for formatter in (logs.Text(), logs.Json()):
        lines = [formatter.format(record) for record in caplog.records]
        assert len(lines) >= 8
        for line in lines:
            assert TOKEN not in line
            assert TOKEN[4:] not in line
        assert any("(removed)" in line for line in lines)


async def test_a_plugin_that_fails_does_not_tell_what_it_knows(tmp_path):
    program = tmp_path / "plugin"
    words = f"Authorization: Bearer {TOKEN}"
    program.write_text(f"#!/bin/sh\necho '{words}' >&2\necho '{words}'\nexit 3\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    user = {"exec": {"command": str(program), "apiVersion": "client.authentication.k8s.io/v1"}}
    with pytest.raises(config.ConfigError) as caught:
        await config.load(kubeconfig(tmp_path, user))
    assert TOKEN not in str(caught.value)


async def test_the_password_of_a_proxy_is_not_logged(faulty, connect, caplog):
    client = await connect()
    client._transport._proxy = "http://me:Pr0xyPassw0rd-21@127.0.0.1:9"
    with pytest.raises(errors.Unreachable) as caught:
        await client.merge_patch(WIDGETS, "a", {})
    logging.getLogger(transport.__name__).error("%(error)s", {"error": caught.value}, exc_info=caught.value)
    for formatter in (logs.Text(), logs.Json()):
        assert all("Pr0xyPassw0rd" not in formatter.format(record) for record in caplog.records)
