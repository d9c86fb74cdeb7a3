"""Where each part of a pack goes.

`File` is a part: a pack has two destinations, the hub and the managed clusters, and often two administrators. So each
says where it goes, who applies it, and in which Git repository it is at home. They are printed as one stream, or
written to a folder with a table.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import yaml

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Sequence

HUB: Final = "hub"
CLUSTERS: Final = "managed-clusters"
_HOME: Final = {HUB: "that of the hub", CLUSTERS: "that of the managed clusters"}
_PLACES: Final = {HUB: "the hub", CLUSTERS: "each managed cluster"}
_TABLE: Final = "README.md"
_MARK: Final = "# What goes where: fleet "
_HEAD: Final = ("file", "what", "where", "who applies it", "Git repository")


class ForeignFolderError(ValueError):
    """The folder has something that this pack would not write. The text says what, and what to do."""


@dataclass(frozen=True, slots=True)
class File:
    """A part of a pack."""

    place: str
    """HUB or CLUSTERS."""
    name: str
    what: str
    who: str
    text: str
    """YAML: documents, the last without a line `---` behind it."""
    alone: bool = False
    """It is only written to a folder: on the hub it would be wrong."""

    @property
    def path(self) -> str:
        """The file below the folder of the pack."""
        return f"{self.place}/{self.name}"


def stream(parts: Sequence[File]) -> str:
    """All parts as one stream of YAML, whose first line says where the documents go."""
    ranges, before = [], 0
    printed = [part for part in parts if not part.alone]
    for place in (CLUSTERS, HUB):
        number = sum(part.text.count("\n---\n") + 1 for part in printed if part.place == place)
        if number:
            first, before = before + 1, before + number
            ranges.append(f"{first}{f' to {before}' if number > 1 else ''} to {_PLACES[place]}")
    ordered = sorted(printed, key=lambda part: part.place == HUB)
    return f"# Documents: {', '.join(ranges)}. --output-dir DIR writes them apart.\n" + "---\n".join(
        part.text for part in ordered
    )


def table(engine: str, parts: Sequence[File]) -> str:
    """The table of a folder, in Markdown, in the order in which the files are applied."""
    rows = [_HEAD, ("---",) * len(_HEAD)]
    rows += [(f"`{part.path}`", part.what, _PLACES[part.place], part.who, _HOME[part.place]) for part in parts]
    listed = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return f"{_MARK}{engine}\n\nApply the files in this order.\n\n{listed}"


def write(folder: pathlib.Path, engine: str, parts: Sequence[File]) -> str:
    """Write the parts and their table below a folder, and return the table.

    The folder is made where it is missing; what an earlier run of the same engine has written is replaced. Raises
    ForeignFolderError, with nothing written, for a folder that has anything else, and OSError.
    """
    text = table(engine, parts)
    readme = folder / _TABLE
    if folder.exists() and not folder.is_dir():
        raise ForeignFolderError(f"{folder} is a file. Give a folder")
    top = sorted(folder.iterdir()) if folder.exists() else []
    present = [*top, *(place for entry in top if entry.name in _HOME for place in sorted(entry.rglob("*")))]
    known = {_TABLE, *_HOME, *(part.path for part in parts)}
    # A link may lead to what is not ours.
    foreign = [place for place in present if place.is_symlink() or place.relative_to(folder).as_posix() not in known]
    if present and (not readme.is_file() or not readme.read_text(encoding="utf-8").startswith(f"{_MARK}{engine}\n")):
        foreign.append(readme if readme.exists() else present[0])
    if foreign:
        raise ForeignFolderError(
            f"{folder} has {foreign[0].relative_to(folder)}, which fleet {engine} has not written. Nothing was "
            "written: give an empty folder, or one with this pack only"
        )
    for name, content in ((_TABLE, text), *((part.path, part.text) for part in parts)):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
    return text


def block(text: str, indent: int) -> str:
    """Indent the lines of a block of YAML, but the first, which stands where it is put."""
    return textwrap.indent(text.rstrip("\n"), " " * indent).lstrip(" ")


def flow(value: object) -> str:
    """Return a value as one line of YAML."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False).removesuffix("...\n").strip()
