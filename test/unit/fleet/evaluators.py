"""The languages of the engines, as they evaluate them: CEL with optional values, Lua 5.1 with the basic library."""

from __future__ import annotations

from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]  # it has .pyi files, but no py.typed
from cel_expr_python.ext import ext_optional, ext_strings  # type: ignore[import-untyped]  # as above
from lupa import lua51

Raw = dict[str, Any]
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
