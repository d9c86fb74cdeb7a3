"""Sequences that the machine has found, as short as they can be told; each was a fault of the operator."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from . import client, stage, world
from . import server as servers

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def following(seconds: int = 0) -> Iterator[stage.Stage]:
    """An operator that was asked `seconds` ago, and a cluster that follows."""
    with stage.Stage() as on:
        on.start()
        on.ask_for("HighlyAvailable")
        on.follow()
        on.pass_time(seconds)
        yield on


def test_a_clock_that_is_a_minute_behind_delays_no_look() -> None:
    """The etcd operator's lease is from the future for half a minute: Unknown. Then it is not, and that is seen."""
    with stage.Stage() as on:
        process = on.start()
        on.jump(process, -61)
        on.ask_for("HighlyAvailable")
        assert on.server.phase == "Pending"
        on.pass_time(35)
        assert on.server.phase == "Converging"


def test_a_leader_that_was_blind_watches_for_the_whole_settle_time_again() -> None:
    """All is Met and recorded; then every watch is lost for minutes. Nobody knows what happened meanwhile.

    While ClusterOperator topology cannot be read nothing is recorded either, so the checks keep their old times, the
    watches of the open request are closed, and the first look after they were opened again completes the transition.
    """
    with following(5) as on:
        (process,) = on.processes
        process.client.lose()
        on.pass_time(300)
        process.client.come_back()
        on.pass_time(45)
        assert on.server.phase == "Converging"
        on.pass_time(90)
        assert on.server.phase == "Completed"


@pytest.mark.parametrize(
    ("harm", "quiet", "rest"), [(client.Harm.REFUSED, 45, 20), (client.Harm.UNANSWERED, 60, 60)], ids=["lost", "unseen"]
)
def test_a_fall_that_was_never_recorded_is_no_quiet(harm: client.Harm, quiet: float, rest: float) -> None:
    """The router falls back while everything settles; the record of it is refused, and by the next try all is well.

    Or it gets no answer for a while: what comes and goes meanwhile is never looked at.
    """
    with following(40) as on:
        on.fault(client.Sort.SAVE, harm)
        on.harm(world.ROUTER, "one router")
        # It is written once it has lasted for ten seconds.
        on.pass_time(10.2)
        on.mend(world.ROUTER)
        if harm is client.Harm.UNANSWERED:
            on.pass_time(5)
            on.harm(world.ROUTER, "one router")
            on.mend(world.ROUTER)
        on.pass_time(quiet)
        assert on.server.phase == "Converging"
        on.pass_time(rest)
        assert on.server.phase == "Completed"


def test_a_lease_that_moves_no_more_is_seen_to_have_expired() -> None:
    """Its times are hours old, and it moved just now: Unknown. Once it has stood still for long it has expired."""
    with following(5) as on:
        on.harm(world.LEASE, "expired")
        on.settle()
        on.pass_time(962)
        on.check()
        answers = {check["name"]: check["status"] for check in on.copy["checks"] if check["stage"] == "Convergence"}
        assert answers["EtcdOperatorAlive"] == "Unmet"


def test_a_transition_is_stuck_when_nothing_is_new_and_an_accepted_check_is_recorded_at_once() -> None:
    """Three machines on platform None: two hours. Ten minutes without a new answer; then somebody accepts."""
    with following() as on:
        on.harm(world.ROUTER, "one router")
        on.pass_time(7150)
        on.check()
        assert "problem" not in on.server.record
        on.pass_time(100)
        on.check()
        assert on.server.record["problem"]["reason"] == "Stuck"
        on.accept()
        on.settle()
        on.check()
        assert [one["name"] for one in on.server.record["accepted"]] == ["RouterReplicas"]
        assert on.server.phase == "Converging"
        on.pass_time(62)
        on.check()
        assert on.server.phase == "Completed"


def test_a_pool_that_falls_back_after_leases_were_listed_leaves_nothing_due() -> None:
    """Pools have rolled out, the router has not: Leases are listed. Then a pool falls back: none are, nor looked for.

    The time of the next list stayed in the past, and the loop asked for a look at once, as long as that lasted.
    """
    with following() as on:
        on.harm(world.ROUTER, "one router")
        on.pass_time(65)
        on.harm(world.CUSTOM_POOL, "not all ready")
        on.pass_time(1300)
        on.check()
        on.mend(world.CUSTOM_POOL)
        on.mend(world.ROUTER)
        on.pass_time(62)
        assert on.server.phase == "Completed"


