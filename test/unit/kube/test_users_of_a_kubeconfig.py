"""Who the user of a kubeconfig is: a stored token, a program beside the file, somebody else's name; without TLS nobody.

A server without TLS could be anyone: as with kubectl no credential is sent to it. What is named without saying where is
looked for beside the file or on the PATH, never in the folder where the command is given: that may be a repository of
strangers. Who acts in another name does so in every request, or in none.
"""

from __future__ import annotations

import base64
import json
import stat
from typing import TYPE_CHECKING, Any

import pytest
from test import kubeconfigs

from kubectl_topology import arguments, cluster, errors
from topology_controller.kube import client, config, credentials, resource

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from test.unit.kube.conftest import FaultyServer

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")
VERSION = "client.authentication.k8s.io/v1"
SECRET = "s3cret-of-this-test"


def program(place: pathlib.Path, script: str) -> pathlib.Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(place.stat().st_mode | stat.S_IXUSR)
    return place


# Without TLS

USERS: dict[str, dict[str, Any]] = {
    "token": {"token": SECRET},
    "file": {"tokenFile": "token"},
    "password": {"username": "admin", "password": SECRET},
    "program": {"exec": {"command": "./program", "apiVersion": VERSION}},
    "oidc": {"auth-provider": {"name": "oidc", "config": {"id-token": f"{SECRET}.e30.x"}}},
    "gcp": {"auth-provider": {"name": "gcp", "config": {"access-token": SECRET}}},
    "certificate": {"client-certificate-data": "bm9uZQ==", "client-key-data": "bm9uZQ=="},
    "all": {"token": SECRET, "tokenFile": "token", "username": "admin", "password": SECRET},
}


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
async def test_no_credential_reaches_it_and_no_program_is_run(
    faulty: FaultyServer, make_widget: Callable[..., Any], tmp_path: pathlib.Path, user: dict[str, Any]
) -> None:
    faulty.answer(200, make_widget("a", 1))
    (tmp_path / "token").write_text(SECRET)
    program(tmp_path / "program", f"touch {tmp_path}/was-run")
    loaded = await config.load(kubeconfigs.written(tmp_path / "kc", f"http://127.0.0.1:{faulty.port}", user))
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


# A program


def printing(token: str) -> str:
    answer = {"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": token}}
    return f"echo '{json.dumps(answer)}'"


async def used(paths: str) -> str:
    return str((await config.load(environ={"KUBECONFIG": paths})).api_key["BearerToken"])


@pytest.fixture
def elsewhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder where the command is given, with a program and a token of somebody else's in it."""
    folder = tmp_path / "elsewhere"
    for place in ("cred", "bin/cred"):
        program(folder / place, printing("of-strangers"))
    (folder / "token").write_text("of-strangers")
    monkeypatch.chdir(folder)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("command", ["./cred", "bin/cred", "../home/cred", "bin/../cred"])
async def test_a_program_is_looked_for_beside_the_kubeconfig(tmp_path: pathlib.Path, command: str) -> None:
    home = tmp_path / "home"
    for place in ("cred", "bin/cred"):
        program(home / place, printing("ours"))
    run = {"exec": {"command": command, "apiVersion": VERSION}}
    path = kubeconfigs.written(home / "kubeconfig", "https://api.example", run)
    assert await used(str(path)) == "Bearer ours"
    assert await used("../home/kubeconfig") == "Bearer ours"


@pytest.mark.usefixtures("elsewhere")
async def test_of_several_kubeconfigs_it_is_the_one_that_holds_the_user(tmp_path: pathlib.Path) -> None:
    program(tmp_path / "first" / "cred", printing("of-the-cluster"))
    program(tmp_path / "second" / "cred", printing("of-the-user"))
    first = kubeconfigs.written(tmp_path / "first" / "kc", "https://api.example")
    content = json.loads(first.read_text())
    (user,) = content.pop("users")
    first.write_text(json.dumps(content))
    user["user"] = {"exec": {"command": "./cred", "apiVersion": VERSION}}
    second = tmp_path / "second" / "kc"
    second.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": [user]}))
    assert await used(f"{first}:{second}") == "Bearer of-the-user"


