"""`--must-gather DIR|FILE`: what `oc adm must-gather` or `oc adm inspect` has collected, in the place of a cluster.

Below each root are cluster-scoped-resources/GROUP and namespaces/NAMESPACE/GROUP (`core` is the core group) with
PLURAL.yaml, a list as the server sent it, and PLURAL/NAME.yaml; beside them `timestamp` (a line at the begin and the
end of each inspect), gather.logs, `version` and aggregated-discovery-apis.yaml. Sources: openshift/oc
pkg/cli/admin/inspect, pkg/cli/admin/mustgather/mustgather.go (6b8e30c5), openshift/must-gather
collection-scripts/gather (16ac27ee). Of several copies the newest counts. What is not in there does not exist only
where the archive proves that, else it is Unknown. Its time is when its Leases were read, so that ages are right.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import gzip
import itertools
import math
import os
import pathlib
import re
import tarfile
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar, cast

import yaml

from topology_controller.kube import client as clients
from topology_controller.kube import errors as kube
from topology_controller.kube import resource as resources
from topology_controller.observe import catalog

from . import answers, errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from topology_controller.definitions import load

    File: TypeAlias = tuple[tuple[str, ...], float, Callable[[], bytes]]

T = TypeVar("T")
Raw = dict[str, Any]
NOT_COLLECTED: Final = "not in the archive"
_LEASES: Final = ("coordination.k8s.io", "leases")
_WHOLE: Final = frozenset({("", "nodes"), _LEASES})
_SCOPES: Final = ("cluster-scoped-resources", "namespaces")
_ENDED: Final = b"Wrote inspect data to %bmust-gather.\n"
_DISCOVERY, _LOG, _TIMES, _VERSION = "aggregated-discovery-apis.yaml", "gather.logs", "timestamp", "version"
_READ: Final = {*_SCOPES, _DISCOVERY, _LOG, _TIMES, _VERSION}
_PAUSE: Final = timedelta(hours=1)
"""Between two runs: must-gather gives up after ten minutes."""
_GRACE: Final = timedelta(seconds=30)
_TIME: Final = re.compile(rb'(?m)^(?: *renewTime: "?)?([-\d]{10}[ T]\d\d:\d\d:\d\d)(?:\.\d+)? ?(Z|[+-]\d{4})')
"""Of a Lease, or Go's text of one in `timestamp`."""
_TERM: Final = re.compile(r"(!?)([^\s=!,()]+)(?:=([^,()]*)| in \(([^()]*)\))?(?:,|\Z)")
_NUMBER: Final = re.compile(r"[-+]?(?:0|[1-9]\d{0,18})(\.\d{1,18})?([eE][-+]?\d{1,3})?")
_WORDS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LARGEST_FILE, _MOST_KEPT, _LARGEST, _LARGEST_HEADER = 16 << 20, 256 << 20, 8 << 30, 64 << 10
"""Bytes of one file, of all that are kept, of an archive when unpacked, and of what stands before a file in it."""
_MOST_MEMBERS, _MOST_VALUES, _DEEPEST, _DEEPEST_ROOT = 1_000_000, 1_000_000, 100, 6
_BROKEN = (tarfile.TarError, OSError, EOFError, zlib.error, ValueError, ArithmeticError, LookupError)
_FOREIGN = (ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError)


class Place(NamedTuple):
    """What a file holds by its path: an object, or a list where there is no name. Without a namespace: a cluster's."""

    group: str
    plural: str
    namespace: str | None
    name: str | None


