"""Lists: pages, a snapshot that is lost in the middle, and pages that are reduced as they arrive."""

import gc
import weakref
from typing import Any

import pytest

from topology_controller.kube import errors, resource

CLUSTER = resource.Resource("example.org", "v1", "widgets", "Widget")


def whole(raw: dict[str, Any]) -> dict[str, Any]:
    return raw


def page(names, token="", version="50", kind="WidgetList", **more):
    items = [{"metadata": {"name": name, "resourceVersion": "1"}} for name in names]
    return {"kind": kind, "metadata": {"resourceVersion": version, "continue": token}, "items": items, **more}


def names(listing):
    return [item["metadata"]["name"] for item in listing.items]


@pytest.fixture
async def paged(faulty, connect):
    pages = {"": page("ab", "t1"), "t1": page("cd", "t2"), "t2": page("e")}

    async def behave(asked, reply):
        await reply.whole(200, pages[asked.query.get("continue", "")])

    faulty.behave = behave
    return await connect()


async def test_pages_are_followed(faulty, paged):
    listing = await paged.list(CLUSTER, reduce=whole, label_selector="a=b", field_selector="metadata.name=x", page=2)
    assert (names(listing), listing.resource_version) == (list("abcde"), "50")
    asked = {"limit": "2", "labelSelector": "a=b", "fieldSelector": "metadata.name=x"}
    assert [one.query for one in faulty.asked] == [asked, {**asked, "continue": "t1"}, {**asked, "continue": "t2"}]


@pytest.mark.parametrize(("enough", "read"), [(1, "ab"), (2, "ab"), (3, "abcd"), (9, "abcde")])
async def test_no_page_is_asked_for_once_there_are_enough(paged, enough, read):
    listing = await paged.list(CLUSTER, reduce=whole, page=2, enough=lambda items: len(items) >= enough)
    assert names(listing) == list(read)


async def test_a_snapshot_that_is_dropped_in_the_middle_is_begun_again_once(faulty, connect):
    async def behave(asked, reply):
        if "continue" not in asked.query:
            first = len(faulty.asked) == 1
            await reply.whole(200, page("ab", "old") if first else page("xy", "new", "60"))
        elif asked.query["continue"] == "old":
            await reply.whole(410, {"kind": "Status", "code": 410, "reason": "Expired"})
        else:
            await reply.whole(200, page("z", "", "60"))

    faulty.behave = behave
    client = await connect()
    listing = await client.list(CLUSTER, reduce=whole)
    assert names(listing) == list("xyz")
    assert listing.resource_version == "60"


class Item(dict[str, Any]):
    """A dict that can be asked whether it is still alive."""


async def test_raw_pages_do_not_pile_up(faulty, connect, monkeypatch):
    refs: list[weakref.ref[Item]] = []
    seen = []
    judged = errors.page

    def watched(call, status, raw):
        # Here no request is under way that could be given up, and sent again, meanwhile.
        gc.collect()
        seen.append(sum(ref() is not None for ref in refs))
        found, version, token = judged(call, status, raw)
        alive = [Item(item) for item in found]
        refs.extend(weakref.ref(item) for item in alive)
        return alive, version, token

    monkeypatch.setattr(errors, "page", watched)

    async def behave(asked, reply):
        at = int(asked.query.get("continue", "0"))
        await reply.whole(200, page([f"n{at}-{i}" for i in range(10)], str(at + 1) if at < 5 else ""))

    faulty.behave = behave
    client = await connect()
    listing = await client.list(CLUSTER, page=10, reduce=lambda raw: raw["metadata"]["name"])
    assert len(listing.items) == 60
    assert seen == [0] * 6, f"raw objects alive at each page: {seen}"


@pytest.mark.parametrize(
    "broken",
    [
        page("a", kind="GadgetList"),
        page("a", kind="Widget"),
        page("a", items={"a": 1}),
        page("a", items=["a"]),
        page("a", items=[{"metadata": None}]),
        page("a", items=[{"metadata": {"name": 5}}]),
        page("a", metadata={}),
        page("a", metadata=None),
    ],
)
async def test_a_list_that_is_not_one_is_an_error(faulty, connect, broken):
    async def behave(asked, reply):
        await reply.whole(200, broken)

    faulty.behave = behave
    client = await connect(request_timeout=0.3)
    with pytest.raises(errors.Malformed):
        await client.list(CLUSTER, reduce=whole, timeout=0.4)


@pytest.mark.parametrize("kind", ["PartialObjectMetadataList", "WidgetList"])
async def test_metadata_only_asks_for_it_and_takes_the_whole_too(faulty, connect, kind):
    async def behave(asked, reply):
        await reply.whole(200, page("a", kind=kind))

    faulty.behave = behave
    client = await connect()
    assert names(await client.list(CLUSTER, reduce=whole, metadata_only=True)) == ["a"]
    assert faulty.asked[0].headers["Accept"] == "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
