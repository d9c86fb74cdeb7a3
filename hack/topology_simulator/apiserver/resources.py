"""Which kinds exist: a `Resource` says everything that differs between one kind and the next, as data.

The handlers know no kind by name. `builtins` lists those of the cluster itself, `crds` makes one for every served
version of a CustomResourceDefinition. The `Registry` finds them by path, and changes while the server runs.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import cel, validation

ALL_VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a Table. `cell` reads it from an object; priority above 0 shows only with `-o wide`."""

    name: str
    type: str
    cell: Callable[[dict[str, Any]], Any]
    description: str = ""
    priority: int = 0
    format: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind in one served version."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    has_status: bool = False
    list_kind: str = ""
    custom: bool = False
    stored_as: str = ""
    """The apiVersion that stored objects carry; empty: this one's."""
    store_name: str = ""
    """The store, where it is not `group/plural` (events live in two groups and one store)."""
    columns: tuple[Column, ...] | None = None
    warnings: tuple[str, ...] = ()
    """Of a review: what its answer carries."""
    selectable: Mapping[str, Callable[[dict[str, Any]], str]] = field(default_factory=dict)
    """Fields besides metadata.name and metadata.namespace that a field selector may ask for."""
    schema: Mapping[str, Any] | None = None
    """The OpenAPI schema; None: an object with anything in it."""
    rules: list[cel.Rule] = field(default_factory=list)
    unconditional_update: bool = True
    """Whether a PUT without resourceVersion overwrites; otherwise it is refused."""
    status_on_create: bool = False
    """Whether a create keeps the status that it carries (nodes register with one)."""
    status_metadata: bool = False
    """Whether a status write may change labels and annotations too (nodes, pods)."""
    counts_generation: bool = False
    always: tuple[str, ...] = ()
    """Parts that every object of a built-in kind has, if empty: structs that are no pointers in the real server."""
    read: Callable[[dict[str, Any]], dict[str, Any]] = dict
    """Stored form → this version's form, apart from apiVersion and kind."""
    write: Callable[[dict[str, Any]], dict[str, Any]] = dict

    @property
    def qualified(self) -> str:
        """The name that messages use: `plural` or `plural.group`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """`v1` or `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def store(self) -> str:
        """The name of the store that holds the objects."""
        return self.store_name or f"{self.group}/{self.plural}"

    def to_wire(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return a stored object as this version shows it."""
        shown = self.read(obj)
        if self.schema is not None:
            shown = validation.default(self.schema, validation.prune_object(self.schema, shown)[0])
        rest = {key: value for key, value in shown.items() if key not in ("apiVersion", "kind")}
        return {"apiVersion": self.api_version, "kind": self.kind, **rest}

    def to_list_item(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return a stored object as an item of a list: built-in kinds leave apiVersion and kind out there."""
        shown = self.to_wire(obj)
        if not self.custom:
            del shown["apiVersion"], shown["kind"]
        return shown

    def to_stored(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return an object of this version as it is stored."""
        return {**self.write(obj), "apiVersion": self.stored_as or self.api_version, "kind": self.kind}


class Registry:
    """The kinds that are served now. `generation` changes whenever they do."""

    def __init__(self, kinds: Iterable[Resource] = ()) -> None:
        self._kinds: dict[tuple[str, str, str], Resource] = {}
        self.generation = 0
        for kind in kinds:
            self.add(kind)

    def add(self, resource: Resource) -> None:
        """Serve a kind; one of the same group, version and plural is replaced."""
        self._kinds[resource.group, resource.version, resource.plural] = resource
        self.generation += 1

    def remove(self, group: str, plural: str) -> None:
        """Stop serving a kind in all its versions."""
        for key in [key for key in self._kinds if key[0] == group and key[2] == plural]:
            del self._kinds[key]
        self.generation += 1

    def replace(self, kinds: Iterable[Resource]) -> None:
        """Serve these kinds and no others."""
        self._kinds.clear()
        for kind in kinds:
            self.add(kind)

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """Return the kind behind a path, or None."""
        return self._kinds.get((group, version, plural))

    def all(self) -> list[Resource]:
        """Return every kind in the order in which it was added."""
        return list(self._kinds.values())

    def groups(self) -> dict[str, list[str]]:
        """Return the served groups with their versions, in the order of their definitions; "" is the core group."""
        groups: dict[str, list[str]] = {}
        for group, version, _ in self._kinds:
            versions = groups.setdefault(group, [])
            if version not in versions:
                versions.append(version)
        return groups

    def kinds_of(self, group: str, version: str) -> list[Resource]:
        """Return the kinds of one group version, by plural."""
        kinds = [kind for kind in self._kinds.values() if (kind.group, kind.version) == (group, version)]
        return sorted(kinds, key=lambda kind: kind.plural)
