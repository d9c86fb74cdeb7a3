"""kubernetes_asyncio without its models, and with them where its files are elsewhere: both answer the same."""

import json

from test import kubeconfigs, processes

PROGRAM = """
import asyncio, json, sys
from topology_controller.kube import client, config, slim_import, lease, reflector, watch
{before}
async def main():
    loaded = await config.load({path!r})
    async with client.Client(loaded, user_agent="x", field_manager="x"):
        return [loaded.host, await loaded.auth_settings(), loaded.verify_ssl, loaded.tls_server_name]
answer = asyncio.run(main())
names = [name for name in sys.modules if name.partition(".")[0] == "kubernetes_asyncio"]
parts = [sum(name.startswith(f"kubernetes_asyncio.client.{{part}}.") for name in names) for part in ("models", "api")]
print(json.dumps([answer, len(names), parts]))
"""


def test_a_client_needs_no_model_and_another_layout_falls_back_to_the_ordinary_import(tmp_path):
    fields = {"tls-server-name": "api", "insecure-skip-tls-verify": True}
    path = kubeconfigs.written(tmp_path / "kubeconfig", "https://api.example:6443", {"token": "abc"}, **fields)
    ended = []
    for before in ("", "slim_import._EMPTY += ('kubernetes_asyncio.no_such_part',)"):
        ran = processes.python("-W", "error", "-c", PROGRAM.format(before=before, path=str(path)))
        assert ran.code == 0, ran.complaint
        ended.append(json.loads(ran.printed.strip().splitlines()[-1]))
    (slim, names, parts), (whole, _, fallen_back) = ended
    assert parts == [0, 0]
    # Today 16. A few more are no harm; a hundred more mean that something pulls the package in.
    assert names <= 30
    assert all(fallen_back), "models and APIs are there"
    assert slim == whole
    assert slim[0] == "https://api.example:6443"
    assert slim[1]["BearerToken"]["value"] == "Bearer abc"
