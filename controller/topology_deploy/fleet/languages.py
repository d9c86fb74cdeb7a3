"""The rules of `meaning` in the languages of three engines: CEL, Lua and Go templates.

Each printer reads what may be missing in the way of its language, so that no expression ends with an error: one engine
takes an error for success (open-cluster-management.io/ocm v1.2.0 pkg/work/spoke/conditions/reader.go: the condition is
False, and what is not Progressing has succeeded). The CEL uses optional values, which OCM, Flux and Kubernetes have;
the Lua needs no library but the basic one; the template needs `dig`, `kindIs`, `toString` and `int64` of sprig, which
config-policy-controller allows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

from . import meaning
from .meaning import All, Field, Has, Is, Listed, No, Reaches, Some, State

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from .meaning import Rule, Test


_Value: TypeAlias = str | bool


def _quoted(value: _Value) -> str:
    return json.dumps(value)


# --- CEL


def cel_holds(rules: Sequence[Rule], states: Container[State], root: str = "object") -> str:
    """Return an expression that is true where an object is in one of these states.

    `root` is the variable that holds the object; empty where its fields are variables themselves.
    """
    return cel_choice(rules, {state: "true" if state in states else "false" for state in State}, root)


def cel_choice(rules: Sequence[Rule], values: Mapping[State, str], root: str = "object") -> str:
    """Return an expression, a line for each rule, whose value depends on the state.

    `values` are expressions of one type.
    """
    kept: list[Rule] = []
    for rule in reversed(rules):
        # A test that changes nothing is left out: the others come to the same value without it.
        if len(kept) != 1 or values[kept[0].state] != values[rule.state]:
            kept.append(rule)
    last, *tested = kept
    chain = "".join(f"{cel(rule.test, root)} ? {values[rule.state]} :\n" for rule in reversed(tested) if rule.test)
    return chain + values[last.state]


def cel(test: Test, root: str = "object") -> str:
    """Return a test as an expression."""
    match test:
        case All(terms):
            return " && ".join(_cel_within(term, root) for term in terms)
        case Some(terms):
            return " || ".join(_cel_within(term, root) for term in terms)
        case No(Is() as term):
            return cel(term, root).replace(" == ", " != ")
        case No(Has() | Listed() as term):
            return f"!{cel(term, root)}"
        case No(term):
            return f"!({cel(term, root)})"
        case Is(field, value):
            return f"{cel_text(field, root)} == {cel_text(value, root) if isinstance(value, Field) else _quoted(value)}"
        case Has(field):
            return f"{_cel_path(field, root)}.hasValue()"
        case Reaches(field, other):
            return f"{_cel_path(field, root)}.orValue(0) >= {_cel_path(other, root)}.orValue(0)"
        case Listed(field, entry):
            alike = (f"entry.?{'.?'.join(path)} == optional.of({_quoted(value)})" for path, value in entry)
            return f"{_cel_path(field, root)}.orValue([]).exists(entry, {' && '.join(alike)})"


def _cel_within(test: Test, root: str) -> str:
    return f"({cel(test, root)})" if isinstance(test, All | Some) else cel(test, root)


def cel_text(field: Field, root: str = "object") -> str:
    """Return the text in a field, empty where there is none."""
    return f'{_cel_path(field, root)}.orValue("")'


def _cel_path(field: Field, root: str) -> str:
    first, *rest = field.path if not root else (root, *field.path)
    return first + "".join(f".?{name}" if name.isidentifier() else f"[?{_quoted(name)}]" for name in rest)


# --- Lua

_LUA_AT = """local function at(value, ...)
  for _, name in ipairs({...}) do
    if type(value) ~= "table" then return nil end
    value = value[name]
  end
  return value
end
"""
_LUA_LISTED = """
local function listed(list, alike)
  for _, entry in ipairs(type(list) == "table" and list or {}) do
    if alike(entry) then return true end
  end
  return false
