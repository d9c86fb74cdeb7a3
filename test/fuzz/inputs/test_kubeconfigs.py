"""A kubeconfig comes from anywhere: it is usable, or refused as a ConfigError that repeats no secret of it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import subprocess
from typing import Any

import pytest
import yaml
from hypothesis import strategies as st

from topology_controller.kube import client, config

from . import bounds, documents

SECRET = "T0pS3cret-of-this-file"  # a value that only this file has
GOOD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "one",
    "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u", "namespace": "default"}}],
    "clusters": [
        {
            "name": "c",
            "cluster": {
                "server": "https://127.0.0.1:1",
                "certificate-authority": "ca.crt",
                "tls-server-name": "api",
                "insecure-skip-tls-verify": False,
                "proxy-url": "http://127.0.0.1:1",
            },
        }
    ],
    "users": [{"name": "u", "user": {"token": SECRET, "username": "admin", "password": SECRET}}],
    "preferences": {},
}
USERS: list[dict[str, Any]] = [
    {"token": SECRET},
    {"username": "admin", "password": SECRET},
    {"tokenFile": "ca.crt"},
    {"client-certificate-data": base64.b64encode(SECRET.encode()).decode(), "client-key-data": SECRET},
    {
        "exec": {
            "command": "nothing-here",
            "apiVersion": "v1",
            "args": [SECRET],
            "env": [{"name": "A", "value": SECRET}],
        }
    },
    {"auth-provider": {"name": "oidc", "config": {"id-token": f"{SECRET}.e30.x"}}},
    {"auth-provider": {"name": "oidc", "config": {"client-secret": SECRET}}},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("any-kubeconfig")
    (made / "ca.crt").write_text("no certificate")
    return made


@pytest.fixture(autouse=True)
def nothing_is_run(monkeypatch):
    """No program that a made-up file names is ever started, and nothing is asked of any host."""

    def refuse(*_: object, **__: object) -> None:
        raise FileNotFoundError("nothing is run here")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr("aiohttp.ClientSession._request", refuse)


def tried(folder, raw: bytes) -> str:
    """Load it and open a client; return what was refused, "" for nothing."""
    place = folder / "kubeconfig"
    place.write_bytes(raw)

    async def attempt() -> str:
        try:
            loaded = await config.load(place)
            async with contextlib.AsyncExitStack() as stack:
                await stack.enter_async_context(client.Client(loaded, user_agent="t", field_manager="t"))
        except config.ConfigError as error:
            return str(error)
        return ""

    return asyncio.run(attempt())


def test_a_good_one_is_good(folder):
    good = {key: value for key, value in GOOD["clusters"][0]["cluster"].items() if key != "certificate-authority"}
    content = {**GOOD, "clusters": [{"name": "c", "cluster": good}]}
    assert tried(folder, json.dumps(content).encode()) == ""


def clean(told: str) -> None:
    assert SECRET not in told, told
    assert "\n" not in told, told
    assert len(told) < 3000, told


@bounds.fuzz(documents.near(yaml.safe_dump(GOOD)))
def test_any_bytes_are_a_kubeconfig_or_an_error_in_time_and_memory(folder, raw):
    with bounds.ended(len(raw)):
        clean(tried(folder, raw))


@bounds.fuzz(st.data(), st.sampled_from(USERS))
def test_any_value_in_any_place_is_one_too(folder, data, user):
    content = json.loads(json.dumps({**GOOD, "users": [{"name": "u", "user": user}]}))
    clean(tried(folder, documents.replaced(data, content)))


@pytest.mark.parametrize("merged", [False, True], ids=["aliases", "merge-keys"])
@pytest.mark.parametrize("below", ["", "users:\n- name: u\n  user:\n"], ids=["anywhere", "in-a-user"])
def test_aliases_of_aliases_are_never_written_out(folder, merged, below):
    bomb = documents.bomb(60, 9, merged=merged)
    indented = below + "".join(f"    {line}\n" if below else f"{line}\n" for line in bomb.splitlines())
    head = yaml.safe_dump({key: value for key, value in GOOD.items() if key != "users"})
    raw = (head + indented).encode()
    with bounds.kept(len(raw), times=2000, beside=12 * bounds.MIB):
        told = tried(folder, raw)
    assert "aliases of YAML are not supported" in told
