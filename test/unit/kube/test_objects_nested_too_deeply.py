"""An object with more levels than can be decoded is malformed, with its name. The others are read as ever."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from topology_controller.kube import errors, reflector, resource
from topology_controller.observe import catalog, facts, fields, live

if TYPE_CHECKING:
    from collections.abc import Callable

    from topology_controller.kube import watch

OPERATORS = catalog.CLUSTER_OPERATORS
INGRESS = "clusteroperators.config.openshift.io/ingress: malformed: nested too deeply"
DEPTHS = [15_000, 200_000]


class Read(NamedTuple):
    """What a reader makes of an operator."""

    name: str
    state: str


def read(raw: dict[str, Any]) -> Read:
    if (status := raw.get("status")) is None:
        raise ValueError("no status")
    return Read(raw["metadata"]["name"], status["state"])


EVERY = catalog.Source(resource.Selection(OPERATORS), read)
NAMED = catalog.Source(resource.Selection(OPERATORS, name="ingress"), read)


def operator(name: str, version: int, **status: Any) -> dict[str, Any]:
    metadata = {"name": name, "resourceVersion": str(version)}
    return {
        "apiVersion": OPERATORS.api_version,
        "metadata": metadata,
        "kind": OPERATORS.kind,
        "status": {"state": "well", **status},
    }


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
async def test_of_a_list_of_three_two_are_read_and_one_is_named(
    faulty: Any, connect: Any, depth: int, sign: str, *, metadata_first: bool
) -> None:
    faulty.answer(200, nested(items(metadata_first=metadata_first), depth, sign))
    read_facts = await live.read(await connect(), EVERY)
    (ingress,) = (fact for fact in read_facts if isinstance(fact, facts.Unobserved))
    assert [fact for fact in read_facts if fact is not ingress] == [("dns", "well"), ("network", "well")]
    assert (str(ingress), ingress.kind) == (INGRESS, facts.Kind.MALFORMED)


@pytest.mark.parametrize("depth", DEPTHS)
async def test_a_single_object_is_malformed_at_once(faulty: Any, connect: Any, depth: int) -> None:
    faulty.answer(200, nested(operator("ingress", 1, extension="HERE"), depth))
    client = await connect()
    fact = await live.read(client, NAMED)
    assert (str(fact), fact.kind) == (INGRESS, facts.Kind.MALFORMED)
    assert len(faulty.asked) == 1, "asking again would not help"
    with pytest.raises(errors.NestedTooDeeply) as caught:
        await client.merge_patch(OPERATORS, "ingress", {})
    assert caught.value.outcome_unknown, "what was made of the write is not known"


async def test_a_store_keeps_it_as_malformed_until_it_is_mended(
    faulty: Any, connect: Any, soon: Callable[..., Any], quick: watch.Timing
) -> None:
    deep = nested({"type": "MODIFIED", "object": operator("ingress", 8, extension="HERE")}, DEPTHS[0])

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
        kept = store.snapshot()
        assert kept.error is None
        values = {name: str(getattr(fact, "state", fact)) for (_, name), fact in kept.objects.items()}
        seen.append({name: re.sub(r".*malformed: ", "", value) for name, value in values.items()})

    store: reflector.Reflector[Any] = reflector.Reflector(
        await connect(), EVERY.selection, read, look, malformed=fields.malformed, timing=quick
    )
    running = asyncio.create_task(store.run())
    await soon(lambda: seen and seen[-1].get("network") == "ill")
    running.cancel()
    assert seen[0] == {"dns": "nested too deeply", "ingress": "well", "network": "well"}
    assert seen[-1] == {"dns": "well", "ingress": "nested too deeply", "network": "ill"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"type": "ERROR", "object": {"kind": "Status", "code": 410, "details": "HERE"}}, "NotAnEvent"),
        ({"type": "ADDED", "object": {"kind": "ClusterOperator"}, "more": "HERE"}, "NotAnEvent"),
        ({"type": "HERE", "object": {"kind": "ClusterOperator"}}, "NotAnEvent"),
        (["HERE"], "NotJSON"),
    ],
)
def test_what_is_no_event_stays_none(line: Any, reason: str) -> None:
    request = errors.Request("watch", OPERATORS, None, None, ("ClusterOperator",), "/")
    with pytest.raises(errors.Malformed) as caught:
        errors.event(request, nested(line, DEPTHS[0]))
    assert caught.value.reason == reason
