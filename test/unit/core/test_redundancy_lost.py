"""After the change, a node or a voter that it rested on and that is gone is a problem with the first look."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from topology_api.vocabulary import ConditionType, Phase, ProblemReason, Reason
from topology_controller.decide import leader
from topology_controller.decide.decision import Step
from topology_controller.observe import facts

from . import worlds
from .outcomes import F, T, said

if TYPE_CHECKING:
    from topology_api.types import TopologyTransition
    from topology_controller.decide.decision import Decision

SECOND = timedelta(seconds=1)
NODES = tuple(worlds.node(index) for index in range(3))


def voters(count: int) -> facts.EtcdEndpoints:
    return facts.EtcdEndpoints(tuple(zip(worlds.MEMBERS[:count], worlds.ADDRESSES[:count], strict=True)))


def nodes(*last: facts.Node) -> dict[str, Any]:
    """Two nodes that are well, and these."""
    return {"control_plane_nodes": (*NODES[:2], *last)}


class Looking:
    """A leader that looks at the cluster after the change; `record` is what is stored."""

    def __init__(self, record: TopologyTransition | None = None) -> None:
        self.record = record or worlds.converging()
        self.begin()

    def begin(self, at: timedelta = timedelta()) -> None:
        """Another leader, which remembers nothing."""
        self.leader = worlds.term(since=worlds.NOW + at)

    def look(self, after: timedelta = SECOND, **changes: Any) -> Decision:
        now = worlds.NOW + after
        known = worlds.moved(worlds.converged(worlds.healthy(now)), self.record)
        known = dataclasses.replace(known, **changes)
        self.leader = leader.looked(self.leader, known, (now, after.total_seconds()), watching=True, missed=False)
        decision = worlds.decide(known, self.leader, now)
        self.leader = leader.decided(self.leader, decision, now)
        assert decision.record is not None
        if Step.SAVE in decision.steps:
            before, self.record = self.record, decision.record
            self.leader = leader.wrote(self.leader, self.record, before, now, next_attempt="next")
        return decision


def reason(decision: Decision) -> ProblemReason | None:
    assert decision.record is not None
    return None if decision.record.problem is None else decision.record.problem.reason


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        pytest.param(nodes(), "node-2 (is not a control-plane node any more)", id="a node is gone"),
        pytest.param(nodes(worlds.node(2, ready="False")), "node-2 (Ready=False)", id="a node fails"),
        pytest.param(nodes(worlds.node(2, ready="Unknown")), "node-2 (Ready=Unknown)", id="a node is silent"),
        pytest.param(nodes(worlds.node(2, deleting=True)), "node-2 (is being deleted)", id="a node is deleted"),
        pytest.param({"etcd_endpoints": voters(2)}, "node-2 (has no voting etcd member)", id="two voters"),
        pytest.param({"etcd_endpoints": voters(1)}, "node-1 (has no voting etcd member), node-2", id="one voter"),
        pytest.param(
            {"etcd_endpoints": voters(1), **nodes(worlds.node(2, ready="False"))}, "node-2 (Ready=False)", id="both"
        ),
    ],
)
def test_what_is_gone_is_a_problem_with_the_first_look(changes: dict[str, Any], named: str) -> None:
    first = Looking().look(**changes)
    assert first.phase is Phase.CONVERGING
    assert reason(first) is ProblemReason.REDUNDANCY_LOST
    assert Step.SAVE in first.steps, "it does not wait for the minute"
    assert first.record is not None
    assert first.record.problem is not None
    assert named in first.record.problem.message
    assert first.record.problem.since == worlds.NOW + SECOND
    assert said(first, ConditionType.DEGRADED) == (T, Reason.REDUNDANCY_LOST)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(nodes(worlds.node(2, cordoned=True)), id="cordoned"),
        pytest.param(nodes(worlds.node(2, ready="False", cordoned=True)), id="it restarts for its machine config"),
        pytest.param(nodes(worlds.node(2, pressure=("DiskPressure",))), id="not eligible, and there"),
        pytest.param({"etcd_endpoints": worlds.BROKEN}, id="not known"),
    ],
)
def test_what_a_roll_out_does_and_what_is_not_known_is_none(changes: dict[str, Any]) -> None:
    first = Looking().look(**changes)
    assert reason(first) is None
    assert said(first, ConditionType.DEGRADED)[0] is F


def test_it_ends_a_minute_after_they_are_back_and_does_not_flap() -> None:
    looking = Looking()
    gone = nodes(worlds.node(2, ready="False"))
    looking.look(SECOND, **gone)
    saved = 0
    for second in range(2, 40):
        found = looking.look(second * SECOND, **(gone if second % 3 else {}))
        saved += Step.SAVE in found.steps
        assert reason(found) is ProblemReason.REDUNDANCY_LOST
    assert saved == 1, "that all checks are Met, once: what takes it back is over within ten seconds"
    # It was last away in second 38.
    late = looking.look(60 * SECOND)
    assert reason(late) is ProblemReason.REDUNDANCY_LOST
    assert late.look_again is not None
    assert late.look_again <= 38.1, "time alone ends it"
    ended = looking.look(98 * SECOND)
    assert ended.phase is Phase.COMPLETED or reason(ended) is None
    assert Step.SAVE in ended.steps


@pytest.mark.parametrize("changes", [nodes(), {"etcd_endpoints": worlds.BROKEN}], ids=["seen again", "not known"])
def test_it_lasts_over_a_restart(changes: dict[str, Any]) -> None:
    looking = Looking()
    first = looking.look(**nodes())
    assert first.record is not None
    looking.begin(10 * SECOND)
    again = looking.look(11 * SECOND, **changes)
    assert again.record is not None
    assert again.record.problem is not None
    assert again.record.problem == first.record.problem
