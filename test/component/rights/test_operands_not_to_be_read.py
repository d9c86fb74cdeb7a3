"""Operands that the operator may not look at: nothing is admitted before the change, and nothing is Completed after it.

The rights are those that were made from the operand matrix, and so is what has to be seen: the object is named before
the change, and after it by the check that the matrix has it under. One operator sees all that is taken away of one
check, one after the other, because its watches are opened with a request and closed with its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from test import sentences
from test.component import world as worlds
from test.component.rights import grants, restricted_world
from topology_api.vocabulary import AdvisoryName
from topology_controller import bindata
from topology_controller.definitions import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from test.component.rights.grants import Grant
    from test.component.rights.restricted_world import RestrictedWorld

MATRIX = load.load(bindata.root() / "transitions").matrix


@dataclass(frozen=True, slots=True)
class Looked:
    """Something of the matrix that is looked at: its key there, the check or advisory it is for, and its rights."""

    key: str
    check: str
    rights: tuple[Grant, ...]

    @classmethod
    def at(cls, key: str, plural: str, namespace: str, name: str, check: str) -> Looked:
        resource, _, group = plural.partition(".")
        found = [one for one in grants.OPERANDS if (one.group, one.resource, one.name) == (group, resource, name)]
        return cls(key, check, tuple(one for one in found if one.namespace in {"", namespace}))


def looked_at() -> Iterator[Looked]:
    for group in MATRIX.groups:
        check = group.check.value
        for one in group.operands:
            yield Looked.at(one.key, one.plural, one.namespace or "", one.name, check)
        if (managed := group.managed_by) is not None:
            yield Looked.at(managed.key, managed.resource, "", managed.name, check)
    for reader in MATRIX.startup_readers:
        yield Looked.at(reader.key, "pods", reader.namespace, "", AdvisoryName.TOPOLOGY_READ_AT_START.value)


# Without rights here is what has them by hand: etcd and the router are looked at for other reasons too.
ALL = [one for one in looked_at() if one.rights]


def verb(name: str) -> list[Grant]:
    return [one for one in grants.OPERANDS if one.verb == name]


def test_every_right_made_from_the_matrix_is_here_and_is_for_reading() -> None:
    assert sorted(str(grant) for one in ALL for grant in one.rights) == sorted(map(str, grants.OPERANDS))
    for one in ALL:
        assert {grant.verb for grant in one.rights} - {"get"} == {"list", "watch"}, one
    assert [one.key for one in looked_at() if not one.rights] == [
        "etcds.operator.openshift.io/cluster",
        "ingresscontrollers.operator.openshift.io/openshift-ingress-operator/default",
    ]


CHECKS = {check: [one for one in ALL if one.check == check] for check in dict.fromkeys(one.check for one in ALL)}


async def test_nothing_is_admitted_without_the_right_to_look_at_an_operand(staged: RestrictedWorld) -> None:
    (one,) = CHECKS["KubeSchedulerRevision"]
    operator = await staged.idle_operator()
    for grant in one.rights:
        await staged.take(grant)
        await staged.ask_for()
        await restricted_world.waits_for(staged, operator, grant)
        assert [event for event in staged.refused() if grant.covers(event)], f"{grant}: was not even tried"
        await staged.ask_for(None)
        await staged.until_phase("Idle")
        await staged.give_back()
    assert worlds.MOVED not in staged.operands.history
    assert not [event for event in staged.refused() if not any(grant.covers(event) for grant in one.rights)]


async def test_after_the_change_each_check_names_the_operands_that_may_not_be_read(staged: RestrictedWorld) -> None:
    """The rights are lost between two leaders: the second reports what it cannot tell, and finishes with them."""
    staged.operands.on = False
    await staged.ask_for()
    first = await staged.operator()
    await staged.until_phase("Converging")
    await staged.take(*verb("list"))
    await first.stop()
    second = await staged.operator("operator-b", wait=False)
    for group in MATRIX.groups:
        mine = [grant for one in ALL for grant in one.rights if (one.check, grant.verb) == (group.check, "list")]
        if not mine:
            continue
        check = await staged.until_check(group.check.value, "Unknown", stage="Convergence")
        assert sentences.FORBIDDEN in check["message"], check
        # Where a configuration says whether there is anything at all, that alone is named as long as it is not known.
        unnamed = [str(grant) for grant in mine if grant.what not in check["message"]]
        assert not unnamed or (group.managed_by is not None and len(unnamed) < len(mine)), (unnamed, check)
    code, text = await second.ask("/readyz")
    assert code == 500
    assert not [str(one) for one in verb("list") if one.what not in text], text
    assert await staged.pair() == worlds.MOVED
    await staged.give_back()
    await staged.operands.go_on()
    await staged.completed_once(seconds=30.0)
