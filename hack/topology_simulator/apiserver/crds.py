"""CustomResourceDefinitions: served as soon as they are stored.

`admit` fills in what the real server defaults, refuses a definition whose rules do not compile, and sets its conditions
at once: there is no controller to wait for. Whether it makes sense is for the real server to judge, which is given the
same ones. Conversion between versions changes apiVersion only.
"""

import functools
import json
import re
from collections.abc import Callable
from typing import Any

from .. import conditions
from . import cel, field_errors, resources, statuses, table, validation
from .builtins import CUSTOM_RESOURCE_DEFINITIONS
from .resources import Column, Resource

_NOT_JUDGED = (
    "allOf", "oneOf", "not", "multipleOf", "exclusiveMinimum", "exclusiveMaximum", "minProperties", "maxProperties",
    "minItems",
)  # fmt: skip
"""Words of schemas that none of the definitions has that are served here."""
_STEP = re.compile(r"""\.((?:\\.|[^.\[\]\\*])+)|\[\?\(@\.([^.\[\]\\*=!]+)=="([^"]*)"\)\]""")


def admit(obj: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
    """Return a definition as it is stored. Raises StatusError 422 for one that this server cannot serve."""
    spec = dict(obj["spec"])
    names = {"singular": spec["names"]["kind"].lower(), "listKind": spec["names"]["kind"] + "List"}
    spec["names"] = {**names, **spec["names"]}
    spec.setdefault("conversion", {"strategy": "None"})
    causes = [cause for version in spec["versions"] for cause in _compiled(*_schema(version))[1]]
    if spec["conversion"].get("strategy") != "None":
        text = "conversion webhooks are not available in this server"
        causes.append(field_errors.forbidden("spec.conversion.strategy", text))
    if causes:
        raise statuses.invalid(CUSTOM_RESOURCE_DEFINITIONS, obj["metadata"].get("name", ""), causes)
    return {**obj, "spec": spec, "status": _status(spec, old)}


def _schema(version: dict[str, Any]) -> tuple[str, str]:
    place = f"spec.versions[{version['name']}].schema.openAPIV3Schema"
    return json.dumps(version["schema"]["openAPIV3Schema"], sort_keys=True), place


@functools.lru_cache(maxsize=256)
def _compiled(schema: str, where: str) -> tuple[list[cel.Rule], list[field_errors.Cause]]:
    """Return the rules of a schema; the same text is compiled once in a process."""
    parsed = json.loads(schema)
    rules, causes = cel.compile_rules(parsed, where)
    causes += [
        field_errors.forbidden(f"{where}: {word}", "not available in this server")
        for word in _NOT_JUDGED
        if f'"{word}":' in schema
    ]
    if schema.count(f'"{validation.RULES}":') > (validation.RULES in parsed):
        text = "not available in this server but at the root"
        causes.append(field_errors.forbidden(f"{where}: {validation.RULES}", text))
    return rules, causes


def _status(spec: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
    wanted = conditions.stated("definition served")
    before = (old or {}).get("status") or {}
    storage = next(item["name"] for item in spec["versions"] if item.get("storage"))
    stored = list(before.get("storedVersions") or ())
    return {
        "acceptedNames": spec["names"],
        "conditions": conditions.merged({"status": before}, wanted) or before["conditions"],
        "storedVersions": stored if storage in stored else [*stored, storage],
    }


def json_path(text: str) -> Callable[[Any], list[Any]]:
    r"""Return the function from a JSON value to all values at the simple JSON path of a column.

    Known are names (`\.` is a dot in one), and a field compared with a text, as
    `.status.conditions[?(@.type=="Available")].status`. Raises ValueError for anything else.
    """
    steps: list[tuple[str | None, str | None, str | None]] = []
    position = 0
    while not steps or position < len(text):
        step = _STEP.match(text, position)
        if step is None:
            raise ValueError(f"unrecognized JSON path at {text[position:]!r}")
        steps.append((step[1] and step[1].replace("\\.", "."), step[2], step[3]))
        position = step.end()

    def find(value: Any) -> list[Any]:
        values = [value]
        for name, key, wanted in steps:
            if name is None:
                items = [item for value in values if isinstance(value, list) for item in value]
                values = [item for item in items if isinstance(item, dict) and item.get(key) == wanted]
            else:
                values = [value[name] for value in values if isinstance(value, dict) and name in value]
        return values

    return find


def _cell(kind: str, path: str) -> Callable[[dict[str, Any]], Any]:
    find = json_path(path)

    def cell(obj: dict[str, Any]) -> Any:
        values = find(obj)
        if not values:
            return None
        value = values[0]
        if kind == "date":
            return table.age(value) if isinstance(value, str) else "<unknown>"
        if kind == "string" and not isinstance(value, str):
            return "" if value is None else json.dumps(value, separators=(",", ":"))
        return value

    return cell


def _columns(version: dict[str, Any]) -> tuple[Column, ...]:
    columns = [table.NAME]
    for declared in version.get("additionalPrinterColumns") or ():
        name, kind, path = declared["name"], declared["type"], declared["jsonPath"]
        about = declared.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
        columns.append(Column(name, kind, _cell(kind, path), about, int(declared.get("priority") or 0)))
    return tuple(columns) if columns[1:] else table.CUSTOM


def resources_of(obj: dict[str, Any]) -> list[Resource]:
    """Return the kinds that a stored definition serves, one for each served version."""
    spec = obj["spec"]
    names, group = spec["names"], spec["group"]
    storage = next(version["name"] for version in spec["versions"] if version.get("storage"))
    served: list[Resource] = []
    for version in spec["versions"]:
        if not version.get("served"):
            continue
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
                list_kind=names["listKind"],
                custom=True,
                stored_as=f"{group}/{storage}",
                columns=_columns(version),
                schema=version["schema"]["openAPIV3Schema"],
                rules=_compiled(*_schema(version))[0],
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