@dataclass(slots=True)
class Root:
    """What one image has collected: files with path, time in seconds and content; `places` has others, too."""

    files: dict[Place, tuple[str, float, bytes]] = field(default_factory=dict)
    places: set[Place] = field(default_factory=set)
    beside: dict[str, bytes] = field(default_factory=dict)
    _objects: dict[Place, list[Raw]] = field(default_factory=dict)

    def objects(self, place: Place) -> list[Raw]:
        """The objects of a file. Raises ValueError and its like, with the reason, for what is not as its path says."""
        if place not in self._objects:
            raw = _parsed(self.files[place][2])
            items = [raw] if place.name else list(raw.get("items") or [])
            for item in items:
                namespace, name = resources.key_of(item)
                group = str(item.get("apiVersion")).rpartition("/")[0]
                if (group, namespace) != (place.group, place.namespace) or place.name not in {None, name}:
                    raise ValueError("it holds something else")
            self._objects[place] = items
        return self._objects[place]

    def proves(self, resource: resources.Resource, namespace: str | None) -> bool:
        """Is what it has of a kind (in a namespace) all that there was? So it is where there is a list of them.

        Also where each inspect came to its end and a ClusterOperator that was inspected relates all of the kind, with
        no failure in the log, or with some object where there is no log; or the script collects the whole kind
        (`group_resources`, `all_ns_resources`) and some object is there that no ClusterOperator relates by name.
        """
        kind = (resource.group, resource.plural)
        if Place(*kind, namespace, None) in self.files:
            return True
        log, lines = self.beside.get(_LOG), len(_moments(self.beside.get(_TIMES)))
        ends = lines // 2 if log is None else log.count(_ENDED % b"") + log.count(_ENDED % b"/")
        if not lines or lines != 2 * ends or (log and f"skipping gathering {resource.label} ".encode() in log):
            return False
        related = {place for place in self._related() if place[:2] == kind}
        single = {place for place in self.places if place[:2] == kind and place.name}
        if any(place.name is None and place.namespace in {None, namespace} for place in related):
            return log is not None or any(namespace in {None, place.namespace} for place in single)
        by_script = self.beside.get(_VERSION, b"").startswith(b"openshift/must-gather")
        return by_script and kind in _WHOLE and not single <= related

    def lacks(self, resource: resources.Resource) -> bool:
        """Did the server not have the kind at all, by a discovery that was complete?"""
        kind = (resource.group, resource.plural)
        if not resource.group or any(place[:2] == kind for place in self.places):
            return False
        with contextlib.suppress(*_FOREIGN):
            listed = _parsed(self.beside[_DISCOVERY])["items"]
            versions = {each["metadata"]["name"]: each["versions"] for each in listed}.get(resource.group, [])
            plurals = [item["resource"] for version in versions for item in version.get("resources") or []]
            return resource.plural not in plurals and all(version["freshness"] == "Current" for version in versions)
        return False

    def _related(self) -> Iterator[Place]:
        for place in [each for each in self.files if each[:2] == (catalog.CONFIG, "clusteroperators") and each.name]:
            with contextlib.suppress(*_FOREIGN):
                for item in [item for raw in self.objects(place) for item in raw["status"].get("relatedObjects") or []]:
                    namespace, name = (item.get(key) or None for key in ("namespace", "name"))
                    yield Place(item.get("group") or "", item["resource"], namespace, name)


class Archive:
    """The client of a cluster that was collected, at `time` (aware UTC). `older` are sentences about older files."""

    request_timeout = 10.0

    def __init__(self, name: str, roots: list[Root]) -> None:
        self.name, self.older, self._roots = name, dict[str, str](), roots
        lines = sorted(moment for root in roots for moment in _moments(root.beside.get(_TIMES)))
        if not lines:
            raise _unusable(name, "has no file timestamp, which says when it was collected")
        begins = [lines[0], *(line for before, line in itertools.pairwise(lines) if line - before > _PAUSE)]
        leases = [file[2] for root in roots for place, file in root.files.items() if place[:2] == _LEASES]
        renewed = [moment for lease in leases for moment in _moments(lease)]
        self._begin = begins[-1]
        self.time = max([self._begin, *(moment for moment in renewed if moment <= lines[-1] + _GRACE)])

    async def get(self, resource: resources.Resource, name: str, *, namespace: str | None = None, **_: Any) -> Raw:
        """Return one object. Raises NotFound where the archive proves that there is none, else another KubeError."""
        objects = self._newest("get", resource, namespace, name)
        if (namespace, name) not in objects:
            self._prove("get", resource, namespace, name)
            raise kube.NotFound("get", resource, namespace, name, 404, "NotFound", "by the archive")
        return objects[namespace, name]

    async def list(self, selection: resources.Selection, reduce: Callable[[Raw], T], **_: object) -> clients.Listing[T]:
        """Return what a label selector selects. Raises KubeError where some may not be in the archive."""
        objects = self._newest("list", selection.resource, selection.namespace)
        self._prove("list", selection.resource, selection.namespace)
        selected = [raw for raw in objects.values() if _selects(selection.label_selector or "", raw)]
        return clients.Listing(tuple(map(reduce, selected)), "")

    def _prove(self, verb: str, resource: resources.Resource, namespace: str | None, name: str | None = None) -> None:
        if any(root.lacks(resource) for root in self._roots):
            raise kube.NotFound(verb, resource, namespace, name, 404, "", "the server did not have the kind")
        if not any(root.proves(resource, namespace) for root in self._roots):
            raise kube.KubeError(verb, resource, namespace, name, 0, NOT_COLLECTED, "")

    def _newest(
        self, verb: str, resource: resources.Resource, namespace: str | None, name: str | None = None
    ) -> dict[tuple[str | None, str], Raw]:
        """The newest copy of each object. Raises Malformed for a file that is not what its path says."""
        newest: dict[tuple[str | None, str], Raw] = {}
        for root, place in ((each, place) for each in self._roots for place in each.files):
            of_another = name is not None and place.name not in {None, name}
            if place[:2] != (resource.group, resource.plural) or of_another or namespace not in {None, place.namespace}:
                continue
            path, written, _ = root.files[place]
            try:
                objects = root.objects(place)
                if any(raw.get("kind") != resource.kind for raw in objects):
                    raise ValueError("it holds another kind")
            except _FOREIGN as error:
                reason = f"malformed in the archive: {' '.join(str(error).split())}"
                raise kube.Malformed(verb, resource, namespace, name, 0, reason, path) from error
            if 0 < written < (self._begin - _GRACE).timestamp():
                when = answers.stamp(datetime.fromtimestamp(written, UTC))
                self.older[path] = f"{path} was written at {when}, before the rest was collected"
            for raw in objects:
                before = newest.setdefault(resources.key_of(raw), raw)
                versions = [str(copy["metadata"].get("resourceVersion")) for copy in (before, raw)]
                if resources.is_older(*versions):
                    newest[resources.key_of(raw)] = raw
        return newest