@pytest.mark.parametrize("name", ["exec", "auth-provider"])
async def test_a_replacement_that_would_run_a_program_is_refused_too(tmp_path: pathlib.Path, name: str) -> None:
    place = kubeconfigs.written(tmp_path / "kc", "https://api.example", {"token": "stored"})
    loaded = await config.load(place, programs=False)
    ran = tmp_path / "ran"
    run = {"command": "/usr/bin/touch", "args": [str(ran)], "apiVersion": VERSION}
    other = {name: {"name": "gcp", "config": {"cmd-path": f"/usr/bin/touch {ran}"}, **run}}
    kubeconfigs.written(place, "https://api.example", other)
    with pytest.raises(config.ConfigError, match=f"{name} runs a program, which is refused with --lease-kubeconfig"):
        await credentials.extras(loaded).read_again()
    assert loaded.api_key["BearerToken"] == "Bearer stored"
    assert not ran.exists()


# A stored token


def token(claims: Any) -> str:
    def part(value: Any) -> str:
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        return base64.urlsafe_b64encode(text).decode().rstrip("=")

    return f"{part({'alg': 'RS256', 'typ': 'JWT'})}.{part(claims)}.c2lnbmF0dXJl"


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
async def test_the_end_of_a_token_is_what_it_says(tmp_path: pathlib.Path, stored: str, end: float | None) -> None:
    place = kubeconfigs.written(tmp_path / "kc", "https://api.example", {"token": stored})
    loaded = await config.load(place)
    assert credentials.expiry(loaded) == end
    kubeconfigs.written(place, "https://api.example", {"token": token({"exp": 1_900_000_000})})
    await credentials.extras(loaded).read_again()
    assert credentials.expiry(loaded) == 1_900_000_000


async def test_a_token_that_is_replaced_without_us_has_no_end_to_warn_of(tmp_path: pathlib.Path) -> None:
    (tmp_path / "token").write_text(token({"exp": 1_800_000_000}))
    for user in ({"tokenFile": "token"}, {}):
        place = kubeconfigs.written(tmp_path / "kc", "https://api.example", user)
        assert credentials.expiry(await config.load(place)) is None
    (tmp_path / "ca.crt").write_text("not read here")
    environ = {"HOME": "/nonexistent", "KUBERNETES_SERVICE_HOST": "api", "KUBERNETES_SERVICE_PORT": "443"}
    assert credentials.expiry(config.in_cluster(environ=environ, folder=tmp_path)) is None


# Another name

EVERYTHING = {
    "as": "jane doe",
    "as-uid": "u-7",
    "as-groups": ["ops", "all users"],
    "as-user-extra": {"acme.com/Project": ["one", "two"]},
}
SENT = [
    ("Impersonate-User", "jane doe"),
    ("Impersonate-Group", "ops"),
    ("Impersonate-Group", "all users"),
    ("Impersonate-Uid", "u-7"),
    ("Impersonate-Extra-acme.com%2FProject", "one"),
    ("Impersonate-Extra-acme.com%2FProject", "two"),
]


@pytest.fixture
async def heard(faulty: FaultyServer, make_widget: Callable[..., Any]) -> Callable[[], list[tuple[str, str]]]:
    """In whose name the last request was made."""

    faulty.answer(200, make_widget("a", 1))
    return lambda: [header for header in faulty.asked[-1].lines if header[0].startswith("Impersonate")]


async def test_every_request_is_made_in_that_name(faulty: FaultyServer, heard: Any, tmp_path: pathlib.Path) -> None:
    loaded = await config.load(kubeconfigs.written(tmp_path / "kc", f"http://127.0.0.1:{faulty.port}", EVERYTHING))
    async with client.Client(loaded, user_agent="t", field_manager="t") as asking:
        await asking.get(WIDGETS, "a")
    assert heard() == SENT


async def test_the_flag_takes_the_place_of_all_of_it(faulty: FaultyServer, heard: Any, tmp_path: pathlib.Path) -> None:
    place = kubeconfigs.written(tmp_path / "kc", f"http://127.0.0.1:{faulty.port}", EVERYTHING)
    flags = ["--kubeconfig", str(place), "--as", "joe", "--as-group", "dev"]
    async with cluster.opened(arguments.parse(["plan", *flags]), errors.Interruption()) as made:
        await made.client.get(WIDGETS, "a")
    assert heard() == [("Impersonate-User", "joe"), ("Impersonate-Group", "dev")]
    assert str(made.acting) == "joe in dev"