end
"""


def lua_state(rules: Sequence[Rule]) -> str:
    """Return Lua that defines a local for each field that the rules read, nil where it is missing, and `state()`."""
    read = dict.fromkeys(field for rule in rules for field in meaning.fields(rule.test))
    lists = any(_listed(rule.test) for rule in rules if rule.test is not None)
    lines = [_LUA_AT + _LUA_LISTED if lists else _LUA_AT]
    lines += [f"local {field.name} = {_lua_at('obj', field.path)}" for field in read]
    lines += ["", "local function state()"]
    for rule in rules:
        result = f"return {_quoted(rule.state.value)}"
        lines.append(f"  {result}" if rule.test is None else f"  if {_lua(rule.test)} then {result} end")
    return "\n".join([*lines, "end", ""])


def _lua(test: Test) -> str:
    match test:
        case All(terms):
            return " and ".join(_lua_within(term) for term in terms)
        case Some(terms):
            return " or ".join(_lua_within(term) for term in terms)
        case No(Is() as term):
            return _lua(term).replace(" == ", " ~= ")
        case No(Has(field)):
            return f"{field.name} == nil"
        case No(term):
            return f"not ({_lua(term)})"
        case Is(field, value):
            return f"{field.name} == {value.name if isinstance(value, Field) else _quoted(value)}"
        case Has(field):
            return f"{field.name} ~= nil"
        case Reaches(field, other):
            return f"({field.name} or 0) >= ({other.name} or 0)"
        case Listed(field, entry):
            alike = " and ".join(f"{_lua_at('entry', path)} == {_quoted(value)}" for path, value in entry)
            return f"listed({field.name}, function(entry) return {alike} end)"


def _lua_at(value: str, path: tuple[str, ...]) -> str:
    return f"at({', '.join((value, *map(_quoted, path)))})"


def _lua_within(test: Test) -> str:
    return f"({_lua(test)})" if isinstance(test, All | Some) else _lua(test)


# --- Go templates


def template_state(rules: Sequence[Rule], infrastructure: str = "$infrastructure") -> str:
    """Return a template that sets `$state` to the name of the state of the object in a variable.

    Every rule is tested, the last first, so that the first one that holds stays: that needs no nesting. It sets a
    variable for each field that the rules read, and prints nothing.
    """
    read = dict.fromkeys(field for rule in rules for field in meaning.fields(rule.test))
    lines = [f"{{{{- ${field.name} := {_dig(field, infrastructure)} }}}}" for field in read]
    for rule in reversed(rules):
        result = _quoted(rule.state.value)
        if rule.test is None:
            lines.append(f"{{{{- $state := {result} }}}}")
            continue
        for listed in _listed(rule.test):
            alike = " ".join(f"(eq (toString {_dig(Field(path), '.')}) {_text(value)})" for path, value in listed.entry)
            lines += [
                "{{- $listed := false }}",
                f"{{{{- range ${listed.field.name} }}}}{{{{ if and {alike} }}}}{{{{ $listed = true }}}}{{{{ end }}}}",
                "{{- end }}",
            ]
        lines.append(f"{{{{- if {_template(rule.test)} }}}}{{{{ $state = {result} }}}}{{{{ end }}}}")
    return "\n".join(lines)


def _listed(test: Test) -> tuple[Listed, ...]:
    match test:
        case Listed():
            return (test,)
        case All(terms) | Some(terms):
            return tuple(listed for term in terms for listed in _listed(term))
        case _:
            return ()


def _template(test: Test) -> str:
    match test:
        case All(terms):
            return f"and {' '.join(f'({_template(term)})' for term in terms)}"
        case Some(terms):
            return f"or {' '.join(f'({_template(term)})' for term in terms)}"
        case No(Is() as term):
            return _template(term).replace("eq ", "ne ", 1)
        case No(Has(field)):
            return f'kindIs "invalid" ${field.name}'
        case No(term):
            return f"not ({_template(term)})"
        case Is(field, value):
            other = f"(toString ${value.name})" if isinstance(value, Field) else _text(value)
            return f"eq (toString ${field.name}) {other}"
        case Has(field):
            return f'not (kindIs "invalid" ${field.name})'
        case Reaches(field, other):
            return f"ge (int64 ${field.name}) (int64 ${other.name})"
        case Listed():
            return "$listed"


def _text(value: _Value) -> str:
    return _quoted(value if isinstance(value, str) else json.dumps(value))


def _dig(field: Field, variable: str) -> str:
    return f"(dig {' '.join(_quoted(name) for name in field.path)} nil {variable})"
