"""Compiling `x-kubernetes-validations`: from the rules of a schema to a tree of programs (`cel_rules`).

`compile_rules` walks a schema once. A rule that does not compile is a cause that refuses the definition. The runtime
knows no object types, so that selections are dynamic: of a field that is not there only an evaluation says so. Not
available, and refused or failing with an error: the functions that Kubernetes adds (addresses, URLs, quantities, sets,
`find`, formats), two-variable macros (`all(i, v, ...)`), and times inside of objects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]  # it has .pyi files, but no py.typed
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings  # type: ignore[import-untyped]  # as above

from . import cel_rules, field_errors, structural

_OLD_OPTIONAL = "cel.bind(oldSelf, oldSelfFound__ ? optional.of(oldSelfValue__) : optional.none(), "
_STRING = re.compile(
    r"""[rR]?(\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""",
    re.DOTALL,
)
_OLD_SELF = re.compile(r"\boldSelf\b")
EXTENSIONS = [
    ext_strings.ExtStrings(),
    ext_optional.ExtOptional(),
    ext_math.ExtMath(),
    ext_bindings.ExtBindings(),
]


def _type_of(schema: Mapping[str, Any]) -> cel.Type:
    if schema.get(structural.INT_OR_STRING):
        return cel.Type.DYN
    match schema.get("type"):
        case "string":
            return cel.Type.STRING
        case "integer":
            return cel.Type.INT
        case "number":
            return cel.Type.DOUBLE
        case "boolean":
            return cel.Type.BOOL
        case "array":
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


class _Compiler:
    def __init__(self) -> None:
        self.causes: list[field_errors.Cause] = []

    def walk(self, schema: Mapping[str, Any], where: str, *, root: bool = False) -> cel_rules.Rules:
        rules = cel_rules.Rules(schema, root)
        for index, declared in enumerate(schema.get(structural.RULES) or ()):
            rule = self._rule(schema, declared, f"{where}.{structural.RULES}[{index}]")
            if rule is not None:
                rules.rules.append(rule)
        for key, part in (schema.get("properties") or {}).items():
            below = self.walk(part, f"{where}.properties[{key}]")
            if not below.empty:
                rules.properties[key] = below
        if isinstance(schema.get("additionalProperties"), dict):
            below = self.walk(schema["additionalProperties"], f"{where}.additionalProperties")
            rules.additional = None if below.empty else below
        if isinstance(schema.get("items"), dict):
            below = self.walk(schema["items"], f"{where}.items")
            rules.items = None if below.empty else below
        return rules

    def _rule(self, schema: Mapping[str, Any], rule: Mapping[str, Any], where: str) -> cel_rules.Rule | None:
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
                self.causes.append(field_errors.invalid(f"{where}.{word}", expression, problem))
                return None
        return cel_rules.Rule(
            text,
            str(rule.get("message") or "").strip(),
            rule.get("reason") or "FieldValueInvalid",
            str(rule.get("fieldPath") or ""),
            bool(_OLD_SELF.search(_STRING.sub('""', text))),
            optional_old,
            str(schema.get("type") or "object"),
            programs["rule"],
            programs["messageExpression"],
        )


def compile_rules(schema: Mapping[str, Any], where: str) -> tuple[cel_rules.Rules, list[field_errors.Cause]]:
    """Return the rules of a resource's schema, and why some of them are refused (paths begin with `where`)."""
    compiler = _Compiler()
    return compiler.walk(schema, where, root=True), compiler.causes
