"""kubernetes_asyncio without its models, and with them where its files are elsewhere."""

import json
from typing import Any

from test import processes

COUNT = """
import asyncio, json, sys
{before}
from topology_controller.kube import client, config, slim_import, lease, reflector, watch
async def main():
    configuration = slim_import.library().client.Configuration()
    configuration.host = "http://127.0.0.1:1"
    async with client.Client(configuration, user_agent="x", field_manager="x"):
        pass
asyncio.run(main())
{after}
names = [name for name in sys.modules if name.partition(".")[0] == "kubernetes_asyncio"]
print(json.dumps({{
    "all": len(names),
    "models": sum(name.startswith("kubernetes_asyncio.client.models.") for name in names),
    "apis": sum(name.startswith("kubernetes_asyncio.client.api.") for name in names),
}}))
"""


def run(program: str) -> dict[str, Any]:
    ended = processes.python("-W", "error", "-c", program)
    assert ended.code == 0, ended.complaint
    found: dict[str, Any] = json.loads(ended.printed.strip().splitlines()[-1])
    return found


def test_a_client_needs_no_model_and_no_api():
    counted = run(COUNT.format(before="", after=""))
    assert counted["models"] == 0, counted
    assert counted["apis"] == 0, counted
    # Today 16. A few more are no harm; a hundred more mean that something pulls the package in.
    assert counted["all"] <= 30, counted


def test_another_layout_falls_back_to_the_ordinary_import():
    part = "('kubernetes_asyncio.no_such_part',)"
    before = f"from topology_controller.kube import slim_import\nslim_import._EMPTY += {part}"
    counted = run(COUNT.format(before=before, after=""))
    assert counted["models"], counted
    assert counted["apis"], counted


ANSWER = """
import asyncio, json, pathlib, sys
{before}
from topology_controller.kube import config
async def main():
    loaded = await config.load({path!r})
    headers = await loaded.auth_settings()
    told = {{"host": loaded.host, "auth": headers, "verify": loaded.verify_ssl}}
    print(json.dumps({{**told, "name": loaded.tls_server_name}}))
asyncio.run(main())
"""


def test_slim_and_whole_answer_the_same(tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text(
        json.dumps(
            {
                "current-context": "a",
                "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [
                    {
                        "name": "c",
                        "cluster": {
                            "server": "https://api.example:6443",
                            "tls-server-name": "api",
                            "insecure-skip-tls-verify": True,
                        },
                    }
                ],
                "users": [{"name": "u", "user": {"token": "abc"}}],
            }
        )
    )
    slim = run(ANSWER.format(before="", path=str(path)))
    whole = run(ANSWER.format(before="import kubernetes_asyncio", path=str(path)))
    assert slim == whole
    assert slim["host"] == "https://api.example:6443"
    assert slim["auth"]["BearerToken"]["value"] == "Bearer abc"
