"""Each right that was written by hand is taken away: what people see then, and that the topology does not move.

The rights come from the rendered manifests, the stories from `missing_rights`: a right without a
story fails here by its name.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from test import polling, sentences
from test.component import machine_world
from test.component import world as worlds
from test.component.rights import grants, missing_rights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from test.component.rights.grants import Grant
    from test.component.rights.restricted_world import RestrictedWorld

SHORT_LEASE = ("--lease-duration", "4", "--renew-deadline", "3", "--retry-period", "1")
ONE_BY_ONE = [one for one in grants.BY_HAND if one.verb != "get" or one.what not in missing_rights.LOOKED_AT_AGAIN]


def each() -> Iterator[Any]:
    """Yield every right; of those with the same story all but the first are for `make nightly`."""
    seen = set()
    for grant in ONE_BY_ONE:
        alike = missing_rights.SIGHTS[str(grant)].story.__qualname__
        yield pytest.param(grant, id=str(grant), marks=[pytest.mark.nightly] if alike in seen else [])
        seen.add(alike)


def unknown_without(verb: str) -> dict[Grant, tuple[str, ...]]:
    """Return the rights of a verb without which checks are Unknown, and those checks."""
    found = {grant: missing_rights.SIGHTS[str(grant)].checks for grant in ONE_BY_ONE if grant.verb == verb}
    return {grant: checks for grant, checks in found.items() if checks}


def named(verb: str, resource: str) -> Grant:
    return next(one for one in grants.ALL if (one.verb, one.resource) == (verb, resource))


def test_every_right_has_a_story_and_every_story_its_right() -> None:
    assert sorted(map(str, ONE_BY_ONE)) == sorted(missing_rights.SIGHTS)


@pytest.mark.parametrize("grant", list(each()))
async def test_without_the_right_to(staged: RestrictedWorld, grant: Grant) -> None:
    sight = missing_rights.SIGHTS[str(grant)]
    await staged.take(grant)
    staged.through_proxy = missing_rights.through_proxy(sight.story)
    await sight.story(staged, grant)
    assert await staged.pair() == (worlds.MOVED if sight.moves else worlds.INSTALLED)
    assert missing_rights.has_moved(staged) is sight.moves
    refused = staged.refused()
    strangers = {f"{one.verb} {one.resource} {one.name}" for one in refused if not grant.covers(one)}
    assert refused, "what was taken away was not even tried"
    assert not strangers


@pytest.mark.nightly("get")
@pytest.mark.parametrize("verb", ["list", "get"])
async def test_without_any_right_to_read_evidence_each_check_is_unknown_and_names_its_objects(
    staged: RestrictedWorld, verb: str
) -> None:
    wanted = unknown_without(verb)
    await staged.take(*wanted)
    await staged.ask_for()
    operator = await staged.operator(wait=False)
    for name in {name for checks in wanted.values() for name in checks}:
        check = await staged.until_check(name, "Unknown")
        assert sentences.FORBIDDEN in check["message"], check
        assert any(grant.what in check["message"] for grant, checks in wanted.items() if name in checks), check
    if verb == "list":
        code, text = await operator.ask("/readyz")
        assert code == 500
        assert not [str(grant) for grant in wanted if grant.what not in text], text
    assert await staged.pair() == worlds.INSTALLED
    await staged.give_back()
    await staged.completed_once(seconds=20.0)


async def test_without_any_right_to_watch_evidence_nothing_is_admitted(staged: RestrictedWorld) -> None:
    taken = [one for one in ONE_BY_ONE if one.verb == "watch" and missing_rights.SIGHTS[str(one)].is_evidence]
    await staged.take(*taken)
    await staged.ask_for()
    operator = await staged.operator(wait=False)
    for grant in taken:
        await operator.said(f"cannot watch {grant.what}")
    await staged.until_condition("Progressing", "False", "PreflightUnmet")
    assert await staged.pair() == worlds.INSTALLED
    await staged.give_back()
    await staged.completed_once(seconds=20.0)


async def test_a_right_that_is_given_back_heals_what_was_missing_without_a_restart(staged: RestrictedWorld) -> None:
    taken = named("get", "etcds"), named("list", "schedulers")
    await staged.take(*taken)
    await staged.ask_for()
    operator = await staged.operator(wait=False)
    await staged.until_check("MastersSchedulable", "Unknown")
    await staged.give_back()
    await staged.completed_once(seconds=20.0)
    await operator.ready()
    assert operator.alive


async def test_a_leader_that_may_not_renew_leaves_with_exit_code_3(staged: RestrictedWorld) -> None:
    operator = await staged.operator(lease=SHORT_LEASE)
    await operator.said("leading as")
    await staged.take(named("update", "leases"))
    assert await operator.ended(8.0) == 3
    assert "not renewed for 3 s" in operator.words()


async def test_rights_that_are_refused_are_asked_for_less_and_less_often(staged: RestrictedWorld) -> None:
    """A list that is forbidden from the beginning is tried again after 1, 2, 4 ... seconds, not in a loop."""
    grant = named("list", "etcds")
    await staged.take(grant)
    await staged.ask_for()
    await staged.operator(wait=False)
    await staged.until_check("EtcdHealthy", "Unknown")

    def tries() -> list[float]:
        return [one.time for one in staged.refused() if grant.covers(one)]

    async def thrice() -> bool:
        return len(tries()) >= 3

    await polling.until("it was asked three times", thrice, 12.0)
    pauses = [after - before for before, after in itertools.pairwise(tries())]
    # One second, then two, each varied by a fifth.
    assert pauses[0] >= 0.8, pauses
    assert pauses[1] >= 1.6, pauses


@pytest.mark.parametrize("moment", ["from the beginning", "before the change"])
async def test_the_role_of_machines_taken_away_and_given_back_heals_without_a_restart(
    staged: RestrictedWorld, moment: str
) -> None:
    taken = [one for one in grants.ALL if one.namespace == machine_world.NAMESPACE]
    async with staged.machines():
        if moment == "from the beginning":
            await staged.take(*taken)
            await staged.ask_for()
            operator = await staged.operator(wait=False)
        else:
            staged.echo.on = False
            operator = await staged.idle_operator()
            await staged.ask_for()
            await staged.until_phase("Admitting")
            await staged.take(*taken)
            await staged.echo.go_on()
        check = await staged.until_check(machine_world.CHECK, "Unknown")
        assert named("list", "machines").what in check["message"], check
        assert sentences.FORBIDDEN in check["message"], check
        assert await staged.pair() == worlds.INSTALLED
        await staged.give_back()
        await staged.completed_once(seconds=20.0)
        assert operator.alive
        await operator.ready()
