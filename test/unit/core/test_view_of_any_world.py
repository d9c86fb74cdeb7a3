"""The status page can be looked at whatever the cluster looks like: that is when it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import event, given

from . import page_state, worlds
from .strategies import terms, worlds_of_any_kind

if TYPE_CHECKING:
    from topology_controller.decide import leader
    from topology_controller.observe import facts

_STATUSES = {"Met", "Unmet", "Unknown"}


@given(known=worlds_of_any_kind(), term=terms())
def test_whatever_is_decided_can_be_shown(known: facts.Facts, term: leader.LeaderState) -> None:
    decided = worlds.decide(known, term)
    shown = page_state.led(known, term=term)
    event(f"{shown['phase']}{' stuck' if shown['stuck'] else ''}{' disabled' if shown['disabled'] else ''}")
    assert shown["phase"] == decided.phase.value
    assert (shown["disabled"] is None) is (decided.disabled is None)
    assert (shown["degraded"] is None) is (decided.degraded is None)
    for check in shown["checks"]:
        assert check["status"] in _STATUSES
    for one in shown["operands"]["items"]:
        assert one["status"] in _STATUSES
        assert (one["have"] is None) is (one["wanted"] is None) is (one["unit"] == ""), one
        assert one["have"] is None or one["have"] >= 0, one
    for part in ("nodes", "etcd"):
        assert shown[part]["items"] or shown[part]["said"], f"an empty list of {part} says why"
