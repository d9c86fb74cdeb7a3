"""The actors' own way to a server: kubeconfigs, credentials, errors."""

from __future__ import annotations

import pathlib

import pytest
import yaml

from topology_simulator import client, kinds, kubeconfig


def content(user=None, **cluster):
    return {
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1/", **cluster}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


def test_a_token_is_carried_and_a_file_is_found_beside_the_kubeconfig(tmp_path):
    assert kubeconfig.access(content({"token": "abc"}), tmp_path).headers == {"Authorization": "Bearer abc"}
    (tmp_path / "token").write_text("def\n")
    (tmp_path / "config").write_text(yaml.safe_dump(content({"tokenFile": "token"})))
    found = kubeconfig.load(tmp_path / "config")
    assert found.headers == {"Authorization": "Bearer def"}
    assert found.server == "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[", "not YAML"),
        ("1", "not a kubeconfig"),
        (yaml.safe_dump(content() | {"current-context": "y"}), "no 'y' in contexts"),
        (yaml.safe_dump(content({"exec": {"command": "x"}})), "needs exec"),
        (yaml.safe_dump(content(server="nowhere")), "'nowhere' is not a URL"),
        (yaml.safe_dump(content(server="https://a", **{"certificate-authority": "gone"})), "cannot be read"),
        (yaml.safe_dump(content(server="https://a", **{"certificate-authority-data": "%"})), "cannot be read"),
    ],
)
def test_a_broken_kubeconfig_is_refused_with_its_name(tmp_path, text, told):
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(kubeconfig.KubeconfigError, match=told) as error:
        kubeconfig.load(path)
    assert str(path) in str(error.value)


async def test_a_server_that_is_not_there_is_unreachable():
    async with client.Client(kubeconfig.access(content(), pathlib.Path())) as api:
        with pytest.raises(client.UnreachableError, match="GET /api/v1/nodes"):
            await api.list(kinds.NODES)


async def test_a_refusal_carries_code_and_reason(api):
    with pytest.raises(client.ApiError) as error:
        await api.get(kinds.NODES, "none")
    assert (error.value.code, error.value.reason) == (404, "NotFound")
