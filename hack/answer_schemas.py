"""The schemas of `-o json`, docs/schemas: what a script may rely on, made of the types of the answers.

A field may come at any time, so a schema does not refuse those that it does not name. Descriptions are the docstrings.
The types are read with `typing` alone, so that the plugin imports nothing for the sake of its schemas: pydantic takes
a TypedDict of `typing` only from Python 3.12 on, and all that it refers to would have to be imported at run time.
"""

import json
import types
import typing
from typing import Any, Final

from kubectl_topology import answers, arguments, capi, consistency
from kubectl_topology.commands import explain, version
from topology_api import shape, vocabulary
from topology_controller.report import state

_ANSWERS: Final[dict[str, tuple[str, Any]]] = {
    "plan.json": ("TopologyPlan", answers.Plan),
    "plan-list.json": ("TopologyPlanList", answers.Overview),
    "set.json": ("TopologySet", answers.Set),
    "cancel.json": ("TopologyCancel", answers.Cancel),
    "status.json": ("TopologyStatus", answers.Status),
    "audit.json": ("TopologyAudit", consistency.Audit),
    "audit-capi.json": ("CAPIAudit", capi.Audit),
    "fleet.json": ("TopologyFleet", answers.Fleet),
    "explain.json": ("TopologyExplanationList", explain.Explanations),
    "version.json": ("TopologyVersions", version.Versions),
}
_TYPES: Final = {str: "string", int: "integer", bool: "boolean", types.NoneType: "null"}
_NAMES: Final = {
    **vars(vocabulary),
    "FLEET_STATES": arguments.FLEET_STATES,
    "consistency": consistency,
    "Shape": shape.Shape,
    "state": state,
}
"""What the types refer to and import for type checkers only."""


def _described(*shapes: Any) -> dict[str, str]:
    """Return the description that the docstrings are, in the words of JSON."""
    texts = [" ".join(shape.__doc__.split()).replace("None", "null") for shape in shapes if shape.__doc__]
    return {"description": " ".join(texts)} if texts else {}


class _Definitions:
    """The definitions that a schema refers to, by name, in the order of the first mention."""

    def __init__(self) -> None:
        self.by_name: dict[str, Any] = {}
        self._types: dict[str, Any] = {}

    def fields(self, answer: Any) -> dict[str, Any]:
        """Return the schema of an object: its fields, and which of them are always there."""
        hints = typing.get_type_hints(answer, localns=_NAMES, include_extras=True)
        optional = {name for name, hint in hints.items() if typing.get_origin(hint) is typing.NotRequired}
        return {
            "type": "object",
            "properties": {name: self.schema(hint) for name, hint in hints.items()},
            "required": [name for name in hints if name not in optional],
        }

    def schema(self, hint: Any) -> dict[str, Any]:
        """Return the schema of a field. Raises TypeError for a type that no answer has had so far."""
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
        if typing.is_typeddict(hint):
            return self._reference(hint)
        if origin is typing.NotRequired:
            return self.schema(inner[0])
        if origin is typing.Annotated:
            # The words that a string is one of, or its format.
            detail = {"format": inner[1]} if isinstance(inner[1], str) else {"enum": [str(word) for word in inner[1]]}
            return {**({"type": "string"} if "format" in detail else {}), **detail}
        if origin is typing.Literal:
            return {"const": inner[0]} if len(inner) == 1 else {"enum": list(inner)}
        if origin in {typing.Union, types.UnionType}:
            return self._nullable(*(kind for kind in inner if kind is not types.NoneType))
        if origin is list:
            return {"type": "array", "items": self.schema(inner[0])}
        if origin is dict and inner[1] is Any:
            return {"type": "object"}
        if origin is dict:
            names = self.schema(inner[0])
            every = {"propertyNames": names, "required": names["enum"]} if "enum" in names else {}
            return {"type": "object", **every, "additionalProperties": self.schema(inner[1])}
        if hint not in _TYPES:
            raise TypeError(f"no answer has had a {hint} so far")
        return {"type": _TYPES[hint]}

    def _nullable(self, hint: Any) -> dict[str, Any]:
        schema = self.schema(hint)
        if "enum" in schema:
            return {"enum": [*schema["enum"], None]}
        return (
            {**schema, "type": [schema["type"], "null"]} if "type" in schema else {"anyOf": [schema, {"type": "null"}]}
        )

    def _reference(self, answer: Any) -> dict[str, Any]:
        """Return a reference, to the file of an answer that has one."""
        for file, (_, whole) in _ANSWERS.items():
            if answer is whole:
                return {"$ref": file}
        name = answer.__name__[0].lower() + answer.__name__[1:]
        if self._types.setdefault(name, answer) is not answer:
            raise TypeError(f"{name} is the name of two types of one answer")
        if name not in self.by_name:
            self.by_name[name] = {}  # its place
            self.by_name[name] = {**_described(answer), **self.fields(answer)}
        return {"$ref": f"#/$defs/{name}"}


def _lines(schema: dict[str, Any]) -> str:
    """Return it as text: a field of the answer a line, and a definition a line."""
    parts = []
    for key, value in schema.items():
        if key in {"properties", "$defs"}:
            rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(inner)}" for name, inner in value.items())
            parts.append(f"  {json.dumps(key)}: {{\n{rows}\n  }}")
        else:
            parts.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def texts() -> dict[str, str]:
    """Return the schemas, by the name of the file."""
    files = {}
    for file, (kind, answer) in _ANSWERS.items():
        definitions = _Definitions()
        whole = definitions.fields(answer)
        whole["properties"] |= {"apiVersion": {"const": answers.API_VERSION}, "kind": {"const": kind}}
        bases = [
            base
            for base in (answers.Judged, answers.Answer)
            if base.__annotations__.items() <= answer.__annotations__.items()
        ]
        files[file] = _lines(
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "title": kind,
                **_described(answer, *bases),
                **whole,
                **({"$defs": definitions.by_name} if definitions.by_name else {}),
            }
        )
    return files
