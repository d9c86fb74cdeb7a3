"""Answers as sections of rows: the most important first, what is in order last.

Takes the structures that `-o json` prints (`answers`), so that people and scripts read the same. Pure.

* `plans`: `plan`, with a target and without.
* `progress`: `status`, also drawn by the live view.
* `audits`: `audit`, also with `--capi`.
* `writes`: `set`, `cancel` and `accept`.
* `sections`: what several of them have.
"""

from __future__ import annotations

from .audits import audit, definitions
from .plans import overview, plan
from .progress import status
from .writes import cancel, offer, request

__all__ = ["audit", "cancel", "definitions", "offer", "overview", "plan", "request", "status"]
