"""Compiling `x-kubernetes-validations`: from the rules of a schema to a tree of programs (`cel_rules`).

`compile_rules` walks a schema once. A rule that does not compile, or that uses `oldSelf` where old and new
cannot be matched, is a cause that refuses the definition, in the words of the real server.

The runtime knows no object types, so selections are dynamic there. `_selections` makes up for it before: it
finds selections of fields that the schema does not have, and shows the checker the types of numbers and
truth values. Not available, and refused or failing with an error: two-variable macros (`all(i, v, ...)`),
and times inside of objects.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cel_expr_python import cel  # type: ignore[import-untyped]  # it has .pyi files, but no py.typed

from . import cel_library, cel_rules, field_errors, structural

if TYPE_CHECKING:
    from collections.abc import Mapping

_OLD_OPTIONAL = "cel.bind(oldSelf, oldSelfFound__ ? optional.of(oldSelfValue__) : optional.none(), "
_STRING = re.compile(
    r"""[rR]?(\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""",
    re.DOTALL,
)
_WANTED = {
    "rule": (cel.Type.BOOL, "cel expression must evaluate to a bool"),
    "messageExpression": (cel.Type.STRING, "messageExpression must evaluate to a string"),
}
"""What an expression has to give, and what is said of one that does not."""
_OLD_SELF = re.compile(r"\boldSelf\b")
_CHAIN = re.compile(r"(?<![\w.])(self|oldSelf)((?:\s*\.\s*[A-Za-z_]\w*(?![\w(]))+)")


def _type_of(schema: Mapping[str, Any]) -> cel.Type:
    if schema.get(structural.INT_OR_STRING):
        return cel.Type.DYN
    match schema.get("type"):
        case "string":
            return cel.Type.BYTES if schema.get("format") == "byte" else cel.Type.STRING
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


_extensions = functools.cache(cel_library.extensions)


def _compile(
    schema: Mapping[str, Any], text: str, more: Mapping[str, cel.Type], *, optional_old: bool
) -> cel.Expression:
    """Compile a rule; `more` are variables besides self and oldSelf."""
    kind = _type_of(schema)
    variables = {"self": kind, **more}
    if optional_old:
        variables |= {"oldSelfFound__": cel.Type.BOOL, "oldSelfValue__": cel.Type.DYN}
        text = f"{_OLD_OPTIONAL}{text})"
    else:
        variables["oldSelf"] = kind
    return cel.NewEnv(variables=variables, extensions=_extensions()).compile(text)


@dataclass(slots=True)
class _Selections:
    """What a rule selects by plain names.

    `checked` is the rule with each selection of a number or truth value replaced by a variable of its type
    and of the same length, so that the checker sees what is dynamic at run time; `names` leads from those
    variables back to the text. `problem` is the complaint about a field that is not there.
    """

    checked: str
    types: dict[str, cel.Type] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    problem: str = ""

    def replace(self, start: int, end: int, kind: cel.Type) -> None:
        """Let a variable stand for the selection between two positions."""
        name = f"v{len(self.names)}"
        name += "_" * (end - start - len(name))
        self.names[name] = self.checked[start:end]
        self.types[name] = kind
        self.checked = self.checked[:start] + name + self.checked[end:]

    def restored(self, text: str) -> str:
        """Return a text with the selections where the variables were."""
        for name, shown in self.names.items():
            text = text.replace(name, shown)
        return text


def _selections(schema: Mapping[str, Any], text: str, *, root: bool, optional_old: bool) -> _Selections:
    selections = _Selections(text)
    blank = _STRING.sub(lambda match: " " * len(match.group(0)), text)
    for match in _CHAIN.finditer(blank):
        if match[1] == "oldSelf" and optional_old:
            continue
        place: Mapping[str, Any] = schema
        at_root, position = root, match.end(1)
        for part in match[2].split(".")[1:]:
            if place.get("type") != "object" or place.get("additionalProperties"):
                break
            known = {cel_rules.escape(key): below for key, below in cel_rules.fields(place, root=at_root).items()}
            if part.strip() not in known:
                selections.problem = _complaint(text, position, f"undefined field '{part.strip()}'")
                return selections
            place, at_root = known[part.strip()], False
            position += len(part) + 1
        typed = _type_of(place) in (cel.Type.INT, cel.Type.DOUBLE, cel.Type.BOOL)
        inside_has = re.search(r"\bhas\s*\(\s*$", blank[: match.start()])
        if typed and position == match.end() and not inside_has:
            selections.replace(match.start(), match.end(), _type_of(place))
    return selections


def _complaint(text: str, position: int, problem: str) -> str:
    before = text[:position]
    line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1)
    shown = text.split("\n")[line - 1]
    return f"compilation failed: ERROR: <input>:{line}:{column + 1}: {problem}\n | {shown}\n | {'.' * column}^"


class _Compiler:
    def __init__(self) -> None:
        self.causes: list[field_errors.Cause] = []

    def walk(
        self, schema: Mapping[str, Any], where: str, *, root: bool = False, correlated: bool = True
    ) -> cel_rules.Rules:
        rules = cel_rules.Rules(schema, root)
        for index, declared in enumerate(schema.get(structural.RULES) or ()):
            place = f"{where}.{structural.RULES}[{index}]"
            rule = self._rule(schema, declared, place, root=root, correlated=correlated)
            if rule is not None:
                rules.rules.append(rule)
        for key, part in (schema.get("properties") or {}).items():
            below = self.walk(part, f"{where}.properties[{key}]", correlated=correlated)
            if not below.empty:
                rules.properties[key] = below
        if isinstance(schema.get("additionalProperties"), dict):
            below = self.walk(schema["additionalProperties"], f"{where}.additionalProperties", correlated=correlated)
            rules.additional = None if below.empty else below
        if isinstance(schema.get("items"), dict):
            matched = correlated and schema.get(structural.LIST_TYPE) == "map"
            below = self.walk(schema["items"], f"{where}.items", correlated=matched)
            rules.items = None if below.empty else below
        return rules

    def _rule(
        self, schema: Mapping[str, Any], rule: Mapping[str, Any], where: str, *, root: bool, correlated: bool
    ) -> cel_rules.Rule | None:
        text = str(rule.get("rule") or "").strip()
        optional_old = bool(rule.get("optionalOldSelf"))
        transition = bool(_OLD_SELF.search(_STRING.sub('""', text)))
        before = len(self.causes)
        if not text:
            self.causes.append(field_errors.required(f"{where}.rule", "rule is not specified"))
            return None
        reason = rule.get("reason") or "FieldValueInvalid"
        if reason not in cel_rules.REASONS:
            self.causes.append(field_errors.unsupported(f"{where}.reason", reason, sorted(cel_rules.REASONS)))
        self._check_texts(schema, rule, where, root=root)
        if transition and not correlated and not optional_old:
            within = where.rpartition(".items")[0]
            problem = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
            self.causes.append(field_errors.invalid(f"{where}.rule", text, problem))
        program = self._program(schema, rule, "rule", where, root=root)
        message = self._program(schema, rule, "messageExpression", where, root=root)
        if program is None or len(self.causes) > before:
            return None
        return cel_rules.Rule(
            text,
            str(rule.get("message") or "").strip(),
            reason,
            str(rule.get("fieldPath") or ""),
            transition,
            optional_old,
            str(schema.get("type") or "object"),
            program,
            message,
        )

    def _check_texts(self, schema: Mapping[str, Any], rule: Mapping[str, Any], where: str, *, root: bool) -> None:
        """Collect what is wrong with a rule's message and field path."""
        message, path = rule.get("message") or "", rule.get("fieldPath") or ""
        if message and not message.strip():
            text = "must be non-empty if specified"
            self.causes.append(field_errors.invalid(f"{where}.message", message, text))
        place: Any = schema
        for number, part in enumerate(name for name in re.split(r"\.|\['|'\]", path) if name):
            known = cel_rules.fields(place, root=root and number == 0)
            additional = place.get("additionalProperties")
            place = known.get(part, additional if isinstance(additional, dict) else None)
            if place is None:
                self.causes.append(field_errors.invalid(f"{where}.fieldPath", path, "must be a valid path"))
                return

    def _program(
        self, schema: Mapping[str, Any], rule: Mapping[str, Any], word: str, where: str, *, root: bool
    ) -> cel.Expression | None:
        """Compile a rule or its message expression; None where there is none, or it is refused."""
        text = str(rule.get(word) or "").strip()
        if not text:
            return None
        optional_old = bool(rule.get("optionalOldSelf"))
        selections = _selections(schema, text, root=root, optional_old=optional_old)
        problem = selections.problem
        if not problem:
            try:
                checked = _compile(schema, selections.checked, selections.types, optional_old=optional_old)
                program = _compile(schema, text, {}, optional_old=optional_old)
            except RuntimeError as error:
                words = str(error).replace("INVALID_ARGUMENT: ", "").replace(" [INVALID_ARGUMENT]", "").strip()
                problem = f"compilation failed: {selections.restored(words)}"
            else:
                kind, wrong = _WANTED[word]
                if checked.return_type() in (kind, cel.Type.DYN):
                    return program
                problem = wrong
        given = json.dumps(_as_given(rule), separators=(",", ":"))
        for sign in "<>&":  # Go's encoder escapes them
            given = given.replace(sign, f"\\u{ord(sign):04x}")
        self.causes.append(
            field_errors.Cause(f"{where}.{word}", "FieldValueInvalid", f"Invalid value: {given}: {problem}")
        )
        return None


def _as_given(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule as the real server quotes it."""
    return {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


def compile_rules(schema: Mapping[str, Any], where: str) -> tuple[cel_rules.Rules, list[field_errors.Cause]]:
    """Return the rules of a resource's schema, and why some of them are refused (paths begin with `where`)."""
    compiler = _Compiler()
    return compiler.walk(schema, where, root=True), compiler.causes
