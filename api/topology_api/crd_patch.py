"""Our part of the Infrastructure API, put into the definition that a cluster already serves, and taken out again.

On a real cluster the definition belongs to the release payload and is many times larger than `crd` makes it: other
fields, other rules, several versions. `add` returns the JSON patch that brings our fields, rules and columns of
version v1 to the present level and leaves everything else alone; on a definition that is level it is empty. `remove`
is the way back. Whether a cluster has our fields at all is the question of `served`.

What is ours is recognised by where it points: a rule whose fieldPath is our request, a column that shows one of our
fields. So what an older release of this operator put there is replaced, and what others put there is not. Every change
of a list item is preceded by a `test` of it, so that a patch which is applied late fails instead of hitting the wrong
item.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import crd
from . import served as served_fields

if TYPE_CHECKING:
    from collections.abc import Callable

Operation = dict[str, Any]
"""One operation of a JSON patch (RFC 6902)."""


class NotPatchableError(Exception):
    """What is served is not an Infrastructure definition that our part fits into; the text says what was found."""


def add(served: dict[str, Any], edges: tuple[crd.Edge, ...]) -> list[Operation]:
    """Return the JSON patch that brings a served definition to our level; empty when it is there.

    Raises NotPatchableError when it is not the Infrastructure definition, has no v1, or v1 has no schema for spec and
    status with both topologies, or no status subresource.
    """
    version = _Version.of(served)
    version.demand()
    return version.guarded(
        [
            *version.set_field("spec", crd.DESIRED, crd.desired_schema()),
            *version.set_field("status", crd.RECORD, crd.record_schema()),
            *version.set_list(("schema", "openAPIV3Schema", crd.RULES), crd.rules(edges), _is_our_rule),
            *version.set_list(("additionalPrinterColumns",), version.missing_columns(), _is_our_column),
        ]
    )


def remove(served: dict[str, Any]) -> list[Operation]:
    """Return the JSON patch that takes our part out of a served definition; empty when there is none.

    Raises NotPatchableError like `add`, except for what is missing in the schema.
    """
    version = _Version.of(served)
    return version.guarded(
        [
            *version.set_list(("additionalPrinterColumns",), [], _is_our_column),
            *version.set_list(("schema", "openAPIV3Schema", crd.RULES), [], _is_our_rule),
            *version.drop_field("status", crd.RECORD),
            *version.drop_field("spec", crd.DESIRED),
        ]
    )


def apply(document: dict[str, Any], operations: list[Operation]) -> dict[str, Any]:
    """Return a copy of a document with a patch of `add` or `remove` applied, as the API server would.

    Raises NotPatchableError when a `test` does not hold: the document is not the one that the patch was made for.
    """
    patched = copy.deepcopy(document)
    for operation in operations:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        holder: Any = patched
        for part in way:
            holder = holder[int(part)] if isinstance(holder, list) else holder[part]
        value = copy.deepcopy(operation.get("value"))
        place: Any = last
        if isinstance(holder, list):
            place = len(holder) if last == "-" else int(last)
        if operation["op"] == "test":
            if holder[place] != value:
                raise NotPatchableError(f"{operation['path']} is not what the patch was made for")
        elif operation["op"] == "remove":
            del holder[place]
        elif operation["op"] == "add" and isinstance(holder, list):
            holder.insert(place, value)
        else:
            holder[place] = value
    return patched


def _is_our_rule(rule: object) -> bool:
    return served_fields.mapping(rule).get("fieldPath") == crd.DESIRED_PATH


def _is_our_column(column: object) -> bool:
    path = str(served_fields.mapping(column).get("jsonPath"))
    ours = path in {crd.DESIRED_PATH, f".status.{crd.RECORD}"} or path.startswith(f".status.{crd.RECORD}.")
    return ours or column in crd.columns()


def _pointer(*parts: str | int) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


@dataclass(frozen=True, slots=True)
class _Version:
    """Version v1 of a served definition, and where it stands."""

    index: int
    content: dict[str, Any]

    @classmethod
    def of(cls, served: object) -> _Version:
        content = served_fields.mapping(served)
        spec = served_fields.mapping(content.get("spec"))
        kind, name = content.get("kind"), served_fields.mapping(content.get("metadata")).get("name")
        if kind != "CustomResourceDefinition" or name != crd.NAME or spec.get("group") != crd.GROUP:
            raise NotPatchableError(
                f"wanted CustomResourceDefinition {crd.NAME}, found {kind or 'no kind'} {name or 'without a name'}"
            )
        versions = spec.get("versions")
        listed = versions if isinstance(versions, list) else []
        for index, version in enumerate(listed):
            if served_fields.mapping(version).get("name") == crd.VERSION:
                return cls(index, version)
        names = ", ".join(str(served_fields.mapping(version).get("name")) for version in listed) or "none"
        raise NotPatchableError(f"{crd.NAME} has no version {crd.VERSION}; it has {names}")

    @property
    def schema(self) -> dict[str, Any]:
        return served_fields.mapping(served_fields.mapping(self.content.get("schema")).get("openAPIV3Schema"))

    def part(self, name: str) -> dict[str, Any]:
        return served_fields.mapping(served_fields.mapping(self.schema.get("properties")).get(name))

    def demand(self) -> None:
        where = f"{crd.NAME} {crd.VERSION}"
        for name in ("spec", "status"):
            if not self.part(name):
                raise NotPatchableError(f"{where} has no schema for {name}")
        known = served_fields.mapping(self.part("status").get("properties"))
        for name in ("controlPlaneTopology", "infrastructureTopology"):
            if name not in known:
                raise NotPatchableError(f"{where} has no status.{name}, which our rules speak of")
        if "status" not in served_fields.mapping(self.content.get("subresources")):
            raise NotPatchableError(f"{where} has no status subresource")

    def guarded(self, operations: list[Operation]) -> list[Operation]:
        if not operations:
            return []
        name = {"op": "test", "path": _pointer("spec", "versions", self.index, "name"), "value": crd.VERSION}
        return [{"op": "test", "path": "/metadata/name", "value": crd.NAME}, name, *operations]

    def set_field(self, part: str, name: str, schema: dict[str, Any]) -> list[Operation]:
        known = self.part(part).get("properties")
        at = self._at("schema", "openAPIV3Schema", "properties", part, "properties")
        if not isinstance(known, dict):
            return [{"op": "add", "path": at, "value": {name: schema}}]
        if known.get(name) == schema:
            return []
        operation = "replace" if name in known else "add"
        return [{"op": operation, "path": at + _pointer(name), "value": schema}]

    def drop_field(self, part: str, name: str) -> list[Operation]:
        if name not in served_fields.mapping(self.part(part).get("properties")):
            return []
        at = self._at("schema", "openAPIV3Schema", "properties", part, "properties", name)
        return [{"op": "remove", "path": at}]

    def set_list(self, path: tuple[str, ...], wanted: list[Any], ours: Callable[[object], bool]) -> list[Operation]:
        """Make the items of ours in a list the wanted ones, in their order, where the first of them stood."""
        holder: dict[str, Any] = self.content
        for name in path[:-1]:
            holder = served_fields.mapping(holder.get(name))
        present = holder.get(path[-1])
        at = self._at(*path)
        if not isinstance(present, list):
            return [{"op": "add", "path": at, "value": wanted}] if wanted else []
        places = [index for index, item in enumerate(present) if ours(item)]
        if [present[index] for index in places] == wanted:
            return []
        operations: list[Operation] = []
        for place, item in zip(places, wanted, strict=False):
            if present[place] != item:
                operations += [self._test(at, place, present[place])]
                operations += [{"op": "replace", "path": f"{at}/{place}", "value": item}]
        for place in reversed(places[len(wanted) :]):
            operations += [self._test(at, place, present[place]), {"op": "remove", "path": f"{at}/{place}"}]
        operations += [{"op": "add", "path": f"{at}/-", "value": item} for item in wanted[len(places) :]]
        if len(places) == len(present) and not wanted:
            return [{"op": "remove", "path": at}]
        return operations

    def missing_columns(self) -> list[dict[str, Any]]:
        """Return our columns, without those whose field another column shows already."""
        columns = self.content.get("additionalPrinterColumns") or []
        shown = {served_fields.mapping(column).get("jsonPath") for column in columns if not _is_our_column(column)}
        return [column for column in crd.columns() if column["jsonPath"] not in shown]

    def _at(self, *parts: str | int) -> str:
        return _pointer("spec", "versions", self.index, *parts)

    @staticmethod
    def _test(at: str, place: int, value: Any) -> Operation:
        return {"op": "test", "path": f"{at}/{place}", "value": value}
