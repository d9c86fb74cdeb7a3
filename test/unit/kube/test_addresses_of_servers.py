"""The address of a server in a kubeconfig: it can be asked, or the file and the cluster that hold it are named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test import kubeconfigs

from topology_controller.kube import client, config, errors, resource

if TYPE_CHECKING:
    import pathlib

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")


def kubeconfig(place: pathlib.Path, server: Any, **cluster: object) -> pathlib.Path:
    return kubeconfigs.written(place, server, {"token": "abc"}, **cluster)


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is looked up and nothing contacted: what comes before that is under test."""

    async def refuse(*_: object, **__: object) -> None:
        raise OSError("nobody is asked here")

    monkeypatch.setattr(aiohttp.TCPConnector, "_create_connection", refuse)


async def asked(path: pathlib.Path) -> str:
    """Ask a server; return what came of it, and raise what is none of our errors."""
    try:
        loaded = await config.load(path)
        async with client.Client(loaded, user_agent="t", field_manager="t") as asking:
            await asking.merge_patch(WIDGETS, "a", {})
    except config.ConfigError as error:
        return f"refused: {error}"
    except errors.Unreachable:
        return "asked"
    raise AssertionError("no answer can have come")


SECRET = "s3cret-of-this-test"
GOOD = [
    "https://api.example:6443",
    "https://api.example/",
    "https://127.0.0.1:1/a/path/k8s/clusters/c-1x",
    "https://[::1]:6443",
    "https://[fd00::1]",
    "http://localhost:8080",
    "https://xn--bcher-kva.example",
    "https://api_1.example:443/%7Euser/",
]
BAD: list[object] = [
    "https://[x]", "https://[", "https://]", "https://[::1", "https://[:::::]", "https://[::1]x", "https://::1",
    "https://", "http://", "https:///path", "https://:6443", "https://host:", "https://host:port", "https://host:65536",
    "https://host:-1", "https://host:1e3", "https://ho st", "https://host/a b", "https://host\t", " https://host",
    "https://host\n", "https://host?x=1", "https://host#x", "https://host\\@evil", "https://user@host",
    f"https://admin:{SECRET}@host", f"http://admin:{SECRET}@host",
    "HTTPS://host", "ftp://host", "host:6443", "//host", "", "https", "https:host",
    "https://\x1b]0;x\x07", "https://\u202ehost", "https://ho\x00st", "https://höst", "https://host/ä", "https://ho%00st",
    7, True, [], {}, ["https://host"],
]  # fmt: skip


@pytest.mark.parametrize("server", GOOD)
async def test_a_good_address_is_asked(unreachable: None, tmp_path: pathlib.Path, server: str) -> None:
    assert await asked(kubeconfig(tmp_path / "kc", server)) == "asked"


@pytest.mark.parametrize("server", BAD, ids=repr)
async def test_a_malformed_address_is_refused_with_its_file_and_cluster(
    unreachable: None, tmp_path: pathlib.Path, server: object
) -> None:
    path = kubeconfig(tmp_path / "kc", server)
    answer = await asked(path)
    assert answer.startswith(f"refused: {path}: clusters[name=c]: the server is ")
    assert "not an http or https address" in answer
    assert answer.isprintable()
    assert SECRET not in answer


_PIECES = st.sampled_from(
    ["https://", "http://", "[", "]", "::1", ":", "@", "/", "\\", "?", "#", "%", ".", "x", "9", "99999", "\t", " ", "é"]
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    server=st.builds("https://{}".format, st.text(max_size=12))
    | st.builds("".join, st.lists(_PIECES, max_size=8))
    | st.text(max_size=12)
)
async def test_whatever_stands_there_is_asked_or_refused(
    unreachable: None, tmp_path: pathlib.Path, server: str
) -> None:
    path = kubeconfig(tmp_path / "kc", server)
    answer = await asked(path)
    assert answer == "asked" or answer.startswith(f"refused: {path}: clusters[name=c]: the server is ")
    assert answer.isprintable()


@pytest.mark.parametrize("key", ["proxy-url", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority"])
@pytest.mark.parametrize("value", [7, [], {}, "https://[x]", "http://[", "x\n", "\x00"], ids=repr)
async def test_what_else_a_cluster_says_ends_in_one_of_our_errors_too(
    unreachable: None, tmp_path: pathlib.Path, key: str, value: Any
) -> None:
    found: list[errors.Malformed] = []
    try:
        await asked(kubeconfig(tmp_path / "kc", "https://api.example", **{key: value}))
    except errors.Malformed as error:
        found.append(error)
    assert not any(error.sent for error in found)