def read(source: str, transitions: load.Transitions, namespace: str) -> Archive:
    """Read a folder or an archive, with the operator's namespace. Raises InputError when it cannot be used."""
    kept: dict[tuple[str, str], set[str | None]] = {_LEASES: {None}, ("", "configmaps"): {namespace}}
    settings = catalog.single_node_settings(transitions.matrix)
    for selection in [entry.selection for entry in (*catalog.ALL, *catalog.watched(transitions), *settings)]:
        kept.setdefault((selection.resource.group, selection.resource.plural), set()).add(selection.namespace)
    roots: dict[tuple[str, ...], Root] = collections.defaultdict(Root)
    size = 0
    try:
        for path, written, content in _contents(pathlib.Path(source)):
            scope = next((number for number, part in enumerate(path) if part in _SCOPES), len(path) - 1)
            place, read = _place(path[scope:]), b""
            if len(path) == scope + 1 and path[scope] in _READ and scope <= _DEEPEST_ROOT:
                read = roots[path[:scope]].beside[path[scope]] = content()
            elif place is not None and place[:2] in kept:
                roots[path[:scope]].places.add(place)
                if place.namespace is None or not kept[place[:2]].isdisjoint({None, place.namespace}):
                    read = content()
                    roots[path[:scope]].files[place] = "/".join(path), written, read
            size += len(read)
            if size > _MOST_KEPT:
                raise ValueError(f"it has more than {_MOST_KEPT >> 20} MiB of objects")
    except _BROKEN as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise _unusable(source, f"no must-gather in a folder, .tar or .tar.gz: {' '.join(str(why).split())}") from error
    if not any(place[:2] == (catalog.CONFIG, "infrastructures") for root in roots.values() for place in root.files):
        missing = f"cluster-scoped-resources/{catalog.CONFIG}/infrastructures.yaml"
        raise _unusable(source, f"is not what oc adm must-gather collects: it has no {missing}")
    return Archive(source, [root for root in roots.values() if root.places])


def _place(parts: tuple[str, ...]) -> Place | None:
    scope, *rest = parts
    namespace = rest.pop(0) if scope == _SCOPES[1] and rest else None
    if len(rest) not in {2, 3} or not rest[-1].endswith(".yaml"):
        return None
    name = rest[2].removesuffix(".yaml") if len(rest) > 2 else None
    return Place("" if rest[0] == "core" else rest[0], rest[1].removesuffix(".yaml"), namespace, name)


def _contents(source: pathlib.Path, above: tuple[str, ...] = ()) -> Iterator[File]:
    """Yield paths below the source, when each was written, and what reads it, or the first byte that is too many."""
    if not source.is_dir():
        with source.open("rb") as file:
            yield from _members(_Forward(gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == b"\x1f\x8b" else file))
        return
    for entry in os.scandir(source):
        path = (*above, entry.name)
        if entry.is_dir(follow_symlinks=False):
            if len(path) <= _DEEPEST_ROOT + len(Place._fields):
                yield from _contents(source / entry.name, path)
        elif _is_plain(path, entry.is_file(follow_symlinks=False)):
            with open(entry.path, "rb") as file:  # noqa: PTH123 - a name from os.scandir
                yield path, entry.stat(follow_symlinks=False).st_mtime, lambda: file.read(_LARGEST_FILE + 1)


