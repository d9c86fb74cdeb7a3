"""What a kubeconfig names without saying where is where kubectl looks for it: beside the file, or on the PATH.

Never in the folder where the command happens to be given, which may be a repository of strangers.
"""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest

from topology_controller.kube import config

if TYPE_CHECKING:
    import pathlib

VERSION = "client.authentication.k8s.io/v1"
CLUSTER = {"name": "c", "cluster": {"server": "https://api.example"}}
CONTEXT = {"name": "c", "context": {"cluster": "c", "user": "u"}}


def program(place: pathlib.Path, token: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    answer = {"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": token}}
    place.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    place.chmod(place.stat().st_mode | stat.S_IXUSR)


def write(place: pathlib.Path, **content: Any) -> pathlib.Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **content}))
    return place


def user(**what: Any) -> dict[str, Any]:
    return {"users": [{"name": "u", "user": what}]}


async def token(paths: str) -> str:
    loaded = await config.load(environ={"KUBECONFIG": paths})
    return str(loaded.api_key["BearerToken"])


@pytest.fixture
def elsewhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The folder where the command is given, with a program and a token of somebody else's in it."""
    folder = tmp_path / "elsewhere"
    program(folder / "cred", "of-strangers")
    program(folder / "bin" / "cred", "of-strangers")
    (folder / "token").write_text("of-strangers")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("command", ["./cred", "bin/cred", "../home/cred", "bin/../cred"])
async def test_a_program_is_looked_for_beside_the_kubeconfig(
    elsewhere: pathlib.Path, tmp_path: pathlib.Path, command: str
) -> None:
    home = tmp_path / "home"
    program(home / "cred", "ours")
    program(home / "bin" / "cred", "ours")
    run = user(exec={"command": command, "apiVersion": VERSION})
    path = write(home / "kubeconfig", clusters=[CLUSTER], contexts=[CONTEXT], **{"current-context": "c"}, **run)
    assert await token(str(path)) == "Bearer ours"
    assert await token("../home/kubeconfig") == "Bearer ours"


async def test_of_several_kubeconfigs_it_is_the_one_that_holds_the_user(
    elsewhere: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    program(tmp_path / "first" / "cred", "of-the-cluster")
    program(tmp_path / "second" / "cred", "of-the-user")
    first = write(tmp_path / "first" / "kc", clusters=[CLUSTER], contexts=[CONTEXT], **{"current-context": "c"})
    second = write(tmp_path / "second" / "kc", **user(exec={"command": "./cred", "apiVersion": VERSION}))
    assert await token(f"{first}:{second}") == "Bearer of-the-user"
