"""Does the operator answer? Whoever has made or withdrawn a wish wants to know that somebody has heard it.

The operator writes the generation of the spec that its record speaks of, normally within a tenth of a second. That is
looked for, for a few seconds and by single reads; `wait` is for whoever wants to see the end. Best effort: a read that
fails says nothing about the operator, and what was written stands whatever is found here.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from topology_api.types import TopologyTransition

from ..kube import errors as kube
from ..observe import catalog, parse

if TYPE_CHECKING:
    from topology_api.vocabulary import Phase

    from . import connection

PATIENCE = 5.0
"""Seconds."""
_FIRST = 0.1
_LONGEST = 1.0


async def record(
    made: connection.Connection, generation: int, *, phase: Phase | None = None
) -> TopologyTransition | None:
    """The first record that speaks of this generation, and is in that phase if one is given; None when none comes."""
    pause = _FIRST
    found = None
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST)
                found = await _read(made, generation)
                if found is not None and phase in {None, found.phase}:
                    return found
    except TimeoutError:
        return None


async def _read(made: connection.Connection, generation: int) -> TopologyTransition | None:
    try:
        raw = await made.client.get(catalog.INFRASTRUCTURES, catalog.INFRASTRUCTURE.selection.name or "")
        found = parse.infrastructure(raw).record
    except (kube.KubeError, ValueError):
        return None
    spoken = isinstance(found, TopologyTransition) and (found.observed_generation or 0) >= generation
    return found if spoken and isinstance(found, TopologyTransition) else None
