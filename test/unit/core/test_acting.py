"""The writes and what guards them: the version, the age of the evidence, the lease, the answer."""

from __future__ import annotations

import asyncio
import copy
import functools
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology_controller import act
from topology_controller.kube import errors
from topology_controller.observe import catalog, facts, live
from topology_simulator.apiserver import patch as merge_patches

from . import worlds

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LEAVES = st.booleans() | st.integers() | st.text(max_size=4)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)
OBJECT = st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4)


@given(OBJECT, OBJECT)
def test_the_patch_leads_from_one_object_to_the_other(before: Any, after: Any) -> None:
    untouched = copy.deepcopy((before, after))
    patch = act.merge_patch(before, after)
    assert merge_patches.merge(before, patch) == after
    assert (before, after) == untouched


class PatchRecorder:
    """Answers patches: with what they ask for, or as the test wants."""

    request_timeout = 10.0

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self.drop = False

    async def merge_patch(self, resource: Any, name: str, body: dict[str, Any], **options: Any) -> dict[str, Any]:
        self.sent.append((f"{resource.plural}/{name}", body, options))
        status = {} if self.drop else body["status"]
        return {"metadata": {"name": name, "resourceVersion": "101"}, "status": merge_patches.merge({}, status)}

    async def create(self, resource: Any, body: dict[str, Any], **options: Any) -> dict[str, Any]:
        self.sent.append((f"{resource.plural}", body, options))
        return {"metadata": {"name": body["metadata"]["name"], "resourceVersion": "50"}}


def hands(server: PatchRecorder, left: float | Callable[[], float] = math.inf) -> act.Act:
    """Act with a lease that has so many seconds left."""
    client: Any = server
    return act.Act(client, left if callable(left) else lambda: left)


async def evidence() -> live.Evidence:
    return live.Evidence(facts.Facts(live=True), asyncio.get_running_loop().time())


@pytest.mark.looptime
async def test_the_change_is_one_write_with_topology_record_and_version() -> None:
    server = PatchRecorder()
    await hands(server).change(await evidence(), worlds.infrastructure(), worlds.converging())
    ((where, body, options),) = server.sent
    assert where == "infrastructures/cluster"
    assert options == {"subresource": "status", "retry": False, "executed_within": 3.5}
    assert body["metadata"] == {"resourceVersion": "100"}
    assert body["status"]["controlPlaneTopology"] == "HighlyAvailable"
    assert body["status"]["infrastructureTopology"] == "HighlyAvailable"
    assert body["status"]["topologyTransition"]["phase"] == "Converging"
    assert set(body["status"]) == {"controlPlaneTopology", "infrastructureTopology", "topologyTransition"}


async def test_a_saved_record_leaves_topology_alone() -> None:
    server = PatchRecorder()
    await hands(server).save(worlds.infrastructure(), worlds.admitting())
    ((_, body, options),) = server.sent
    assert set(body["status"]) == {"topologyTransition"}
    assert body["metadata"] == {"resourceVersion": "100"}
    assert options == {"subresource": "status", "retry": False}, "a record that is old does no harm"


@pytest.mark.looptime
@pytest.mark.parametrize("age", [0.0, 0.3, 2.0, 2.01, 60.0])
async def test_the_change_has_to_be_executed_before_its_evidence_is_four_seconds_old(age: float) -> None:
    """It is not sent at all when the evidence is older than two."""
    server = PatchRecorder()
    known = await evidence()
    await asyncio.sleep(age)
    change = hands(server).change(known, worlds.infrastructure(), worlds.converging())
    if age > 2:
        with pytest.raises(act.Voided, match="older than 2 s"):
            await change
        assert server.sent == []
    else:
        await change
        ((_, _, options),) = server.sent
        # The server counts from when the request arrives, which takes a moment.
        assert options["executed_within"] == pytest.approx(3.5 - age)


@pytest.mark.looptime
@pytest.mark.parametrize(("left", "sent"), [(10.0, 1), (9.99, 0), (0.0, 0), (-5.0, 0)])
async def test_a_lease_about_to_run_out_voids_every_write(left: float, sent: int) -> None:
    record = worlds.converging()
    for write in ("save", "change", "report"):
        server = PatchRecorder()
        doing = hands(server, left)
        known = await evidence()
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "save": functools.partial(doing.save, worlds.infrastructure(), record),
            "change": functools.partial(doing.change, known, worlds.infrastructure(), record),
            "report": functools.partial(doing.report, worlds.own(), {"versions": []}),
        }
        if sent:
            await calls[write]()
        else:
            with pytest.raises(act.Voided, match="lease"):
                await calls[write]()
        assert len(server.sent) == sent, write


