"""Completed implies that every convergence check is Met, or accepted for this very attempt after its deadline.

Held for whatever happens in whatever order: operands that come and go, entries for this attempt and others, time that
passes, a record that is lost, requests that are cancelled and made again. The model beside it knows only what was asked
for and when.
"""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from topology_api.vocabulary import CheckName, CheckStatus, Phase, Stage
from topology_controller.decide.decision import Step
from topology_controller.definitions.registry import ACCEPTABLE_CHECKS
from topology_controller.observe import facts

from . import worlds

if TYPE_CHECKING:
    from topology_api.types import TopologyTransition

HOUR = timedelta(hours=1)
PINNED = facts.IngressController(1, 1)
DOWN = worlds.etcd(8, EtcdMembersDegraded="True")


class Accepting(RuleBasedStateMachine):
    """One cluster, its operator's decisions written at once, and somebody who accepts what they like."""

    def __init__(self) -> None:
        super().__init__()
        self.now = worlds.NOW
        self.count = 0
        self.spoilt: dict[str, Any] = {"ingress_controller": PINNED}
        self.entries: dict[str, facts.Acceptance] = {}
        self.desired: str | None = "HighlyAvailable"
        self.record: TopologyTransition | None = None
        self.own = worlds.own()
        self.moved = False
        self.asked_late: set[tuple[str, str]] = set()
        self.look()

    def known(self) -> facts.Facts:
        known = worlds.converged(worlds.healthy(self.now)) if self.moved else worlds.healthy(self.now)
        here = worlds.HA if self.moved else worlds.SNO
        known = worlds.recorded(
            known,
            self.record,
            desired=self.desired,
            control_plane=here.control_plane,
            infrastructure=here.infrastructure,
        )
        acceptances = facts.Acceptances(tuple(self.entries[name] for name in sorted(self.entries)))
        return dataclasses.replace(known, own_operator=self.own, acceptances=acceptances, **self.spoilt)

    def look(self) -> None:
        """Let the operator decide until it has nothing more to write."""
        self.remember()
        for _ in range(4):
            found = worlds.decide(self.known(), worlds.term(next_attempt=f"attempt-{self.count}"), self.now)
            if found.record is not None and found.record.phase is Phase.ADMITTING:
                attempt = found.record.attempt
                live = dataclasses.replace(worlds.recorded(self.known(), found.record), live=True)
                found = worlds.decide(live, worlds.term(attempt=attempt), self.now)
                self.count += 1
            self.moved = self.moved or Step.CHANGE in found.steps
            if found.record is None or found.record == self.record:
                return
            self.record = found.record
            self.own = worlds.copy_of(found.record)

    def remember(self) -> None:
        """What is asked for now, by the model: only past the deadline of the attempt that is under way."""
        record = self.record
        if record is not None and record.admitted_time is not None and self.now >= record.admitted_time + HOUR:
            self.asked_late |= {(one.check, one.attempt) for one in self.entries.values() if not one.wrong}

    @initialize(minutes=st.sampled_from([1, 61, 61]))
    def the_cluster_has_followed_but_for_the_router(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)
        self.look()

    @rule(seconds=st.sampled_from([61, 3600]))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)
        self.look()

    @rule(what=st.sampled_from(["ingress_controller", "etcd", "etcd"]))
    def something_is_spoilt_or_mended(self, what: str) -> None:
        if what in self.spoilt:
            del self.spoilt[what]
        else:
            self.spoilt[what] = PINNED if what == "ingress_controller" else DOWN
        self.look()

    @rule(
        check=st.sampled_from([*[CheckName.ROUTER_REPLICAS] * 4, CheckName.CONSOLE_REPLICAS, CheckName.ETCD_HEALTHY]),
        attempt=st.sampled_from([None, 0, 0, 1]),
        wrong=st.sampled_from(["", "", "", "nonsense"]),
    )
    def somebody_accepts(self, check: str, attempt: int | None, wrong: str) -> None:
        under_way = self.record.attempt if self.record is not None else None
        named = under_way or "no-attempt" if attempt is None else f"attempt-{attempt}"
        self.entries[check] = facts.Acceptance(str(check), named, wrong=wrong)
        self.look()

    @rule()
    def everything_that_was_asked_for_is_taken_out(self) -> None:
        self.entries = {}
        self.look()

    @precondition(lambda self: self.moved)
    @rule()
    def a_writer_drops_the_record(self) -> None:
        self.record = None
        self.look()

    @precondition(lambda self: self.record is not None and self.record.phase is Phase.COMPLETED)
    @rule()
    def it_is_all_begun_again(self) -> None:
        """The request is removed, and somebody sets the cluster back: the next request is another attempt."""
        self.desired = None
        self.look()
        self.moved, self.desired = False, "HighlyAvailable"
        self.look()

    @invariant()
    def completed_means_met_or_accepted_in_time_for_this_attempt(self) -> None:
        record = self.record
        if record is None:
            return
        accepted = {one.name for one in record.accepted}
        assert accepted <= set(ACCEPTABLE_CHECKS)
        if record.phase in {Phase.CONVERGING, Phase.COMPLETED}:
            early = [name for name in accepted if (name, record.attempt) not in self.asked_late]
            assert not early, f"{early} of {record.attempt}; asked for in time: {self.asked_late}"
        if record.phase is Phase.COMPLETED:
            checks = [one for one in record.checks if one.stage is Stage.CONVERGENCE]
            left = [one.name for one in checks if one.status is not CheckStatus.MET and one.name not in accepted]
            assert not left


Accepting.TestCase.settings = settings(
    max_examples=40, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
test_in_any_order = Accepting.TestCase
