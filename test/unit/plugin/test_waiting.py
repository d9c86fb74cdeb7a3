"""`wait`: when it is over and how; what counts is a record that speaks of the request as it is now."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from test import sentences

from topology_api.vocabulary import Phase
from topology_controller.plugin import errors
from topology_controller.plugin.commands import wait

from ..core import worlds
from . import replies

if TYPE_CHECKING:
    from topology_controller.observe import facts


def _with_condition(known: facts.Facts, type_: str, reason: str, message: str = "because") -> facts.Facts:
    condition = {"type": type_, "status": "True", "reason": reason, "message": message}
    return dataclasses.replace(known, own_operator=worlds.own(status={"conditions": [condition]}))


def _unsupported() -> facts.Facts:
    return replies.in_phase(Phase.UNSUPPORTED)


@pytest.mark.parametrize(
    ("known", "code", "words"),
    [
        pytest.param(replies.in_phase(Phase.COMPLETED), 0, sentences.COMPLETED, id="completed"),
        pytest.param(replies.in_phase(Phase.PENDING), None, "Pending 9/10: waiting for MastersSched", id="pending"),
        pytest.param(replies.in_phase(Phase.ADMITTING), None, "Admitting 10/10", id="admitting"),
        pytest.param(replies.in_phase(Phase.CONVERGING), None, "Converging ", id="converging"),
        pytest.param(_unsupported(), 4, "No transition leads to DualReplica", id="unsupported"),
        pytest.param(
            _with_condition(_unsupported(), "Progressing", "UnsupportedTransition", "From here: none"), 4,
            "From here: none", id="unsupported-as-it-was-said",
        ),
        pytest.param(
            _with_condition(replies.in_phase(Phase.PENDING), "Disabled", "HostedControlPlane"), 4,
            "because (HostedControlPlane)", id="disabled",
        ),
        pytest.param(
            _with_condition(replies.in_phase(Phase.COMPLETED), "Degraded", "TopologyOverwritten"), 3,
            "because (TopologyOverwritten)", id="overwritten",
        ),
        pytest.param(
            _with_condition(replies.in_phase(Phase.CONVERGING), "Degraded", "TransitionStuck"), None,
            "because (TransitionStuck)", id="stuck-may-still-end",
        ),
        pytest.param(
            dataclasses.replace(replies.in_phase(Phase.PENDING), infrastructure=worlds.BROKEN), None, "cannot be read",
            id="unreadable-for-a-while",
        ),
    ],
)  # fmt: skip
def test_where_it_stands(known: facts.Facts, code: int | None, words: str) -> None:
    found = wait.standing(known, worlds.TRANSITIONS)
    assert found.code == code
    assert words in found.message


def test_a_record_of_an_older_request_does_not_count() -> None:
    known = worlds.with_infrastructure(replies.in_phase(Phase.COMPLETED), generation=99)
    found = wait.standing(known, worlds.TRANSITIONS)
    assert found.code is None
    assert "waiting for the operator to pick it up" in found.message


@pytest.mark.parametrize("changes", [{"desired": None}, {"desired": None, "record": None}])
def test_without_a_request_there_is_nothing_to_wait_for(changes: dict[str, Any]) -> None:
    with pytest.raises(errors.PluginError, match="no request"):
        wait.standing(worlds.with_infrastructure(replies.in_phase(Phase.PENDING), **changes), worlds.TRANSITIONS)


def test_a_request_that_was_fulfilled_before_anybody_acted_is_fulfilled() -> None:
    known = worlds.with_infrastructure(worlds.healthy(), desired="SingleReplica")
    record = worlds.decide(known, worlds.term(available=())).record
    assert record is not None
    assert wait.standing(worlds.recorded(known, record), worlds.TRANSITIONS).code == 0


def test_an_api_without_our_fields_is_an_error() -> None:
    known = _with_condition(replies.in_phase(Phase.PENDING), "Degraded", "APINotInstalled", "install it")
    with pytest.raises(errors.PluginError, match="install it"):
        wait.standing(known, worlds.TRANSITIONS)
