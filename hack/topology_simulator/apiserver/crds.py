"""CustomResourceDefinitions: judged when written, served as soon as they are stored.

`admit` fills in what the real server defaults (names, the Age column), refuses a definition whose schema is
not structural or whose rules do not compile, and sets the conditions `NamesAccepted` and `Established` at
once: there is no controller to wait for. `serve` registers one `Resource` for every served version.
Conversion between versions changes apiVersion only; a conversion webhook is refused.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from . import cel, columns, field_errors, jsonpath, scales, statuses, structural, times, validation
from .builtins import CUSTOM_RESOURCE_DEFINITIONS
from .resources import Column, Resource, version_priority

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from . import cel_rules, resources

_BLOCKING = frozenset({
    "FieldValueRequired", "FieldValueNotSupported", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid",
})  # fmt: skip
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


class StructuralSchema:
    """A version's schema, ready to be applied (`resources.Schema`)."""

    def __init__(self, schema: Mapping[str, Any], rules: cel_rules.Rules) -> None:
        self._schema = schema
        self._rules = rules
        self._list_keys = dict(structural.find_list_keys(schema))

    def prune(self, obj: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return the object without unknown fields, and the paths of those."""
        return structural.prune_object(self._schema, obj)

    def default(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return the object with defaults filled in."""
        filled: dict[str, Any] = structural.default(self._schema, obj)
        return filled

    def validate(
        self, obj: dict[str, Any], old: dict[str, Any] | None, before: list[field_errors.Cause]
    ) -> list[field_errors.Cause]:
        """Return every broken rule: `before`, those of the schema, and of CEL unless the others block it."""
        causes = [*before, *validation.validate(self._schema, obj, old)]
        if self._rules.empty:
            return causes
        if any(cause.reason in _BLOCKING for cause in causes):
            return [*causes, field_errors.invalid("<nil>", None, _UNCHECKED)]
        return [*causes, *self._rules.validate(obj, validation.MISSING if old is None else old)]

    def list_keys(self) -> Mapping[tuple[str, ...], tuple[str, ...]]:
        """Return the key fields of every map-list, by its path."""
        return self._list_keys


def admit(obj: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
    """Return a definition as it is stored. Raises StatusError 422."""
    name = obj["metadata"].get("name", "")
    causes = _check_spec(obj, old)
    if causes:
        raise statuses.invalid(CUSTOM_RESOURCE_DEFINITIONS, name, causes)
    spec = dict(obj["spec"])
    names = {"singular": spec["names"]["kind"].lower(), "listKind": spec["names"]["kind"] + "List"}
    spec["names"] = {**names, **spec["names"]}
    spec.setdefault("conversion", {"strategy": "None"})
    causes = [*_check_change(spec, old), *_check_versions(spec)]
    if causes:
        raise statuses.invalid(CUSTOM_RESOURCE_DEFINITIONS, name, causes)
    return {**obj, "spec": spec, "status": _status(spec, old)}


def _check_spec(obj: dict[str, Any], old: dict[str, Any] | None) -> list[field_errors.Cause]:
    spec = obj.get("spec")
    if not isinstance(spec, dict):
        return [field_errors.required("spec")]
    causes = [
        field_errors.required(f"spec.{key}") for key in ("group", "names", "scope", "versions") if not spec.get(key)
    ]
    if causes:
        return causes
    names = spec["names"]
    causes = [field_errors.required(f"spec.names.{key}") for key in ("plural", "kind") if not names.get(key)]
    wanted = f"{names.get('plural')}.{spec['group']}"
    if old is None and obj["metadata"].get("name") != wanted:
        text = 'must be spec.names.plural+"."+spec.group'
        causes.append(field_errors.invalid("metadata.name", obj["metadata"].get("name"), text))
    if spec["scope"] not in ("Cluster", "Namespaced"):
        causes.append(field_errors.unsupported("spec.scope", spec["scope"], ("Cluster", "Namespaced")))
    if sum(1 for version in spec["versions"] if version.get("storage")) != 1:
        text = "must have exactly one version marked as storage version"
        causes.append(field_errors.Cause("spec.versions", "FieldValueInvalid", f"Invalid value: {text}"))
    if (spec.get("conversion") or {}).get("strategy", "None") != "None":
        text = "conversion webhooks are not available in this server"
        causes.append(field_errors.forbidden("spec.conversion.strategy", text))
    return causes


def _check_change(spec: dict[str, Any], old: dict[str, Any] | None) -> list[field_errors.Cause]:
    if old is None:
        return []
    pairs = [(f"spec.{field}", old["spec"][field], spec[field]) for field in ("group", "scope")]
    names, before = spec["names"], old["spec"]["names"]
    pairs += [(f"spec.names.{field}", before[field], names[field]) for field in ("plural", "kind")]
    return [
        field_errors.invalid(where, value, "field is immutable") for where, stored, value in pairs if stored != value
    ]


def _schema_path(spec: dict[str, Any], index: int) -> str:
    """Return where the schema of a version stands, as the real server names it."""
    single = len(spec["versions"]) == 1
    return "spec.validation.openAPIV3Schema" if single else f"spec.versions[{index}].schema.openAPIV3Schema"


def _check_versions(spec: dict[str, Any]) -> list[field_errors.Cause]:
    causes: list[field_errors.Cause] = []
    single = len(spec["versions"]) == 1
    for index, version in enumerate(spec["versions"]):
        where = _schema_path(spec, index)
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            causes.append(field_errors.required(f"spec.versions[{index}].schema.openAPIV3Schema"))
            continue
        broken = structural.check(schema, where)
        causes += broken
        if not broken:
            causes += _check_defaults(schema, where)
            causes += _compiled(json.dumps(schema, sort_keys=True), where)[1]
        below = "spec" if single else f"spec.versions[{index}]"
        for number, column in enumerate(version.get("additionalPrinterColumns") or ()):
            causes += _check_column(column, f"{below}.additionalPrinterColumns[{number}]")
    return causes


def _check_column(column: dict[str, Any], where: str) -> list[field_errors.Cause]:
    causes: list[field_errors.Cause] = []
    path = column.get("jsonPath", "")
    if column.get("type") not in _COLUMN_TYPES:
        text = f"must be one of {','.join(_COLUMN_TYPES)}"
        causes.append(field_errors.invalid(f"{where}.type", column.get("type"), text))
    if not path.startswith("."):
        causes.append(field_errors.invalid(f"{where}.JSONPath", path, "must be a simple json path starting with ."))
        return causes
    try:
        jsonpath.compile_path(path)
    except jsonpath.PathError as error:
        causes.append(field_errors.invalid(f"{where}.JSONPath", path, str(error)))
    return causes


def _check_defaults(schema: Any, where: str) -> list[field_errors.Cause]:
    """Return the defaults that break their own schema."""
    causes: list[field_errors.Cause] = []
    if "default" in schema:
        for cause in validation.validate_part(schema, structural.default(schema, schema["default"])):
            at = f"{where}.default" + (f".{cause.field}" if cause.field != "<nil>" else "")
            causes.append(field_errors.Cause(at, cause.reason, cause.message))
    for key, part in (schema.get("properties") or {}).items():
        causes += _check_defaults(part, f"{where}.properties[{key}]")
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            causes += _check_defaults(schema[word], f"{where}.{word}")
    return causes


@functools.lru_cache(maxsize=256)
def _compiled(schema: str, where: str) -> tuple[StructuralSchema, tuple[field_errors.Cause, ...]]:
    """Return the schema ready to be applied; the same text is compiled once in a process."""
    parsed = json.loads(schema)
    rules, causes = cel.compile_rules(parsed, where)
    return StructuralSchema(parsed, rules), tuple(causes)


def _status(spec: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
    before = {item["type"]: item for item in ((old or {}).get("status") or {}).get("conditions") or ()}

    def condition(kind: str, reason: str, message: str) -> dict[str, Any]:
        since = before.get(kind, {}).get("lastTransitionTime") or times.now()
        return {"lastTransitionTime": since, "message": message, "reason": reason, "status": "True", "type": kind}

    storage = next(item["name"] for item in spec["versions"] if item.get("storage"))
    stored = list(((old or {}).get("status") or {}).get("storedVersions") or ())
    return {
        "acceptedNames": spec["names"],
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "storedVersions": stored if storage in stored else [*stored, storage],
    }


def _cell(kind: str, path: str) -> Callable[[dict[str, Any]], Any]:
    find = jsonpath.compile_path(path)

    def cell(obj: dict[str, Any]) -> Any:
        values = find(obj)
        if not values:
            return None
        value = values[0]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        match kind:
            case "string":
                return value if isinstance(value, str) else _text(value)
            case "date":
                return times.age(value) if isinstance(value, str) else "<unknown>"
            case "integer":
                return int(value) if number else None
            case "number":
                return value if number else None
        return value if isinstance(value, bool) else None

    return cell


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, separators=(",", ":"))


def _columns(version: dict[str, Any]) -> tuple[Column, ...]:
    declared = version.get("additionalPrinterColumns")
    return (columns.NAME, *map(_column, declared)) if declared else columns.CUSTOM


def _column(declared: dict[str, Any]) -> Column:
    path = declared["jsonPath"]
    return Column(
        declared["name"],
        declared["type"],
        _cell(declared["type"], path),
        declared.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
        int(declared.get("priority") or 0),
        declared.get("format", ""),
    )


def _deprecation(spec: dict[str, Any], version: dict[str, Any]) -> tuple[str, ...]:
    """Return the warning that goes with a deprecated version."""
    if not version.get("deprecated"):
        return ()
    if version.get("deprecationWarning"):
        return (str(version["deprecationWarning"]),)
    kind, group = spec["names"]["kind"], spec["group"]
    better = sorted(
        (other["name"] for other in spec["versions"] if other.get("served") and not other.get("deprecated")),
        key=version_priority,
    )
    use = f"; use {group}/{better[0]} {kind}" if better else ""
    return (f"{group}/{version['name']} {kind} is deprecated{use}",)


def _selectable(version: dict[str, Any]) -> dict[str, Callable[[dict[str, Any]], str]]:
    """Return the fields that a field selector may ask for besides name and namespace."""
    paths = [field["jsonPath"] for field in version.get("selectableFields") or ()]
    return {path.removeprefix("."): _selected(jsonpath.compile_path(path)) for path in paths}


def _selected(find: Callable[[Any], list[Any]]) -> Callable[[dict[str, Any]], str]:
    def read(obj: dict[str, Any]) -> str:
        value = next(iter(find(obj)), None)
        return value if isinstance(value, str) else _text(value)

    return read


def resources_of(obj: dict[str, Any]) -> list[Resource]:
    """Return the kinds that a stored definition serves, one for each served version."""
    spec = obj["spec"]
    names, group = spec["names"], spec["group"]
    storage = next(version["name"] for version in spec["versions"] if version.get("storage"))
    served: list[Resource] = []
    for index, version in enumerate(spec["versions"]):
        if not version.get("served"):
            continue
        schema = version["schema"]["openAPIV3Schema"]
        served.append(
            Resource(
                group,
                version["name"],
                names["plural"],
                names["kind"],
                spec["scope"] == "Namespaced",
                singular=names["singular"],
                short_names=tuple(names.get("shortNames") or ()),
                categories=tuple(names.get("categories") or ()),
                has_status=(version.get("subresources") or {}).get("status") is not None,
                scaling=scales.of(version),
                list_kind=names["listKind"],
                custom=True,
                stored_as=f"{group}/{storage}",
                columns=_columns(version),
                warnings=_deprecation(spec, version),
                selectable=_selectable(version),
                schema=_compiled(json.dumps(schema, sort_keys=True), _schema_path(spec, index))[0],
                json_schema=schema,
                unconditional_update=False,
                counts_generation=True,
            )
        )
    return served


def serve(registry: resources.Registry, obj: dict[str, Any]) -> None:
    """Serve what a stored definition says, and nothing that it no longer says."""
    registry.remove(obj["spec"]["group"], obj["spec"]["names"]["plural"])
    for resource in resources_of(obj):
        registry.add(resource)
