"""The table, one module for each subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator_tests.parity.rows import (
    builtin,
    celrules,
    creating,
    definitions,
    deleting,
    discovery,
    kubectl,
    owners,
    patching,
    reading,
    refusals,
    schemas,
    strategic,
    updating,
    watching,
)

if TYPE_CHECKING:
    from simulator_tests.parity.table import Row

SUBJECTS: dict[str, tuple[Row, ...]] = {
    "creating": creating.ROWS,
    "updating": updating.ROWS,
    "patching": patching.ROWS,
    "strategic merge": strategic.ROWS,
    "schemas": schemas.ROWS,
    "CEL rules": celrules.ROWS,
    "reading": reading.ROWS,
    "watching": watching.ROWS,
    "deleting": deleting.ROWS,
    "field owners": owners.ROWS,
    "built-in kinds": builtin.ROWS,
    "definitions": definitions.ROWS,
    "discovery": discovery.ROWS,
    "refusals": refusals.ROWS,
    "kubectl": kubectl.ROWS,
}
ALL: tuple[Row, ...] = tuple(row for rows in SUBJECTS.values() for row in rows)
NUMBERS: dict[str, int] = {row.name: number for number, row in enumerate(ALL, 1)}
"""What each row calls its own namespace and objects by."""
