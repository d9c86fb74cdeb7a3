"""Recorded Infrastructure objects with what each means to a roll-out and to GitOps; the languages of the engines."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass
from typing import Any

import yaml
from cel_expr_python import cel  # type: ignore[import-untyped]  # it has .pyi files, but no py.typed
from cel_expr_python.ext import ext_optional, ext_strings  # type: ignore[import-untyped]  # as above
from lupa import lua51
from test import recorded

from topology_api.types import TopologyPair
from topology_deploy.fleet.meaning import State
from topology_simulator.apiserver import patch

Raw = dict[str, Any]
VERDICTS = pathlib.Path(__file__).with_name("verdicts.yaml")
IN_FLUX = {"Healthy": "Current", "Progressing": "InProgress", "Suspended": "InProgress", "Degraded": "Failed"}
TARGET = TopologyPair(control_plane="HighlyAvailable", infrastructure="HighlyAvailable")
NAMES = ("sno-to-ha-compact", "sno-to-ha-with-workers")


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
    for row in yaml.load(VERDICTS.read_text(encoding="utf-8"), yaml.CSafeLoader):
        raw = objects[row["of"]]
        name = f"{row['of']}: {row['why']}" if "why" in row else row["of"]
        legal = row["fleet"] != "error"
        state = State(row["fleet"]) if legal else State.UNDER_WAY
        argo = row["verdict"]
        flux = row.get("flux", IN_FLUX[argo])
        table.append(Row(name, patch.merge(raw, row.get("patch", {})), state, legal, argo, flux))
    return table


_BASIC = {"type", "ipairs", "pairs", "tostring", "tonumber", "next", "select", "_G"}
_FIELDS = ("metadata", "spec", "status")
_EXTENSIONS = [ext_strings.ExtStrings(), ext_optional.ExtOptional()]
# open-cluster-management.io/sdk-go pkg/cel/common, BaseEnvOpts: optional types, strings, lists.
_CEL = cel.NewEnv(variables={"object": cel.Type.DYN}, extensions=_EXTENSIONS)
# Flux declares nothing: each field at the top is a variable, and a missing one is known when it is asked for.
_FLUX = cel.NewEnv(variables=dict.fromkeys(_FIELDS, cel.Type.DYN), extensions=_EXTENSIONS)


def in_cel(expression: str, infrastructure: Raw) -> object:
    """The value of an expression of the work agent; `error` where it has none."""
    return _value(_CEL, expression, {"object": infrastructure})


def in_flux(expression: str, infrastructure: Raw) -> object:
    """The same for an expression of Flux."""
    return _value(_FLUX, expression, {name: infrastructure[name] for name in _FIELDS if name in infrastructure})


def _value(environment: Any, expression: str, data: Raw) -> object:
    try:
        answer = environment.compile(expression).eval(data=data)
    except RuntimeError:
        return "error"
    return "error" if answer.type() == cel.Type.ERROR else answer.value()


def in_lua(code: str, infrastructure: Raw) -> Any:
    """What Lua returns that finds the object as `obj`."""
    lua = lua51.LuaRuntime(register_eval=False, register_builtins=False)
    values = lua.globals()
    for name in [name for name in values if name not in _BASIC]:
        values[name] = None
    values.obj = lua.table_from(infrastructure, recursive=True)
    return lua.execute(code)
