"""The table of recorded Infrastructure objects, with what each means to a roll-out of HighlyAvailable and to GitOps."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass
from typing import Any

import yaml
from test import recorded

from topology_api.types import TopologyPair
from topology_deploy.fleet.meaning import State
from topology_simulator.apiserver import patch

VERDICTS = pathlib.Path(__file__).with_name("verdicts.yaml")
IN_FLUX = {"Healthy": "Current", "Progressing": "InProgress", "Suspended": "InProgress", "Degraded": "Failed"}
TARGET = TopologyPair(control_plane="HighlyAvailable", infrastructure="HighlyAvailable")


@dataclass(frozen=True, slots=True)
class Row:
    """An object, and its state."""

    name: str
    infrastructure: dict[str, Any]
    state: State
    legal: bool
    """The schema lets it be stored. Where it does not, an expression may end with an error."""
    argo: str
    flux: str


def rows() -> list[Row]:
    """The whole table."""
    table = []
    objects = recorded.infrastructures()
    for row in yaml.safe_load(VERDICTS.read_text(encoding="utf-8")):
        raw = objects[row["of"]]
        name = f"{row['of']}: {row['why']}" if "why" in row else row["of"]
        legal = row["fleet"] != "error"
        state = State(row["fleet"]) if legal else State.UNDER_WAY
        argo = row["verdict"]
        flux = row.get("flux", IN_FLUX[argo])
        table.append(Row(name, patch.merge(raw, row.get("patch", {})), state, legal, argo, flux))
    return table
