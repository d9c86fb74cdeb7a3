"""`x-kubernetes-validations`: the rules of a whole object, compiled to programs and evaluated as the server does.

The runtime knows no object types: only an evaluation says that a field is not there. Not available, and refused or
failing with an error: rules below the root of a schema, the functions that Kubernetes adds (addresses, URLs,
quantities, sets, `find`, formats), two-variable macros (`all(i, v, ...)`), names that rules have to escape, and times
inside of objects. A rule that fails to evaluate refuses the request with the error in its message, in words of its own
for a field that is not there: a definition must guard with has().
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
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
_REASONS = {
    "FieldValueInvalid": "Invalid value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required value",
}


def _compile(text: str, *, optional_old: bool) -> cel.Expression:
    variables = {"self": cel.Type.DYN, "oldSelf": cel.Type.DYN}
    if optional_old:
        variables = {"self": cel.Type.DYN, "oldSelfFound__": cel.Type.BOOL, "oldSelfValue__": cel.Type.DYN}
        text = f"{_OLD_OPTIONAL}{text})"
    return cel.NewEnv(variables=variables, extensions=EXTENSIONS).compile(text)


@dataclass(frozen=True, slots=True)
class Rule:
    """One compiled rule."""

    text: str
    message: str
    reason: str
    field_path: str
    transition: bool
    optional_old: bool
    program: cel.Expression
    message_program: cel.Expression | None

    def evaluate(self, value: dict[str, Any], old: dict[str, Any] | None) -> field_errors.Cause | None:
        """Return the cause when the rule does not hold or cannot be evaluated; `old` is None on creation."""
        data: dict[str, Any] = {"self": value}
        if self.optional_old:
            data |= {"oldSelfFound__": old is not None, "oldSelfValue__": old}
        elif self.transition:
            if old is None:
                return None
            data["oldSelf"] = old
        result = self.program.eval(data=data)
        if result.type() == cel.Type.ERROR:
            detail = f"{result.plain_value()} evaluating rule: {self.message or self.text}"
            return field_errors.invalid("<nil>", "object", detail)
        if result.plain_value() is True:
            return None
        detail = self._message(data) or self.message or f"failed rule: {self.text}"
        where = self.field_path.lstrip(".") or "<nil>"
        return field_errors.Cause(where, self.reason, f"{_REASONS[self.reason]}: {detail}")

    def _message(self, data: dict[str, Any]) -> str:
        if self.message_program is None:
            return ""
        result = self.message_program.eval(data=data)
        if result.type() != cel.Type.STRING:
            return ""
        text = str(result.plain_value()).strip()
        return "" if "\n" in text else text


def compile_rules(schema: Mapping[str, Any], where: str) -> tuple[list[Rule], list[field_errors.Cause]]:
    """Return the rules of a schema, and why some of them are refused; paths begin with `where`."""
    rules: list[Rule] = []
    causes: list[field_errors.Cause] = []
    for index, rule in enumerate(schema.get(validation.RULES) or ()):
        optional_old = bool(rule.get("optionalOldSelf"))
        programs: dict[str, cel.Expression | None] = {"rule": None, "messageExpression": None}
        for word in programs:
            if not (expression := str(rule.get(word) or "").strip()):
                continue
            try:
                programs[word] = _compile(expression, optional_old=optional_old)
            except RuntimeError as error:
                place, problem = f"{where}.{validation.RULES}[{index}].{word}", f"compilation failed: {error}"
                causes.append(field_errors.invalid(place, expression, problem))
        text, message = rule["rule"].strip(), str(rule.get("message") or "").strip()
        reason, path = rule.get("reason") or "FieldValueInvalid", str(rule.get("fieldPath") or "")
        transition = bool(_OLD_SELF.search(text))
        rules.append(Rule(text, message, reason, path, transition, optional_old, *programs.values()))
    return rules, causes


def judge(
    schema: Mapping[str, Any],
    rules: list[Rule],
    obj: dict[str, Any],
    old: dict[str, Any] | None,
    before: list[field_errors.Cause],
) -> list[field_errors.Cause]:
    """Return every broken rule: `before`, those of the schema, and of CEL unless the others block it."""
    causes = [*before, *validation.validate(schema, obj, old)]
    if not rules:
        return causes
    if any(cause.reason in _BLOCKING for cause in causes):
        return [*causes, field_errors.invalid("<nil>", None, _UNCHECKED)]
    broken = (rule.evaluate(obj, old) for rule in rules)
    return [*causes, *(cause for cause in broken if cause is not None)]
