"""Headers that go with every request, as impersonation has them: each of them, in order, also twice the same name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aiohttp import web

from topology_controller.kube import client, resource, slim_import

if TYPE_CHECKING:
    import multidict

WIDGETS = resource.Resource("example.org", "v1", "widgets", "Widget")
EXTRA = (("Impersonate-User", "jane doe"), ("Impersonate-Group", "ops"), ("Impersonate-Group", "übrige"))
WIDGET = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "a", "resourceVersion": "1"}}


async def test_every_request_carries_them_watches_and_writes_too() -> None:
    heard: list[multidict.CIMultiDictProxy[str]] = []

    async def answer(request: web.Request) -> web.Response:
        heard.append(request.headers)
        if "watch" in request.query:
            return web.Response(text=json.dumps({"type": "BOOKMARK", "object": WIDGET}) + "\n")
        return web.json_response(WIDGET)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        configuration = slim_import.library().client.Configuration()
        configuration.host = f"http://127.0.0.1:{runner.addresses[0][1]}"
        configuration.proxy = ""
        async with client.Client(
            configuration, user_agent="tester/1", field_manager="tester", extra_headers=EXTRA
        ) as asking:
            await asking.get(WIDGETS, "a")
            await asking.merge_patch(WIDGETS, "a", {"spec": {}})
            selection = resource.Selection(WIDGETS, name="a")
            async with asking.open_watch(selection, "1", 1.0, 5.0) as events:
                assert [kind async for kind, _ in events] == ["BOOKMARK"]
    finally:
        await runner.cleanup()
    for headers in heard:
        assert headers.getall("Impersonate-User") == ["jane doe"]
        assert headers.getall("Impersonate-Group") == ["ops", "übrige"]
        assert headers.getall("User-Agent") == ["tester/1"]
    assert len(heard) == 3