def test_templates_that_fail_for_a_minute_are_noticed_while_all_settles() -> None:
    """They begin to fail while everything is Met; that it has lasted a minute is seen then, and not at the end.

    Told it is ten seconds later, in record and report.
    """
    with following(10) as on:
        on.harm(world.CONTROLLER_CONFIG, "templates failing")
        on.pass_time(30)
        on.harm(world.ROUTER, "one router")
        on.settle()
        on.mend(world.ROUTER)
        on.pass_time(42)
        on.check()
        answers = {check["name"]: check["status"] for check in on.copy["checks"]}
        assert answers["MachineConfigControllerObserved"] == "Unmet"


def test_what_was_deleted_while_live_evidence_is_believed_is_reported_again_at_once() -> None:
    """A node fails while it is read live and is well again: until it is admitted anew, the block must stay reported."""
    with stage.Stage() as on:
        on.start()
        on.fault(client.Sort.READ, client.Harm.INTERJECTED, 0, "a node dies")
        on.ask_for("HighlyAvailable")
        on.mend(on.world.nodes[0])
        on.settle()
        assert on.server.phase == "Pending"
        on.server.delete(servers.OPERATOR)
        on.settle()
        on.check()
        assert on.server.objects[servers.OPERATOR]["status"]["extension"]["phase"] == "Pending"
        on.pass_time(70)
        assert on.server.phase == "Converging"


def test_a_request_made_while_the_record_is_lost_waits_for_what_has_begun() -> None:
    """No record forbids it then. The change has happened: that is completed first, the new request judged after it."""
    with stage.Stage() as on:
        leader = on.start()
        on.ask_for("HighlyAvailable")
        assert on.server.phase == "Converging"
        on.kill(leader, release=True)
        on.drop_record()
        on.ask_for("DualReplica")
        on.start()
        on.follow()
        on.pass_time(45)
        assert on.server.phase == "Converging"
        assert on.server.record["target"]["controlPlane"] == "HighlyAvailable"
        on.check()
        on.pass_time(45)
        assert on.server.phase == "Unsupported"
        assert on.server.pair == ("HighlyAvailable", "HighlyAvailable")
        on.arrive()


def test_a_transition_that_is_stuck_with_two_voters_says_so_in_degraded() -> None:
    """A member is lost for good: the record's problem is that of two voters, which comes before every other."""
    with following() as on:
        on.interject("a member is lost")
        on.pass_time(7300)
        on.check()
        assert on.server.record["problem"]["reason"] == "TwoVoters"
        conditions = on.server.objects[servers.OPERATOR]["status"]["conditions"]
        degraded = next(each for each in conditions if each["type"] == "Degraded")
        assert (degraded["status"], degraded["reason"]) == ("True", "TransitionStuck")


@pytest.mark.parametrize("skip", range(16))
def test_whichever_read_fails_before_the_change_it_is_made_again(skip: int) -> None:
    """One of the live reads is refused. What is watched stays as it is, so only time brings the next look."""
    with stage.Stage() as on:
        on.start()
        on.fault(client.Sort.READ, client.Harm.REFUSED, skip)
        on.ask_for("HighlyAvailable")
        on.check()
        on.pass_time(65)
        on.check()
        assert on.server.phase == "Converging"


def test_a_leader_that_was_blind_rebuilds_a_lost_record_from_the_copy_that_stands_now() -> None:
    """It saw nothing of the transition. Infrastructure comes back without a record, the copy a moment later."""
    with stage.Stage() as on:
        first, second = on.start(), on.start()
        second.client.lose()
        on.ask_for("HighlyAvailable")
        assert on.server.phase == "Converging"
        on.kill(first, release=True)
        on.pass_time(1)
        on.drop_record()
        second.client.come_back()
        on.pass_time(35)
        on.check()
        assert on.server.phase == "Converging"


