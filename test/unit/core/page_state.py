"""What the status page would show of a world, as its tests ask for it."""

import json
from datetime import datetime
from typing import Any

from topology_controller.decide import state
from topology_controller.definitions import load
from topology_controller.observe import facts
from topology_controller.report import view

from . import worlds

VERSION = "1.2.3"


def about(transitions: load.Transitions = worlds.ONLY_COMPACT, **changes: Any) -> view.About:
    return view.About(VERSION, transitions, **changes)


def led(
    known: facts.Facts,
    now: datetime = worlds.NOW,
    term: state.LeaderState | None = None,
    transitions: load.Transitions = worlds.ONLY_COMPACT,
) -> dict[str, Any]:
    """What the process that leads shows once it has decided; what comes back has been through JSON."""
    decided = worlds.decide(known, term, now, transitions)
    return _through(view.look(view.Snapshot(decided, known), known, about(transitions)))


def standing_by(known: facts.Facts, now: datetime = worlds.NOW) -> dict[str, Any]:
    """What a process without the lease shows."""
    return _through(view.look(None, known, about()))


def _through(found: Any) -> dict[str, Any]:
    text = json.dumps(found, allow_nan=False)
    again: dict[str, Any] = json.loads(text)
    assert again == found, "what is shown is JSON as it stands"
    return again


def row(shown: dict[str, Any], part: str, name: str) -> dict[str, Any]:
    """One item of a list by its name."""
    items = shown[part]["items"] if isinstance(shown[part], dict) else shown[part]
    found = [item for item in items if item["name"] == name]
    assert len(found) == 1, f"{name} among {[item['name'] for item in items]}"
    return dict(found[0])