async def test_a_record_that_the_server_drops_is_noticed() -> None:
    server = PatchRecorder()
    server.drop = True
    with pytest.raises(act.RecordDropped):
        await hands(server).save(worlds.infrastructure(), worlds.admitting())


async def test_a_record_without_a_target_cannot_be_changed_to() -> None:
    server = PatchRecorder()
    record = worlds.converging().model_copy(update={"target": None})
    with pytest.raises(act.Voided):
        await hands(server).change(await evidence(), worlds.infrastructure(), record)
    assert server.sent == []


async def test_nothing_changes_without_evidence() -> None:
    server = PatchRecorder()
    with pytest.raises(act.Voided, match="nothing was read live"):
        await hands(server).change(None, worlds.infrastructure(), worlds.converging())
    assert not server.sent


async def test_a_report_carries_the_version_and_only_what_differs() -> None:
    server = PatchRecorder()
    standing = worlds.own(status={"versions": [1], "extension": {"a": 1, "b": 2}, "foreign": 1})
    await hands(server).report(standing, {"versions": [1], "extension": {"a": 1}})
    ((where, body, options),) = server.sent
    assert where == "clusteroperators/topology"
    assert options == {"subresource": "status"}
    assert body == {"metadata": {"resourceVersion": "7"}, "status": {"extension": {"b": None}}}


@pytest.mark.looptime
async def test_a_report_that_took_long_to_create_is_not_written_when_the_lease_is_about_to_run_out() -> None:
    class Slow(PatchRecorder):
        async def create(self, resource: Any, body: dict[str, Any], **options: Any) -> dict[str, Any]:
            await asyncio.sleep(9.0)
            return await super().create(resource, body, **options)

    server = Slow()
    with pytest.raises(act.Voided, match="lease"):
        await hands(server, lambda: 15.0 - asyncio.get_running_loop().time()).report(
            facts.Unobserved("x", "NotFound", kind=facts.Kind.MISSING), {"versions": [1]}
        )
    assert [where for where, _, _ in server.sent] == ["clusteroperators"]


async def test_a_missing_operator_object_is_created_first() -> None:
    server = PatchRecorder()
    missing = facts.Unobserved("x", "NotFound", kind=facts.Kind.MISSING)
    await hands(server).report(missing, {"versions": [1], "extension": None})
    assert [where for where, _, _ in server.sent] == ["clusteroperators", "clusteroperators/topology"]
    assert server.sent[1][1] == {"metadata": {"resourceVersion": "50"}, "status": {"versions": [1]}}


@pytest.mark.looptime
async def test_where_the_guard_refuses_nothing_is_written() -> None:
    server = PatchRecorder()
    client: Any = server
    refused = errors.Forbidden("write", catalog.INFRASTRUCTURES, None, "cluster", 0, "No", "")

    async def refuse() -> None:
        raise refused

    guarded = act.Act(client, lambda: math.inf, refuse)
    for write in (
        guarded.save(worlds.infrastructure(), worlds.admitting()),
        guarded.change(await evidence(), worlds.infrastructure(), worlds.converging()),
        guarded.report(facts.NOT_READ, {"conditions": []}),
    ):
        with pytest.raises(errors.Forbidden):
            await write
    assert server.sent == []


@pytest.mark.looptime
async def test_a_guard_that_takes_its_time_lets_evidence_and_lease_grow_old() -> None:
    server = PatchRecorder()
    client: Any = server
    left = 60.0

    async def look() -> None:
        await asyncio.sleep(2.5)

    with pytest.raises(act.Voided, match="older than 2 s"):
        await act.Act(client, lambda: left, look).change(await evidence(), worlds.infrastructure(), worlds.converging())

    async def lose() -> None:
        nonlocal left
        left = 1.0

    with pytest.raises(act.Voided, match="the lease"):
        await act.Act(client, lambda: left, lose).save(worlds.infrastructure(), worlds.admitting())
    assert server.sent == []
