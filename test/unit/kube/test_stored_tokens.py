"""A token that is stored in a kubeconfig has an end that can be read, where it has one; no program is run for it."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from topology_controller.kube import config, credentials

if TYPE_CHECKING:
    import pathlib


def token(claims: Any) -> str:
    def part(value: Any) -> str:
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        return base64.urlsafe_b64encode(text).decode().rstrip("=")

    return f"{part({'alg': 'RS256'})}.{part(claims)}.c2lnbmF0dXJl"


def kubeconfig(place: pathlib.Path, **user: Any) -> pathlib.Path:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://api.example"}}],
        "users": [{"name": "u", "user": user}],
    }
    place.write_text(json.dumps(content))
    return place


@pytest.mark.parametrize(
    ("stored", "end"),
    [
        (token({"exp": 1_800_000_000, "sub": "system:serviceaccount:a:b"}), 1_800_000_000.0),
        (token({"exp": 1_800_000_000.5}), 1_800_000_000.5),
        (token({"sub": "for ever"}), None),
        (token({"exp": "tomorrow"}), None),
        (token({"exp": -1}), None),
        (token({"exp": 10**400}), None),
        (token(b'{"exp": NaN}'), None),
        (token(["exp"]), None),
        (token(b"[" * 100_000), None),
        (token(b"\xff"), None),
        ("a.b.c", None),
        ("a..c", None),
        ("sha256~opaque", None),
    ],
)
async def test_the_end_is_what_the_token_says(tmp_path: pathlib.Path, stored: str, end: float | None) -> None:
    place = tmp_path / "kubeconfig"
    assert credentials.expiry(await config.load(kubeconfig(place, token=stored))) == end


async def test_a_token_that_is_replaced_without_us_has_no_end_to_warn_of(tmp_path: pathlib.Path) -> None:
    (tmp_path / "token").write_text(token({"exp": 1_800_000_000}))
    assert credentials.expiry(await config.load(kubeconfig(tmp_path / "kubeconfig", tokenFile="token"))) is None
    (tmp_path / "ca.crt").write_text("not read here")
    environ = {"HOME": "/nonexistent", "KUBERNETES_SERVICE_HOST": "api", "KUBERNETES_SERVICE_PORT": "443"}
    assert credentials.expiry(config.in_cluster(environ=environ, folder=tmp_path)) is None
    assert credentials.expiry(await config.load(kubeconfig(tmp_path / "kubeconfig"))) is None


async def test_a_new_token_has_a_new_end(tmp_path: pathlib.Path) -> None:
    place = kubeconfig(tmp_path / "kubeconfig", token=token({"exp": 1_800_000_000}))
    loaded = await config.load(place)
    kubeconfig(place, token=token({"exp": 1_900_000_000}))
    await credentials.extras(loaded).read_again()
    assert credentials.expiry(loaded) == 1_900_000_000


@pytest.mark.parametrize("name", ["exec", "auth-provider"])
async def test_a_replacement_that_would_run_a_program_is_refused_too(tmp_path: pathlib.Path, name: str) -> None:
    place = kubeconfig(tmp_path / "kubeconfig", token="stored")
    loaded = await config.load(place, programs=False)
    ran = tmp_path / "ran"
    run = {"command": "/usr/bin/touch", "args": [str(ran)], "apiVersion": "client.authentication.k8s.io/v1"}
    kubeconfig(place, **{name: {"name": "gcp", "config": {"cmd-path": f"/usr/bin/touch {ran}"}, **run}})
    with pytest.raises(config.ConfigError, match=f"{name} runs a program, which is refused with --lease-kubeconfig"):
        await credentials.extras(loaded).read_again()
    assert loaded.api_key["BearerToken"] == "Bearer stored"
    assert not ran.exists()
