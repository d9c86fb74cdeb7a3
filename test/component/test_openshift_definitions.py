"""Whole transitions on the real API server with OpenShift's own definitions: how they end, and what they cost others.

Every write of Infrastructure wakes a dozen operators, so DESIGN allows ten of them for a whole transition. They are
counted where nobody can forget one: in the API server's audit log.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from test.component import backend, real
from topology_api import crd
from topology_simulator import box, kinds, pace, play, scenario
from topology_simulator import client as clients
from topology_simulator.envtest import openshift

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from topology_simulator.envtest import audit


MOST_WRITES = 10
SETTLE_SECONDS = 3
"""The interval between two writes of newer answers, a minute otherwise, is as short: the slower, the more of those."""
_PATIENCE = 150.0
_REFUSED = frozenset({400, 403, 422})
_WRITES = frozenset({"create", "update", "patch", "delete"})


async def test_a_story_ends_as_its_file_expects_within_ten_writes_of_infrastructure(
    real_server: real.Session, tmp_path: pathlib.Path, figure: Callable[[str], None]
) -> None:
    """The others are played at night (test_scenarios.py)."""
    story = scenario.load("happy-path")
    async with backend.Place(real_server).served() as served:
        log = real_server.server.audit()
        opening = box.opened(story, pace.FAST, tmp_path, served=served, settle_seconds=SETTLE_SECONDS)
        async with asyncio.timeout(_PATIENCE), opening as opened:
            player = play.Player(opened.api, opened.actors, pace.FAST, lambda _: None, operator=opened.operator)
            await player.play(story)
    asked = log.read()
    ours = [one for one in asked if one.user == real.OPERATOR.name and one.resource == kinds.INFRASTRUCTURES.plural]
    writes = [one for one in ours if one.verb in _WRITES and one.code < 300]
    figure(f"{story.name}: {len(writes)} writes of Infrastructure")
    intervals = (writes[-1].time - writes[0].time) / SETTLE_SECONDS
    assert len(writes) <= max(MOST_WRITES, 6 + intervals), _printed(writes)
    assert not _refused(asked)


def _refused(asked: list[audit.Event]) -> list[str]:
    """Return what a definition or the rights did not allow, whoever asked."""
    return sorted(
        {f"{one.agent.partition('/')[0]} {one.verb} {one.uri}: {one.code}" for one in asked if one.code in _REFUSED}
    )


def _printed(writes: list[audit.Event]) -> str:
    first = writes[0].time if writes else 0.0
    lines = (f"{one.time - first:6.1f} s {one.verb} {one.uri} {one.code}" for one in writes)
    return "\n".join((f"{len(writes)} writes of Infrastructure:", *lines))


async def test_infrastructure_is_the_default_one_with_our_part_in_it(real_server: real.Session) -> None:
    """As a cluster serves it after `manifests --crd-patch`, and every other kind as the module has it."""
    theirs = {one["metadata"]["name"]: one for one in openshift.payload()}
    async with clients.Client(real_server.access(), "administrator") as api:
        served = await api.get(kinds.DEFINITIONS, crd.NAME)
        names = {one["metadata"]["name"] for one in await api.list(kinds.DEFINITIONS)}
    spec, status = (_properties(served, part) for part in ("spec", "status"))
    assert theirs[crd.NAME]["metadata"]["annotations"]["release.openshift.io/feature-set"] == "Default"
    assert set(spec) - set(_properties(theirs[crd.NAME], "spec")) == {crd.DESIRED}
    assert set(status) - set(_properties(theirs[crd.NAME], "status")) == {crd.RECORD}
    assert set(theirs) <= names
    without = [
        name
        for name, one in theirs.items()
        if "api-approved.openshift.io" not in one["metadata"].get("annotations", {})
    ]
    assert sorted(without) == sorted(openshift.STAND_INS)


def _properties(definition: dict[str, Any], part: str) -> dict[str, Any]:
    (version,) = definition["spec"]["versions"]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"][part]["properties"]
    return found
