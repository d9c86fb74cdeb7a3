"""Hypothesis chooses what happens to a cluster and its operators; after each step every promise is checked.

The rules are thin: what each does is in `stage`. They are chosen so that most examples get somewhere (one rule makes
all evidence good and the request at once, another lets everybody follow), because a machine that never moves the
topology proves nothing; `Reached` counts how far the examples came by themselves. At the end of each example everything
is made good, and the request has to come true.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import hypothesis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from . import server as servers
from . import world as worlds
from .client import Harm, Sort
from .judge import BrokenError
from .stage import HAPPENINGS, Stage

if TYPE_CHECKING:
    from .operators import Process
    from .server import Key

STORY = hypothesis.settings(stateful_step_count=40, deadline=None, database=None, report_multiple_bugs=False)
"""What an example is like, whether a promise or a mutation is looked at."""


@dataclasses.dataclass(slots=True)
class Reached:
    """How far examples came before everything was made good, and how much work that was."""

    examples: int = 0
    steps: int = 0
    admitted: int = 0
    changed: int = 0
    converged: int = 0
    refused: int = 0
    changes: int = 0

    def add(self, stage: Stage, steps: int) -> None:
        """Count an example."""
        tally = stage.judge.tally
        self.examples += 1
        self.steps += steps
        self.admitted += tally.admitted > 0
        self.changed += tally.changed > 0
        self.converged += tally.converged > 0
        self.refused += tally.refused > 0
        self.changes += tally.changed


def _harms(keys: tuple[Key, ...]) -> list[tuple[Key, str]]:
    return [(key, name) for key in keys for name in worlds.harms(key)]


_ANY = worlds.World(worlds.TRANSITIONS.definitions[-1])
_STARTS = [
    (one.name, infrastructure) for one in worlds.TRANSITIONS.definitions for infrastructure in one.source.infrastructure
]
# Most clusters are single nodes that become compact ones.
STARTS = st.sampled_from([("sno-to-ha-compact", "SingleReplica")] * 3 + _STARTS)


def _one_of_each_kind(keys: tuple[Key, ...]) -> st.SearchStrategy[tuple[Key, str]]:
    """One harm; each kind of object is as likely as any other, however many of it there are."""
    by_kind: dict[str, list[Key]] = {}
    for key in keys:
        by_kind.setdefault(key[0], []).append(key)
    return st.one_of([st.sampled_from(_harms(tuple(of_kind))) for of_kind in by_kind.values()])


BROKEN_EVIDENCE = _one_of_each_kind(_ANY.evidence)
BROKEN_FOLLOWERS = _one_of_each_kind(_ANY.followers)
LEFT_BEHIND = st.sampled_from(
    (
        (worlds.MASTER_POOL, "at a single node's configuration"),
        (worlds.WORKER_POOL, "at a single node's configuration"),
        (worlds.ROUTER, "one router"),
        (worlds.ETCD, "a revision behind"),
        (servers.VERSION, "upgrading"),
    )
)
"""What others do not do by themselves, or only later."""
FOLLOWERS = st.sampled_from(_ANY.followers)
EVIDENCE = st.sampled_from(_ANY.evidence)
WHICH = st.integers(0, 1)
MOMENTS = st.sampled_from(("the beginning", "Idle", "Pending", "Admitting", "Converging", "Completed", "by hand"))
"""Of backups: as the record last came to a phase, or when one was taken."""
HAPPENING = st.sampled_from([name for name in HAPPENINGS if name])
SORTS = st.sampled_from(Sort)
HARMS = st.sampled_from(Harm)
_MEANWHILE = st.sampled_from(
    (
        "somebody writes Infrastructure", "the request is cancelled", "the request becomes DualReplica",
        "the record is dropped", "the record is dropped", "a member is lost", "the control plane is hosted",
    )
)  # fmt: skip
TRAPS = st.one_of(
    st.tuples(st.sampled_from((Sort.READ, Sort.CHANGE)), st.just(Harm.INTERJECTED), st.integers(0, 8), _MEANWHILE),
    st.tuples(st.just(Sort.READ), st.sampled_from((Harm.SLOW, Harm.LOST)), st.integers(0, 8), st.just("")),
    st.tuples(SORTS, HARMS, st.integers(0, 8), HAPPENING),
)
"""What may happen to a request on the way from the request to the change."""


LATE_NEWS = st.one_of(
    st.sampled_from(
        (
            "workers join", "the workers leave", "the native controller appears", "the control plane is hosted",
            "a newer version writes the record",
        )
    ),
    HAPPENING,
)  # fmt: skip
LATE_KINDS = st.sampled_from(sorted({key[0] for key in _ANY.objects()} | {servers.OPERATOR[0]}))


class Machine(RuleBasedStateMachine):
    """One example is one cluster."""

    reached: ClassVar[Reached] = Reached()
    stage: Stage | None = None

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.failed = False

    @property
    def on(self) -> Stage:
        """The stage, once there is one."""
        assert self.stage is not None
        return self.stage

    @initialize(start=STARTS, second=st.booleans())
    def begin(self, start: tuple[str, str], second: bool) -> None:  # noqa: FBT001 - drawn by name
        self.stage = Stage(*start).__enter__()
        self.stage.start()
        if second:
            self.stage.start()

    # Users and the cluster.
    @rule()
    def everything_is_ready_and_requested(self) -> None:
        self.on.mend_evidence()
        self.on.ask_for(self.on.world.target.control_plane)

    @rule()
    def it_goes_on(self) -> None:
        self.on.go_on()

    @rule(seconds=st.sampled_from((1.0, 62.0)))
    def it_goes_on_and_time_passes(self, seconds: float) -> None:
        self.on.go_on()
        self.on.pass_time(seconds)

    # Near misses: everything is right but for one thing.
    @rule(broken=BROKEN_EVIDENCE)
    def all_is_ready_but_one_thing(self, broken: tuple[Key, str]) -> None:
        self.on.go_back()
        self.on.mend_evidence()
        self.on.harm(*broken)
        self.on.ask_for(self.on.world.target.control_plane)

    @rule(trap=TRAPS)
    def the_admission_meets_a_trap(self, trap: tuple[Sort, Harm, int, str]) -> None:
        self.on.go_back()
        self.on.mend_evidence()
        self.on.fault(*trap)
        self.on.ask_for(self.on.world.target.control_plane)
        self.on.pass_time(4.0)

    @rule(what=LATE_NEWS, seconds=st.sampled_from((4.0, 70.0, 130.0)))
    def the_last_read_shows_what_no_watch_does(self, what: str, seconds: float) -> None:
        self.on.go_back()
        self.on.mend_evidence()
        self.on.late_news(what)
        self.on.ask_for(self.on.world.target.control_plane)
        self.on.pass_time(seconds)

    @precondition(lambda self: self.stage is not None and self.stage.server.phase == "Converging")
    @rule(broken=BROKEN_FOLLOWERS | LEFT_BEHIND)
    def all_have_followed_but_one(self, broken: tuple[Key, str]) -> None:
        self.on.calm()
        self.on.go_on()
        self.on.harm(*broken)
        self.on.pass_time(64.0)

    @rule()
    def all_is_ready_where_the_native_controller_is(self) -> None:
        self.on.go_back()
        self.on.set_native(active=True)
        self.on.mend_evidence()
        self.on.ask_for(self.on.world.target.control_plane)

    @rule(seconds=st.sampled_from((1.0, 62.0)))
    def the_native_controller_has_changed_it_and_goes(self, seconds: float) -> None:
        self.on.go_back()
        self.on.mend_evidence()
        self.on.change_by_native()
        self.on.pass_time(seconds)

    @precondition(lambda self: self.stage is not None and self.stage.server.phase == "Converging")
    @rule()
    def the_record_is_lost(self) -> None:
        self.on.drop_record()

    @precondition(lambda self: self.stage is not None and self.stage.server.phase == "Converging")
    @rule(key=st.sampled_from((worlds.MASTER_POOL, worlds.WORKER_POOL, worlds.CUSTOM_POOL)))
    def a_pool_has_not_followed(self, key: Key) -> None:
        self.on.calm()
        self.on.go_on()
        self.on.harm(key, "at a single node's configuration")
        self.on.pass_time(64.0)

    @precondition(lambda self: self.stage is not None and self.stage.server.phase == "Converging")
    @rule(key=FOLLOWERS, seconds=st.sampled_from((5.0, 25.0, 40.0, 55.0)), blind=st.booleans())
    def quiet_is_disturbed(self, key: Key, seconds: float, blind: bool) -> None:  # noqa: FBT001 - drawn by name
        self.on.calm()
        self.on.go_on()
        self.on.pass_time(seconds)
        if blind and (leader := self.on.leader):
            leader.client.lose()
        else:
            for name in list(worlds.harms(key))[:1]:
                self.on.harm(key, name)
                self.on.settle()
                self.on.mend(key)
        self.on.pass_time(64.0 - seconds)

    @rule(topology=st.sampled_from((None, "target", "target", "DualReplica", "SingleReplica")))
    def ask_for(self, topology: str | None) -> None:
        self.on.ask_for(self.on.world.target.control_plane if topology == "target" else topology)

    @rule()
    def evidence_is_good(self) -> None:
        self.on.mend_evidence()

    @rule(broken=BROKEN_EVIDENCE)
    def evidence_breaks(self, broken: tuple[Key, str]) -> None:
        self.on.harm(*broken)

    @rule(key=EVIDENCE)
    def evidence_is_mended(self, key: Key) -> None:
        if key in self.on.world.evidence:
            self.on.mend(key)

    @rule()
    def everybody_follows(self) -> None:
        self.on.follow()

    @rule(key=FOLLOWERS)
    def somebody_follows(self, key: Key) -> None:
        if key in self.on.world.followers:
            self.on.round += 1
            self.on.mend(key)

    @rule(broken=BROKEN_FOLLOWERS)
    def a_follower_breaks(self, broken: tuple[Key, str]) -> None:
        self.on.harm(*broken)

    @rule(what=HAPPENING)
    def something_happens(self, what: str) -> None:
        self.on.interject(what)

    # Backups.
    @rule()
    def a_backup_is_taken(self) -> None:
        self.on.back_up()

    @rule(moment=MOMENTS, raised=st.booleans(), away=st.sampled_from((3.0, 20.0)))
    def the_store_is_put_back(self, moment: str, raised: bool, away: float) -> None:  # noqa: FBT001 - drawn by name
        self.on.put_back(moment, raised=raised, away=away)

    @rule(moment=MOMENTS, raised=st.booleans(), away=st.sampled_from((3.0, 20.0, 40.0)), asked=st.booleans())
    def the_store_is_put_back_alone(self, moment: str, raised: bool, away: float, asked: bool) -> None:  # noqa: FBT001 - drawn by name
        self.on.put_back_alone(moment, raised=raised, away=away, asked=asked)

    # Time.
    @rule(seconds=st.sampled_from((0.2, 1.0, 2.5, 5.0, 10.0, 31.0)))
    def a_moment_passes(self, seconds: float) -> None:
        self.on.pass_time(seconds)

    @rule(seconds=st.sampled_from((58.0, 61.0, 62.0, 62.0, 70.0)))
    def a_minute_passes(self, seconds: float) -> None:
        self.on.pass_time(seconds)

    @rule(seconds=st.sampled_from((138.0, 160.0, 301.0, 361.0, 961.0, 3700.0, 7300.0)))
    def much_time_passes(self, seconds: float) -> None:
        self.on.pass_time(seconds)

    @rule(which=WHICH, seconds=st.sampled_from((-300, -61, 61, 300)))
    def a_clock_jumps(self, which: int, seconds: int) -> None:
        if process := self._process(which):
            self.on.jump(process, seconds)

    # The way to the server.
    @rule(sort=SORTS, harm=HARMS, skip=st.integers(0, 9), what=HAPPENING)
    def a_request_will_fare_badly(self, sort: Sort, harm: Harm, skip: int, what: str) -> None:
        self.on.fault(sort, harm, skip, what)

    @rule(which=WHICH)
    def watches_are_late(self, which: int) -> None:
        if process := self._process(which):
            process.client.delay()

    @rule(which=WHICH, kind=LATE_KINDS)
    def one_watch_is_late(self, which: int, kind: str) -> None:
        if process := self._process(which):
            process.client.delay_one(kind)

    @rule(which=WHICH)
    def watches_are_lost(self, which: int) -> None:
        if process := self._process(which):
            process.client.lose()

    @rule(which=WHICH)
    def watches_come_back(self, which: int) -> None:
        if process := self._process(which):
            process.client.come_back()

    @rule(which=WHICH, cut=st.booleans())
    def the_server_is_out_of_reach(self, which: int, cut: bool) -> None:  # noqa: FBT001 - drawn by name
        if process := self._process(which):
            process.client.partitioned = cut

    @rule()
    def late_requests_arrive(self) -> None:
        self.on.deliver_late()

    # Operators.
    @precondition(lambda self: self.stage is not None and len(self.stage.processes) < 2)
    @rule()
    def an_operator_starts(self) -> None:
        self.on.start()

    @rule(which=WHICH, politely=st.booleans())
    def an_operator_ends(self, which: int, politely: bool) -> None:  # noqa: FBT001 - drawn by name
        if process := self._process(which):
            self.on.kill(process, release=politely)
            self.on.start()

    @rule(which=WHICH)
    def an_operator_freezes(self, which: int) -> None:
        if process := self._process(which):
            process.client.freeze()

    @rule()
    def frozen_operators_wake_up(self) -> None:
        for process in list(self.on.processes):
            self.on.thaw(process)

    @rule()
    def all_is_calm(self) -> None:
        self.on.calm()
        self.on.pass_time(35.0)

    @invariant()
    def promises_hold(self) -> None:
        if self.stage is None:
            return
        self.steps += 1
        try:
            self.stage.settle()
            self.stage.check()
        except BaseException:
            self.failed = True
            raise

    def teardown(self) -> None:
        stage = self.stage
        if stage is None:
            return
        try:
            if not self.failed and not stage.judge.broken:
                self.reached.add(stage, self.steps)
                stage.arrive()
        except BrokenError as error:
            error.add_note("(after everything was made good)")
            raise
        finally:
            stage.__exit__()

    def _process(self, which: int) -> Process | None:
        found = self.on.processes
        return found[which] if which < len(found) else None


RULES = frozenset(name for name, found in vars(Machine).items() if hasattr(found, "hypothesis_stateful_rule"))
"""Names of all rules, for those who want fewer of them."""
