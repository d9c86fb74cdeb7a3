"""What is found where all is well: the facts, the way to them, and that the answer is Met."""

from __future__ import annotations

import pytest

from test.etcd import asking, conftest
from topology_controller.observe import facts

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_every_member_is_heard_for_itself(three):
    answer = await asking.ask(three)
    ids = await asking.ids(three)
    leader = await three.leader()
    status = await three.client.status(leader.url)
    for name in conftest.THREE:
        voice = answer.voice(ids[name])
        assert voice == facts.EtcdVoice(
            endpoint=three.members[name].url,
            member=ids[name],
            cluster=voice.cluster,
            members=tuple(sorted((facts.EtcdMember(id_, one, learner=False) for one, id_ in ids.items()), key=by_id)),
            confirmed=True,
            leader=ids[leader.name],
            term=status.term,
            learner=False,
            healthy=True,
            errors=(),
        )


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (lambda data: dict(list(data.items())[:2]), asking.UNMET),
        (lambda data: {**data, "abc": "192.168.126.20"}, asking.UNMET),
        (lambda data: {f"{number:x}": where for number, where in enumerate(data.values(), 1)}, asking.UNMET),
        (lambda data: {f"0{key}": where for key, where in data.items()}, asking.UNKNOWN),
        (lambda data: {f"master-{n}": where for n, where in enumerate(data.values())}, asking.UNKNOWN),
        (lambda _: {}, asking.UNMET),
    ],
    ids=["one is not published", "one too many is", "others are", "padded ids", "names", "nothing"],
)
async def test_the_members_of_another_cluster_prove_nothing(three, change, status):
    answer = await asking.ask(three, data=change(await asking.published(three)))
    assert answer.status is status, answer
    assert "etcd-endpoints" in answer.message


def by_id(member):
    return member.id
