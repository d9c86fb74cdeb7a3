"""Each right that was written by hand is taken away: what people see then, and that the topology does not move.

The rights come from the rendered manifests, the stories from `sights`: a right without a story fails here by its name.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from test.component import polling
from test.component import world as worlds
from test.component.rights import grants, sights

if TYPE_CHECKING:
    from test.component.rights.grants import Grant
    from test.component.rights.stage import Stage

SHORT_LEASE = ("--lease-duration", "4", "--renew-deadline", "3", "--retry-period", "1")
ONE_BY_ONE = [one for one in grants.BY_HAND if str(one) not in sights.LOOKED_AT_AGAIN]


def named(verb: str, resource: str) -> Grant:
    return next(one for one in grants.ALL if (one.verb, one.resource) == (verb, resource))


def test_every_right_has_a_story_and_every_story_its_right() -> None:
    assert sorted(map(str, ONE_BY_ONE)) == sorted(sights.SIGHTS)


@pytest.mark.parametrize("grant", ONE_BY_ONE, ids=str)
async def test_without_the_right_to(staged: Stage, grant: Grant) -> None:
    sight = sights.SIGHTS[str(grant)]
    await staged.take(grant)
    staged.through_proxy = sights.through_proxy(sight.story)
    await sight.story(staged, grant)
    assert await staged.pair() == (worlds.MOVED if sight.moves else worlds.INSTALLED)
    assert sights.has_moved(staged) is sight.moves
    refused = staged.refused()
    strangers = {f"{one.verb} {one.resource} {one.name}" for one in refused if not grant.covers(one)}
    assert refused, "what was taken away was not even tried"
    assert not strangers


async def test_a_right_that_is_given_back_heals_what_was_missing_without_a_restart(staged: Stage) -> None:
    taken = named("get", "etcds"), named("list", "schedulers")
    await staged.take(*taken)
    await staged.wish()
    operator = await staged.operator(wait=False)
    await staged.until_check("MastersSchedulable", "Unknown")
    await staged.give_back()
    await staged.completed_once(seconds=20.0)
    await operator.ready()
    assert operator.alive


async def test_a_leader_that_may_not_renew_leaves_with_exit_code_3(staged: Stage) -> None:
    operator = await staged.operator(lease=SHORT_LEASE)
    await operator.said("leading as")
    await staged.take(named("update", "leases"))
    assert await operator.ended(8.0) == 3
    assert "not renewed for 3 s" in operator.words()


async def test_rights_that_are_refused_are_asked_for_less_and_less_often(staged: Stage) -> None:
    """A list that is forbidden from the beginning is tried again after 1, 2, 4 ... seconds, not in a loop."""
    grant = named("list", "etcds")
    await staged.take(grant)
    await staged.wish()
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
