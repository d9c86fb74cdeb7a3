"""A kubeconfig whose user acts in the name of somebody else: that is who every request is made as, or nobody."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from test import kubeconfigs

from topology_controller.kube import client, config, resource
from topology_controller.plugin import arguments, cluster, errors

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    import multidict

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")
WIDGET = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "a", "resourceVersion": "1"}}
EVERYTHING = {
    "token": "abc",
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


@dataclass
class HeaderRecorder:
    """Answers everything, and remembers in whose name it was asked."""

    url: str = ""
    asked: list[multidict.CIMultiDictProxy[str]] = field(default_factory=list)

    @property
    def heard(self) -> list[tuple[str, str]]:
        headers = self.asked[-1]
        return [(name, value) for name, value in headers.items() if name.startswith("Impersonate")]

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.headers)
        return web.json_response(WIDGET)


@pytest.fixture
async def server() -> AsyncIterator[HeaderRecorder]:
    made = HeaderRecorder()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield made
    finally:
        await runner.cleanup()


def kubeconfig(folder: pathlib.Path, user: dict[str, Any], url: str = "http://127.0.0.1:1") -> str:
    return str(kubeconfigs.written(folder / "kubeconfig", url, user))


async def test_every_request_is_made_in_that_name(server: HeaderRecorder, tmp_path: pathlib.Path) -> None:
    configuration = await config.load(kubeconfig(tmp_path, EVERYTHING, server.url))
    async with client.Client(configuration, user_agent="tester/1", field_manager="tester") as asking:
        await asking.get(WIDGETS, "a")
    assert server.heard == SENT


async def test_the_flag_takes_the_place_of_all_of_it(server: HeaderRecorder, tmp_path: pathlib.Path) -> None:
    flags = ["--kubeconfig", kubeconfig(tmp_path, EVERYTHING, server.url), "--as", "joe", "--as-group", "dev"]
    async with cluster.opened(arguments.parse(["plan", *flags]), errors.Interruption()) as made:
        await made.client.get(WIDGETS, "a")
    assert server.heard == [("Impersonate-User", "joe"), ("Impersonate-Group", "dev")]
    assert str(made.acting) == "joe in dev"


@pytest.mark.parametrize(
    ("user", "why"),
    [
        ({"as-groups": ["ops"]}, "as-groups is about the user that `as` names, and there is no `as`"),
        ({"as-uid": "u-7"}, "as-uid is about the user that `as` names, and there is no `as`"),
        ({"as-user-extra": {"a": ["b"]}}, "as-user-extra is about the user that `as` names, and there is no `as`"),
        ({"as": ["jane"]}, "as has what is no name"),
        ({"as": "jane\r\nX-Admin: 1"}, "as has what is no name"),
        ({"as": "jane", "as-groups": "ops"}, "as-groups is not a list"),
        ({"as": "jane", "as-groups": ["ops\n"]}, "as-groups has what is no name"),
        ({"as": "jane", "as-user-extra": ["a"]}, "as-user-extra is not a mapping"),
        ({"as": "jane", "as-user-extra": {"a": "b"}}, "as-user-extra a is not a list"),
    ],
)
async def test_what_makes_no_sense_is_refused_and_never_left_out(
    user: dict[str, Any], why: str, tmp_path: pathlib.Path
) -> None:
    place = kubeconfig(tmp_path, {"token": "abc", **user})
    with pytest.raises(config.ConfigError) as raised:
        await config.load(place)
    assert str(raised.value) == f"{place}: {why}"
