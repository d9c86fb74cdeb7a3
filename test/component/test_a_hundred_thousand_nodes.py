"""A list of 100,000 nodes, twenty times as many as Kubernetes supports: no page is larger for it, memory is bounded.

The server is a small one of this test, which makes each page when it is asked for. What is watched of a node that is
not of the control plane are its metadata; what is kept is its name and three answers.
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import TYPE_CHECKING

from aiohttp import web

from test import kubeconfigs, processes

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator, Callable

NODES = 100_000
_MORE_MIB = 70
"""Resident beyond what the process took before: 0.7 KiB a node, where 0.5 were measured."""
_LARGE, _LARGE_MIB = 600, 260
"""Nodes of 600 KiB, of which a page is as large as an answer may be; resident at most while one is decoded."""
_LABELS = {f"example.com/label-{number}": "some-value" for number in range(10)}
_ANNOTATIONS = {f"example.com/annotation-{number}": "x" * 60 for number in range(10)}


def _page(begin: int, limit: int, total: int, padding: int) -> str:
    labels = _LABELS | {f"example.com/more-{number}": "y" * 63 for number in range(padding)}
    rest = json.dumps({"labels": labels, "annotations": _ANNOTATIONS})[1:]
    items = ",".join(
        f'{{"metadata":{{"name":"worker-{number}","resourceVersion":"{number + 1}",{rest}}}'
        for number in range(begin, min(begin + limit, total))
    )
    token = str(begin + limit) if begin + limit < total else ""
    about = {"resourceVersion": str(NODES + 1), "continue": token}
    return (
        '{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1",'
        f'"metadata":{json.dumps(about)},"items":[{items}]}}'
    )


class Nodes:
    """The server of `total` nodes, each with `padding` labels more. `limits` has what each page was asked to hold."""

    def __init__(self, total: int, padding: int) -> None:
        self._total, self._padding = total, padding
        self.limits: list[int] = []
        self.largest = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            bookmark = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
            bookmark["metadata"] = {"resourceVersion": str(NODES + 1)}  # type: ignore[assignment]  # a plain object
            await response.write(json.dumps({"type": "BOOKMARK", "object": bookmark}).encode() + b"\n")
            return response
        self.limits.append(int(request.query["limit"]))
        page = _page(int(request.query.get("continue", "0")), self.limits[-1], self._total, self._padding)
        self.largest = max(self.largest, len(page))
        return web.Response(text=page, content_type="application/json")


async def _listed(kubeconfig: pathlib.Path) -> dict[str, float]:
    code, printed, complaint = await processes.run(
        sys.executable, "-m", "test.component.listing", str(kubeconfig), seconds=120.0
    )
    assert code == 0, complaint
    found: dict[str, float] = json.loads(printed)
    return found


@contextlib.asynccontextmanager
async def served(folder: pathlib.Path, total: int, padding: int = 0) -> AsyncIterator[tuple[Nodes, pathlib.Path]]:
    nodes = Nodes(total, padding)
    app = web.Application()
    app.router.add_get("/api/v1/nodes", nodes.answer)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    file = kubeconfigs.written(folder / "kubeconfig", f"http://127.0.0.1:{runner.addresses[0][1]}")
    try:
        yield nodes, file
    finally:
        await runner.cleanup()


async def test_a_list_of_any_length_is_read_page_by_page_and_costs_less_than_a_kilobyte_a_node(
    tmp_path: pathlib.Path, figure: Callable[[str], None]
) -> None:
    async with served(tmp_path, NODES) as (nodes, kubeconfig):
        found = await _listed(kubeconfig)
    assert found["nodes"] == NODES
    assert set(nodes.limits) == {100}
    assert len(nodes.limits) == NODES // 100
    figure(
        f"{NODES} nodes of {nodes.largest / 100:.0f} bytes: {found['before']:.0f} MiB before, {found['peak']:.0f} at"
        f" most, {found['after']:.0f} after; listed in {found['listed']:.1f} s, sorted in {found['read']:.2f} s, the"
        f" loop never longer away than {found['stall']:.2f} s"
    )
    assert found["peak"] - found["before"] < _MORE_MIB, found


async def test_pages_as_large_as_an_answer_may_be_are_decoded_one_at_a_time(
    tmp_path: pathlib.Path, figure: Callable[[str], None]
) -> None:
    """Hundreds of nodes of half a megabyte each. With more in one page none can be listed, which blocks a change."""
    async with served(tmp_path, _LARGE, 6_900) as (nodes, kubeconfig):
        found = await _listed(kubeconfig)
    assert found["nodes"] == _LARGE
    figure(
        f"pages of {nodes.largest / 2**20:.0f} MiB: {found['before']:.0f} MiB before, {found['peak']:.0f} at most,"
        f" {found['after']:.0f} after; listed in {found['listed']:.1f} s, the loop away for {found['stall']:.2f} s"
    )
    assert nodes.largest > 58 * 2**20
    assert found["peak"] - found["before"] < _LARGE_MIB, found
