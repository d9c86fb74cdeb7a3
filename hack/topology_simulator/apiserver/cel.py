"""`x-kubernetes-validations`: the rules of a schema, compiled to a tree of programs and evaluated as the server does.

The runtime knows no object types: only an evaluation says that a field is not there. Not available, and refused or
failing with an error: the functions that Kubernetes adds (addresses, URLs, quantities, sets, `find`, formats),
two-variable macros (`all(i, v, ...)`), names that rules have to escape, and times inside of objects. A rule that fails
to evaluate refuses the request with the error in its message, `no such key` above all: a definition must guard with
has().
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]  # it has .pyi files, but no py.typed
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings  # type: ignore[import-untyped]  # as above

from . import field_errors, validation

_BLOCKING = frozenset({
    "FieldValueRequired", "FieldValueNotSupported", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid",
})  # fmt: skip
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_OLD_OPTIONAL = "cel.bind(oldSelf, oldSelfFound__ ? optional.of(oldSelfValue__) : optional.none(), "
_OLD_SELF = re.compile(r"\boldSelf\b")
EXTENSIONS = [ext_strings.ExtStrings(), ext_optional.ExtOptional(), ext_math.ExtMath(), ext_bindings.ExtBindings()]


_TYPES = {
    "string": cel.Type.STRING, "integer": cel.Type.INT, "number": cel.Type.DOUBLE, "boolean": cel.Type.BOOL,
}  # fmt: skip


def _type_of(schema: Mapping[str, Any]) -> cel.Type:
    kind = schema.get("type")
    if schema.get(validation.INT_OR_STRING):
        return cel.Type.DYN
    if kind in _TYPES:
        return _TYPES[kind]
    if kind == "array":
        return cel.Type.List(_type_of(schema.get("items") or {}))
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        return cel.Type.Map(cel.Type.STRING, _type_of(additional))
    return cel.Type.DYN


def _compile(schema: Mapping[str, Any], text: str, *, optional_old: bool) -> cel.Expression:
    kind = _type_of(schema)
    variables = {"self": kind}
    if optional_old:
        variables |= {"oldSelfFound__": cel.Type.BOOL, "oldSelfValue__": cel.Type.DYN}
        text = f"{_OLD_OPTIONAL}{text})"
    else:
        variables["oldSelf"] = kind
    return cel.NewEnv(variables=variables, extensions=EXTENSIONS).compile(text)


def compile_rules(
    schema: Mapping[str, Any], where: str, causes: list[field_errors.Cause], *, root: bool = False
) -> Rules:
    """Return the rules of a schema; why some of them are refused goes to `causes`, whose paths begin with `where`."""
    rules = Rules(schema, root)
    for index, declared in enumerate(schema.get(validation.RULES) or ()):
        rule = _rule(schema, declared, f"{where}.{validation.RULES}[{index}]", causes)
        if rule is not None:
            rules.rules.append(rule)
    for key, part in (schema.get("properties") or {}).items():
        below = compile_rules(part, f"{where}.properties[{key}]", causes)
        if not below.empty:
            rules.properties[key] = below
    if isinstance(schema.get("additionalProperties"), dict):
        below = compile_rules(schema["additionalProperties"], f"{where}.additionalProperties", causes)
        rules.additional = None if below.empty else below
    if isinstance(schema.get("items"), dict):
        below = compile_rules(schema["items"], f"{where}.items", causes)
        rules.items = None if below.empty else below
    return rules


def _rule(
    schema: Mapping[str, Any], rule: Mapping[str, Any], where: str, causes: list[field_errors.Cause]
) -> Rule | None:
    text = rule["rule"].strip()
    optional_old = bool(rule.get("optionalOldSelf"))
    programs: dict[str, cel.Expression | None] = {"rule": None, "messageExpression": None}
    for word in programs:
        if not (expression := str(rule.get(word) or "").strip()):
            continue
        try:
            programs[word] = _compile(schema, expression, optional_old=optional_old)
        except RuntimeError as error:
            problem = f"compilation failed: {error}"
            causes.append(field_errors.invalid(f"{where}.{word}", expression, problem))
            return None
    return Rule(
        text,
        str(rule.get("message") or "").strip(),
        rule.get("reason") or "FieldValueInvalid",
        str(rule.get("fieldPath") or ""),
        bool(_OLD_SELF.search(text)),
        optional_old,
        str(schema.get("type") or "object"),
        programs["rule"],
        programs["messageExpression"],
    )


REASONS = {
    "FieldValueInvalid": "Invalid value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required value",
}


_ROOT_FIELDS = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}},
}


def fields(schema: Mapping[str, Any], *, root: bool) -> Mapping[str, Any]:
    """Return the fields of an object that rules can select, with their schemas."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    if root or schema.get(validation.EMBEDDED):
        return {**properties, **_ROOT_FIELDS}
    return properties


