"""An object with more levels than can be decoded is read all the same: no field that counts is so deep."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from topology_controller.kube import errors, reflector, resource
from topology_controller.observe import catalog, live

if TYPE_CHECKING:
    from collections.abc import Callable

    from topology_controller.kube import watch

OPERATORS = catalog.CLUSTER_OPERATORS
DEPTHS = [15_000, 200_000]


class Read(NamedTuple):
    name: str
    state: str


def read(raw: dict[str, Any]) -> Read:
    return Read(raw["metadata"]["name"], raw["status"]["state"])


EVERY = catalog.Source(resource.Selection(OPERATORS), read)
NAMED = catalog.Source(resource.Selection(OPERATORS, name="ingress"), read)


def operator(name: str, version: int, **status: Any) -> dict[str, Any]:
    metadata = {"name": name, "resourceVersion": str(version)}
    head = {"apiVersion": OPERATORS.api_version, "metadata": metadata, "kind": OPERATORS.kind}
    return {**head, "status": {"state": "well", **status}}


def nested(value: Any, depth: int, sign: str = "{") -> bytes:
    """Return JSON in which the text "HERE" is so many levels deeper, with what looks like levels and is none."""
    opening, closing = ('{"a\\\\\\"]}":', "}") if sign == "{" else ("[", "]")
    text = json.dumps(value, separators=(",", ":"))
    return text.replace('"HERE"', f'{opening * depth}"}}]\\"{{["{closing * depth}').encode()


def items(*, metadata_first: bool, deep: str = "ingress") -> dict[str, Any]:
    """Return a list as a server writes it: of built-in kinds its metadata comes first, of others the items do."""
    operators = [
        operator(name, 1, extension="HERE" if name == deep else {"[": "{"}) for name in ("dns", "ingress", "network")
    ]
    metadata, kind = {"metadata": {"resourceVersion": "7", "continue": ""}}, {"kind": "ClusterOperatorList"}
    return {**kind, **metadata, "items": operators} if metadata_first else {"items": operators, **kind, **metadata}


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("sign", ["{", "["])
@pytest.mark.parametrize("metadata_first", [True, False])
async def test_a_list_with_one_is_read_as_any_other(
    faulty: Any, connect: Any, depth: int, sign: str, *, metadata_first: bool
) -> None:
    faulty.answer(200, nested(items(metadata_first=metadata_first), depth, sign))
    assert await live.read(await connect(), EVERY) == (("dns", "well"), ("ingress", "well"), ("network", "well"))


@pytest.mark.parametrize("depth", DEPTHS)
async def test_a_single_object_has_null_where_it_is_too_deep(faulty: Any, connect: Any, depth: int) -> None:
    faulty.answer(200, nested(operator("ingress", 1, extension="HERE"), depth))
    client = await connect()
    assert await live.read(client, NAMED) == ("ingress", "well")
    level = (await client.merge_patch(OPERATORS, "ingress", {}))["status"]["extension"]
    levels = 0
    while level is not None:
        (level,), levels = level.values(), levels + 1
    assert levels == 198


async def test_a_store_takes_it_from_a_list_and_from_a_watch(
    faulty: Any, connect: Any, soon: Callable[..., Any], quick: watch.Timing
) -> None:
    deep = nested({"type": "MODIFIED", "object": operator("ingress", 8, state="ill", extension="HERE")}, DEPTHS[0])

    async def behave(asked: Any, reply: Any) -> None:
        if not asked.is_watch:
            await reply.whole(200, nested(items(metadata_first=False, deep="dns"), DEPTHS[0]))
            return
        await reply.begin()
        await reply.event("MODIFIED", operator("dns", 8))
        await reply.chunk(deep + b"\n")
        await reply.event("MODIFIED", operator("network", 9, state="ill"))
        await reply.peer_hangs_up()

    faulty.behave = behave
    seen: list[dict[str, str]] = []

    def look() -> None:
        kept = store
        assert kept.error is None
        seen.append({name: state for (_, name), (_, state) in kept.objects.items()})

    store: reflector.Reflector[Any] = reflector.Reflector(
        await connect(), EVERY.selection, read, look, malformed=lambda *_: ("", "malformed"), timing=quick
    )
    running = asyncio.create_task(store.run())
    await soon(lambda: seen and seen[-1].get("network") == "ill")
    running.cancel()
    assert seen[0] == {"dns": "well", "ingress": "well", "network": "well"}
    assert seen[-1] == {"dns": "well", "ingress": "ill", "network": "ill"}


@pytest.mark.parametrize("line", [{"type": "HERE", "object": {"kind": "ClusterOperator"}}, ["HERE"]])
def test_what_is_no_event_stays_none(line: Any) -> None:
    request = errors.Request("watch", OPERATORS, None, None, ("ClusterOperator",), "/")
    with pytest.raises(errors.Malformed) as caught:
        errors.event(request, nested(line, DEPTHS[0]))
    assert caught.value.reason == "NotAnEvent"