def _members(stream: _Forward) -> Iterator[File]:
    tar: Any
    with tarfile.open(fileobj=cast("Any", stream), mode="r:") as tar:
        for _ in range(_MOST_MEMBERS):
            stream.left = _LARGEST_HEADER
            member = tar.next()
            tar.members.clear()
            if member is None:
                if not stream.last or stream.last.strip(b"\0"):
                    raise EOFError("it ends too early")
                return
            path = tuple(part for part in member.name.split("/") if part not in {"", "."})
            if member.name.startswith("/") or ".." in path:
                raise ValueError(f"{member.name[:200]!r} leads outside")
            if path and not member.isdir() and _is_plain(path, member.isreg() and not member.issparse()):
                stream.left = min(member.size, _LARGEST_FILE + 1)
                yield path, member.mtime, lambda: stream.read(stream.left)
    raise ValueError(f"it has more than {_MOST_MEMBERS} members")


def _is_plain(path: tuple[str, ...], regular: bool) -> bool:  # noqa: FBT001 - it has one caller for each kind of source
    """Is it a file? Raises ValueError for a link or a device where something would be read; others are passed over."""
    if not regular and not _READ.isdisjoint(path):
        raise ValueError(f"{'/'.join(path)[:200]!r} is a link or a device")
    return regular


class _Forward:
    """A stream for tarfile that is read onwards only, and `left` bytes of it at once: a header may declare anything."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._at, self.last, self.left = stream, 0, b"", _LARGEST_HEADER

    def tell(self) -> int:
        return self._at

    def read(self, size: int) -> bytes:
        if size > self.left:
            raise ValueError("a header is too large")
        self.left -= size
        self.last = self._stream.read(size)
        self._at += len(self.last)
        return self.last

    def seek(self, position: int) -> None:
        if not self._at <= position <= _LARGEST:
            raise ValueError(f"it is larger than {_LARGEST >> 30} GiB, or out of order")
        while self._at < position:
            skipped = len(self._stream.read(min(position - self._at, 1 << 20)))
            if not skipped:
                raise EOFError("it ends too early")
            self._at += skipped


@functools.lru_cache(maxsize=8)  # discovery is looked at for each kind
def _parsed(content: bytes) -> Raw:
    """The object in one YAML document, of JSON's types. Raises what is `_FOREIGN`."""
    if len(content) > _LARGEST_FILE:
        raise ValueError(f"it is larger than {_LARGEST_FILE >> 20} MiB")
    stack: list[list[Any]] = [[]]
    for number, event in enumerate(yaml.parse(content, Loader=_LOADER)):
        if isinstance(event, yaml.AliasEvent) or len(stack) > _DEEPEST or number > _MOST_VALUES:
            raise ValueError("it has aliases, or too many levels or values")
        if isinstance(event, yaml.ScalarEvent):
            stack[-1].append(event.value if event.style else _scalar(event.value))
        elif isinstance(event, yaml.CollectionStartEvent):
            stack.append([])
        elif isinstance(event, yaml.CollectionEndEvent):
            done = stack.pop()
            in_pairs = isinstance(event, yaml.MappingEndEvent)
            stack[-1].append(dict(zip(done[::2], done[1::2], strict=True)) if in_pairs else done)
    if len(stack[0]) != 1 or not isinstance(stack[0][0], dict):
        raise ValueError("it holds no object")
    return stack[0][0]


def _scalar(text: str) -> Any:
    if text in _WORDS or not (number := _NUMBER.fullmatch(text)):
        return _WORDS.get(text, text)
    value = float(text) if number[1] or number[2] else int(text)
    return value if math.isfinite(value) else text


def _moments(text: bytes | None) -> list[datetime]:
    """The times in a text, in aware UTC, without those that no calendar has."""
    moments = []
    for second, zone in _TIME.findall(text or b""):
        with contextlib.suppress(ValueError, OverflowError):
            moments.append(datetime.fromisoformat((second + zone).decode()).astimezone(UTC))
    return moments


def _selects(selector: str, raw: Raw) -> bool:
    """Does a label selector such as `a`, `!a`, `a=b`, `a in (b,c)`, or several with commas, select an object?"""
    labels = raw["metadata"].get("labels")
    labels = labels if isinstance(labels, dict) else {}
    for absent, label, value, among in _TERM.findall(selector):
        has = label in labels and (not (value or among) or labels[label] in [value, *among.split(",")])
        if has is bool(absent):
            return False
    return True


def _unusable(source: str, why: str) -> errors.InputError:
    return errors.InputError([f"--must-gather: {source}: {why}"], errors.ExitCode.USAGE)