def to_cel(schema: Mapping[str, Any], value: Any, *, root: bool = False) -> Any:
    """Return a JSON value as a rule sees it: typed by the schema, known fields only."""
    if isinstance(value, dict):
        additional = schema.get("additionalProperties")
        if isinstance(additional, dict):
            return {key: to_cel(additional, part) for key, part in value.items()}
        known = fields(schema, root=root)
        return {key: to_cel(known[key], part) for key, part in value.items() if key in known}
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [to_cel(items, item) for item in value]
    kind = schema.get("type")
    if kind == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind == "integer" and isinstance(value, float):
        return int(value)
    return value


@dataclass(frozen=True, slots=True)
class Rule:
    """One compiled rule."""

    text: str
    message: str
    reason: str
    field_path: str
    transition: bool
    optional_old: bool
    kind: str
    program: cel.Expression
    message_program: cel.Expression | None

    def evaluate(self, value: Any, old: Any, path: str, *, unchanged: bool) -> field_errors.Cause | None:
        """Return the cause when the rule does not hold or cannot be evaluated; `old` is MISSING on creation."""
        has_old, data = old is not validation.MISSING, {"self": value}
        if self.optional_old:
            data |= {"oldSelfFound__": has_old, "oldSelfValue__": old if has_old else None}
        elif self.transition and has_old:
            data["oldSelf"] = old
        elif self.transition or unchanged:
            return None
        result = self.program.eval(data=data)
        if result.type() == cel.Type.ERROR:
            detail = f"{result.plain_value()} evaluating rule: {self.message or self.text}"
            return field_errors.invalid(path.lstrip(".") or "<nil>", self.kind, detail)
        if result.plain_value() is True:
            return None
        detail = self._message(data) or self.message or f"failed rule: {self.text}"
        where = (path + self.field_path).lstrip(".") or "<nil>"
        if self.reason == "FieldValueInvalid":
            if self.kind in ("object", "array"):
                return field_errors.invalid_object(where, detail)
            return field_errors.invalid(where, value, detail)
        return field_errors.Cause(where, self.reason, f"{REASONS[self.reason]}: {detail}")

    def _message(self, data: dict[str, Any]) -> str:
        if self.message_program is None:
            return ""
        result = self.message_program.eval(data=data)
        if result.type() != cel.Type.STRING:
            return ""
        text = str(result.plain_value()).strip()
        return "" if "\n" in text else text


@dataclass(slots=True)
class Rules:
    """The rules of one place of a schema, and of the places below it that have any."""

    schema: Mapping[str, Any]
    root: bool = False
    rules: list[Rule] = field(default_factory=list)
    properties: dict[str, Rules] = field(default_factory=dict)
    additional: Rules | None = None
    items: Rules | None = None

    @property
    def empty(self) -> bool:
        """Whether there is no rule here or below."""
        return not (self.rules or self.properties or self.additional or self.items)

    def validate(self, value: Any, old: Any = validation.MISSING, path: str = "") -> Iterator[field_errors.Cause]:
        """Yield the causes of every rule that does not hold."""
        if value is None:
            return
        if self.rules:
            has_old = old is not validation.MISSING and old is not None
            before = to_cel(self.schema, old, root=self.root) if has_old else validation.MISSING
            seen = to_cel(self.schema, value, root=self.root)
            unchanged = has_old and not self.root and old == value
            causes = (rule.evaluate(seen, before, path, unchanged=unchanged) for rule in self.rules)
            yield from (cause for cause in causes if cause is not None)
        yield from self._below(value, old, path)

    def _below(self, value: Any, old: Any, path: str) -> Iterator[field_errors.Cause]:
        if isinstance(value, dict):
            before = old if isinstance(old, dict) else {}
            for key, part in value.items():
                below = self.properties.get(key, self.additional)
                if below is not None:
                    bracket = below is self.additional
                    where = f"{path}[{key}]" if bracket else f"{path}.{key}"
                    yield from below.validate(part, before.get(key, validation.MISSING), where)
        elif isinstance(value, list) and self.items is not None:
            keys = tuple(self.schema.get(validation.LIST_KEYS) or ())
            matched: dict[str, Any] = {}
            if self.schema.get(validation.LIST_TYPE) == "map" and isinstance(old, list):
                matched = {repr(validation.list_key(item, keys, self.items.schema)): item for item in old}
            for index, item in enumerate(value):
                mark = repr(validation.list_key(item, keys, self.items.schema))
                yield from self.items.validate(item, matched.get(mark, validation.MISSING), f"{path}[{index}]")


def judge(
    schema: Mapping[str, Any],
    rules: Rules,
    obj: dict[str, Any],
    old: dict[str, Any] | None,
    before: list[field_errors.Cause],
) -> list[field_errors.Cause]:
    """Return every broken rule: `before`, those of the schema, and of CEL unless the others block it."""
    causes = [*before, *validation.validate(schema, obj, old)]
    if rules.empty:
        return causes
    if any(cause.reason in _BLOCKING for cause in causes):
        return [*causes, field_errors.invalid("<nil>", None, _UNCHECKED)]
    return [*causes, *rules.validate(obj, validation.MISSING if old is None else old)]
