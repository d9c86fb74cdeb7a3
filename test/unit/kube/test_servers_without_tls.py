"""A server without TLS could be anyone: as with kubectl no credential is sent to it, and none is asked for."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

import pytest
from test import kubeconfigs

from topology_controller.kube import client, config, credentials, resource

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from test.unit.kube.conftest import FaultyServer

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")
SECRET = "s3cret-of-this-test"
USERS: dict[str, dict[str, Any]] = {
    "token": {"token": SECRET},
    "file": {"tokenFile": "token"},
    "password": {"username": "admin", "password": SECRET},
    "program": {"exec": {"command": "./program", "apiVersion": "client.authentication.k8s.io/v1"}},
    "oidc": {"auth-provider": {"name": "oidc", "config": {"id-token": f"{SECRET}.e30.x"}}},
    "gcp": {"auth-provider": {"name": "gcp", "config": {"access-token": SECRET}}},
    "certificate": {"client-certificate-data": "bm9uZQ==", "client-key-data": "bm9uZQ=="},
    "all": {"token": SECRET, "tokenFile": "token", "username": "admin", "password": SECRET},
}


def kubeconfig(folder: pathlib.Path, user: dict[str, Any], server: str) -> pathlib.Path:
    (folder / "token").write_text(SECRET)
    program = folder / "program"
    program.write_text(f"#!/bin/sh\ntouch {folder}/was-run\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return kubeconfigs.written(folder / "kubeconfig", server, user)


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
async def test_no_credential_reaches_it_and_no_program_is_run(
    faulty: FaultyServer, make_widget: Callable[..., Any], tmp_path: pathlib.Path, user: dict[str, Any]
) -> None:
    async def behave(asked: Any, reply: Any) -> None:
        await reply.whole(200, make_widget("a", 1))

    faulty.behave = behave
    loaded = await config.load(kubeconfig(tmp_path, user, f"http://127.0.0.1:{faulty.port}"))
    loaded.proxy = ""
    async with client.Client(loaded, user_agent="t", field_manager="t") as asking:
        await asking.get(WIDGETS, "a")
        credentials.rejected(loaded)
        await asking.get(WIDGETS, "a")
    assert len(faulty.asked) == 2
    for asked in faulty.asked:
        assert "Authorization" not in asked.headers
        assert SECRET not in str(asked.headers)
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_password_in_the_address_is_refused(tmp_path: pathlib.Path, scheme: str) -> None:
    path = kubeconfig(tmp_path, {}, f"{scheme}://admin:{SECRET}@127.0.0.1:1")
    with pytest.raises(config.ConfigError, match="not an http or https address") as caught:
        await config.load(path)
    assert SECRET not in str(caught.value)
