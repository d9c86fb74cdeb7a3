"""Does a cluster serve our fields? Asked at the start of the operator, and when a write came back without them.

Where the served definition of Infrastructure lacks them, a request and a record are dropped without a word, and "no
request" would be read where there is one. The fields that are looked for are walked out of the types themselves, not
out of the schema that `crd` makes of them: the operator asks this question at every start, and a schema generator is
not needed to answer it.
"""

from __future__ import annotations

import functools
import typing
from typing import Any, Final

from . import types, vocabulary

GROUP: Final = "config.openshift.io"
VERSION: Final = "v1"
NAME: Final = f"infrastructures.{GROUP}"
DESIRED: Final = vocabulary.DESIRED
RECORD: Final = vocabulary.RECORD


def lacking(definition: object) -> str:
    """What this definition lacks of the fields that the operator reads and writes, empty if nothing. Never raises.

    A field whose parent is missing is not named besides: the parent says enough.
    """
    content = mapping(definition)
    kind, name = content.get("kind"), mapping(content.get("metadata")).get("name")
    if kind != "CustomResourceDefinition" or name != NAME:
        return f"wanted CustomResourceDefinition {NAME}, found {kind or 'no kind'} {name or 'without a name'}"
    present = _served(content)
    if present is None:
        return f"{NAME} does not serve version {VERSION}"
    missing = sorted(path for path in _ours() - present if path.rpartition(".")[0] in {*present, ""})
    return f"{NAME} {VERSION} has no {', '.join(missing)}" if missing else ""


def serves_native_field(definition: object) -> bool:
    """Does this definition have the field that the native controller reads? Never raises, whatever it is given."""
    return f"spec.{vocabulary.NATIVE_DESIRED}" in (_served(mapping(definition)) or ())


def _served(content: dict[str, Any]) -> set[str] | None:
    """The fields of the version that we use, None where it is not served."""
    versions = mapping(content.get("spec")).get("versions")
    listed = [mapping(item) for item in versions] if isinstance(versions, list) else []
    version = next((item for item in listed if item.get("name") == VERSION), None)
    if version is None or version.get("served") is not True:
        return None
    return paths(mapping(version.get("schema")).get("openAPIV3Schema"))


def mapping(value: object) -> dict[str, Any]:
    """A JSON object, empty for everything else."""
    return value if isinstance(value, dict) else {}


def paths(schema: object, path: str = "") -> set[str]:
    """Return the dotted path of every field of a schema; items of a list count as fields of the list."""
    dotted: set[str] = set()
    known = mapping(schema)
    for name, child in mapping(known.get("properties")).items():
        inner = f"{path}.{name}" if path else str(name)
        dotted |= {inner} | paths(child, inner)
    return dotted | (paths(known["items"], path) if "items" in known else set())


@functools.cache
def _ours() -> frozenset[str]:
    record = f"status.{RECORD}"
    fields = _fields(types.TopologyTransition, record)
    return frozenset({"spec", f"spec.{DESIRED}", "status", record, *fields})


def _fields(model: type[types.ApiModel], path: str) -> set[str]:
    dotted: set[str] = set()
    for name, field in model.model_fields.items():
        inner = f"{path}.{field.alias or name}"
        dotted.add(inner)
        for nested in _models(field.annotation):
            dotted |= _fields(nested, inner)
    return dotted


def _models(annotation: object) -> list[type[types.ApiModel]]:
    """The models inside an annotation such as `tuple[Check, ...]` or `Progress | None`."""
    if isinstance(annotation, type) and issubclass(annotation, types.ApiModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in _models(part)]