@pytest.mark.parametrize(
    ("late", "what"),
    [
        (world.GATES, "the native controller appears"),
        (world.NATIVE, "the native controller appears"),
        (servers.VERSION, "an upgrade starts"),
        (world.ENDPOINTS, "a member is lost"),
        ((world.NODES,), "a node dies"),
        ((world.NODES,), "a machine of the control plane leaves"),
    ],
)
def test_one_late_watch_brings_no_admission_back(late: tuple[str, ...], what: str) -> None:
    """Everything else is up to date: what the last reads showed of this object stays known."""
    with stage.Stage() as on:
        leader = on.start()
        on.late_news(what, late[0])
        on.ask_for("HighlyAvailable")
        assert leader.client.delayed
        on.pass_time(140)
        on.check()
        assert on.server.phase == ("Idle" if "native" in what else "Pending")
        assert on.server.pair[0] == "SingleReplica"
        assert on.judge.tally.admitted == 1


@pytest.mark.parametrize("moment", ["Idle", "Pending", "Admitting"])
def test_what_the_native_controller_has_changed_and_cannot_end_is_ended_here(moment: str) -> None:
    """Whatever our own request was at then. What it leaves behind is followed once."""
    with stage.Stage() as on:
        on.start()
        if moment != "Idle":
            on.set_echoing(echoing=False)
            if moment == "Pending":
                on.harm(world.ENDPOINTS, "a member less")
            on.ask_for("HighlyAvailable")
        on.pass_time(2)
        assert on.server.phase == moment
        on.interject("the native controller has changed it and goes")
        on.pass_time(62)
        on.check()
        assert on.server.phase == "Converging"
        # An admission that was under way is taken for the one that has changed it, as wherever a copy says so.
        assert str(on.server.record["attempt"]).startswith("native-") is (moment != "Admitting")
        on.mend_evidence()
        on.follow()
        on.pass_time(64)
        on.check()
        assert on.server.phase == ("Completed" if on.server.desired else "Idle")
        on.ask_for(None)
        on.pass_time(3700)
        on.check()
        assert on.server.phase == "Idle"
        assert on.judge.tally.converged == 1


@pytest.mark.parametrize("raised", [False, True], ids=["plain", "raised"])
@pytest.mark.parametrize("moment", ["the beginning", "Admitting", "Converging"])
def test_half_a_minute_after_a_restored_store_answers_all_is_true(moment: str, raised: bool) -> None:  # noqa: FBT001 - a parameter
    """It was away for so long that nobody asked it often any more. Then the later backup is restored."""
    with following(62) as on:
        (process,) = on.processes
        assert on.server.phase == "Completed"
        on.put_back_alone(moment, raised=raised, away=40.0, asked=True)
        assert on.server.phase == "Converging"
        # Where every object that is watched just then has changed since or never did, the lease shows it.
        on.pass_time(35)
        assert process.restored == 1
        on.follow()
        on.put_back_alone("Completed", raised=raised, away=40.0, asked=False)
        on.pass_time(35)
        assert process.restored == 2
        assert on.server.phase == "Completed"


def test_a_cancelled_request_is_seen_once_the_watches_have_shown_that_they_live() -> None:
    """All are open again; that of ClusterOperator topology brings nothing, and is believed two seconds later."""
    with stage.Stage() as on:
        process = on.start()
        on.harm(world.ENDPOINTS, "a member less")
        on.ask_for("HighlyAvailable")
        process.client.lose()
        on.go_on()
        process.client.freeze()
        on.pass_time(124)
        on.calm()
        on.ask_for(None)
        on.pass_time(1)
        on.check()
        assert on.server.phase == "Pending"
        on.pass_time(3)
        assert on.server.phase == "Idle"


def test_a_backup_of_a_topology_that_was_set_back_asks_for_the_request_to_be_made_again() -> None:
    """Nobody has seen there that the request was gone in between: it may be the one that was fulfilled and undone."""
    with following(62) as on:
        (process,) = on.processes
        assert on.server.phase == "Completed"
        process.client.freeze()
        on.ask_for(None)
        on.set_topology("SingleReplica", "HighlyAvailable")
        on.back_up()
        on.put_back_alone("by hand", raised=False, away=20.0, asked=True)
        assert on.server.record["problem"]["reason"] == "TopologyOverwritten"
        on.ask_for(None)
        on.pass_time(62)
        assert on.server.phase == "Idle"
