"""Does what an `oc` command says that the operator has printed, without oc: the demo runs on a machine that has none.

What is understood is what the operator's advisories and messages use: `patch --type merge`, `delete` by name or by
label, `annotate` and `label`, joined with `&&`. Anything else (a shell's substitution, `oc debug`) is refused: a
command that is done by halves would prove nothing.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from . import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from . import client

_FLAGS = {"-n": "namespace", "--namespace": "namespace", "--type": "type", "-p": "patch", "--patch": "patch",
          "-l": "selector", "--selector": "selector", "--subresource": "subresource"}  # fmt: skip

_IN_A_MESSAGE = re.compile(r"""\boc (?:'[^']*'|"[^"]*"|(?!\.\s)[^'"])*""")


class CommandError(Exception):
    """A command that cannot be done here; the message says why."""


def within(message: str) -> str:
    """Return the first command that a message has, up to the end of its sentence; empty when there is none."""
    match = _IN_A_MESSAGE.search(message)
    return match.group().strip().removesuffix(".") if match else ""


async def run(api: client.Client, text: str) -> None:
    """Do every command of a line, in order. Raises CommandError, ClientError."""
    for words in _split(text):
        await _Command(text, words).run(api)


def _split(text: str) -> Iterator[list[str]]:
    if "$(" in text or "`" in text:
        raise CommandError(f"{text}: needs a shell")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise CommandError(f"{text}: {error}") from error
    part: list[str] = []
    for word in [*words, "&&"]:
        if word != "&&":
            part.append(word)
            continue
        if len(part) < 2 or part[0] not in ("oc", "kubectl"):
            raise CommandError(f"{text}: only oc commands are understood here")
        yield part[1:]
        part = []


class _Command:
    """One command: verb, what it is about, flags."""

    def __init__(self, text: str, words: list[str]) -> None:
        self._text = text
        self._flags: dict[str, str] = {}
        plain: list[str] = []
        remaining = iter(words)
        for word in remaining:
            flag, _, value = word.partition("=") if word.startswith("--") else (word, "", "")
            if flag in _FLAGS:
                self._flags[_FLAGS[flag]] = value or next(remaining, "")
            elif word != "--overwrite":
                plain.append(word)
        self._verb, *self._words = plain

    async def run(self, api: client.Client) -> None:
        """Do it."""
        verbs = {"patch": self._patch, "delete": self._delete, "annotate": self._note, "label": self._note}
        if self._verb not in verbs or any(word.startswith("-") for word in self._words):
            raise self._refused("is not understood here")
        await verbs[self._verb](api)

    @property
    def _namespace(self) -> str:
        return self._flags.get("namespace", "")

    def _refused(self, why: str) -> CommandError:
        return CommandError(f"{self._text}: {why}")

    def _object(self) -> tuple[kinds.Kind, str]:
        """Return kind and name, given as two words or as kind/name; no name when there is a selector."""
        kind, _, name = self._words.pop(0).partition("/") if self._words else ("", "", "")
        try:
            known = kinds.named(kind)
        except LookupError as error:
            raise self._refused(str(error)) from error
        if not name and "selector" not in self._flags:
            if not self._words:
                raise self._refused("names no object")
            name = self._words.pop(0)
        return known, name

    async def _patch(self, api: client.Client) -> None:
        kind, name = self._object()
        if self._flags.get("type") != "merge":
            raise self._refused("only --type merge is understood here")
        try:
            change = json.loads(self._flags.get("patch", ""))
        except ValueError as error:
            raise self._refused(f"the patch is no JSON: {error}") from error
        await api.patch(kind, name, change, self._namespace, self._flags.get("subresource", ""))

    async def _delete(self, api: client.Client) -> None:
        kind, name = self._object()
        names = [name] if name else [obj["metadata"]["name"] for obj in await self._selected(api, kind)]
        for each in names:
            await api.delete(kind, each, self._namespace)

    async def _selected(self, api: client.Client, kind: kinds.Kind) -> list[dict[str, Any]]:
        key, _, value = self._flags["selector"].partition("=")
        listed = await api.list(kind, self._namespace)
        return [obj for obj in listed if (obj["metadata"].get("labels") or {}).get(key) == value]

    async def _note(self, api: client.Client) -> None:
        kind, name = self._object()
        part = "annotations" if self._verb == "annotate" else "labels"
        pairs = [word.partition("=") for word in self._words]
        if not pairs or not all(sign for _, sign, _ in pairs):
            raise self._refused("wants key=value")
        change = {"metadata": {part: {key: value for key, _, value in pairs}}}
        await api.patch(kind, name, change, self._namespace)
