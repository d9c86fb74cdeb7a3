"""Reads a Dockerfile: its stages, their steps, and the variables that steps refer to; renews its base (`make base`).

The words are found by dockerfile-parse; what they mean stands here, as far as our Dockerfile needs it. Whatever it
does not know is refused with the line: a step that would be skipped unseen is one that nothing has checked. `builder`
performs what is read. The base image's tag is another image tomorrow; a digest is not, and has to be renewed with each
security fix. The registry is asked by its own API (OCI distribution spec), and its answer must have the digest that it
claims.
"""

import hashlib
import http.client
import io
import pathlib
import re
import shlex
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass

import dockerfile_parse  # type: ignore[import-untyped] # it has no types

WORDS = frozenset({"ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "LABEL", "RUN", "USER", "WORKDIR"})
_VARIABLE = re.compile(r"\$(?:(?P<bare>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})")
_FROM = re.compile(r"(?P<base>\S+)(?:\s+[Aa][Ss]\s+(?P<name>\S+))?")


class DockerfileError(Exception):
    """The Dockerfile says something that is not understood here; the message has the line."""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction; `line` counts from 1."""

    line: int
    word: str
    value: str

    def pairs(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return what ENV or LABEL sets, with its variables filled in. Raises DockerfileError."""
        pairs = {}
        for part in shlex.split(self.value):
            name, equals, text = part.partition("=")
            if not equals:
                raise DockerfileError(f"line {self.line}: {self.word} {part}: only NAME=VALUE is understood")
            pairs[name] = filled(text, values)
        return pairs

    def argument(self) -> tuple[str, str | None]:
        """Return the name that ARG declares, and its default, None without one."""
        name, equals, text = self.value.partition("=")
        return name, "".join(shlex.split(text)) if equals else None


@dataclass(frozen=True, slots=True)
class Stage:
    """From one FROM to the next; `base` is as written."""

    name: str
    base: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A whole Dockerfile; `arguments` are those before the first FROM, with their defaults."""

    arguments: Mapping[str, str]
    stages: tuple[Stage, ...]


def read(path: pathlib.Path) -> Recipe:
    """Read a Dockerfile. Raises DockerfileError, OSError."""
    structure = dockerfile_parse.DockerfileParser(fileobj=io.BytesIO(path.read_bytes())).structure
    arguments: dict[str, str] = {}
    stages: list[tuple[str, str, list[Step]]] = []
    for part in structure:
        step = Step(part["startline"] + 1, part["instruction"], part["value"])
        if step.word == "COMMENT":
            continue
        if step.word == "FROM":
            match = _FROM.fullmatch(step.value)
            if match is None:
                raise DockerfileError(f"line {step.line}: FROM {step.value} is not understood")
            stages.append((match["name"] or f"stage-{len(stages)}", match["base"], []))
        elif step.word not in WORDS:
            raise DockerfileError(f"line {step.line}: {step.word} is not understood")
        elif stages:
            stages[-1][2].append(step)
        else:
            name, default = step.argument()
            arguments[name] = default or ""
    if not stages:
        raise DockerfileError("there is no FROM")
    return Recipe(arguments, tuple(Stage(name, base, tuple(steps)) for name, base, steps in stages))


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return a text with $NAME and ${NAME} replaced; a variable without a value is empty, as an engine has it."""
    return _VARIABLE.sub(lambda match: values.get(match["bare"] or match["braced"], ""), text)


_BASE = re.compile(
    r"^ARG BASE=(?P<image>(?P<host>[^/\s]+)/(?P<name>[^:@\s]+):(?P<tag>[^@\s]+))(?P<digest>@\S+)?$", re.MULTILINE
)
_INDEXES = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json"
_LARGEST = 4 * 1024 * 1024
_SECONDS = 30.0


class BaseError(Exception):
    """The digest could not be had; the message says of what, and why."""


def pin(recipe: pathlib.Path) -> str:
    """Write the digest of the base's tag into this Dockerfile; return the whole name. Raises BaseError."""
    text = recipe.read_text(encoding="utf-8")
    base = _BASE.search(text)
    if base is None:
        raise BaseError(f"{recipe}: no line ARG BASE=HOST/NAME:TAG")
    url = f"https://{base['host']}/v2/{base['name']}/manifests/{base['tag']}"
    request = urllib.request.Request(url, headers={"Accept": _INDEXES})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - https
            claimed, body = answer.headers.get("Docker-Content-Digest"), answer.read(_LARGEST + 1)
    except (OSError, http.client.HTTPException) as error:
        raise BaseError(f"{base['image']}: the registry does not answer: {error}") from None
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    if len(body) > _LARGEST or claimed != digest:
        raise BaseError(f"{base['image']}: the registry claims digest {claimed}, its answer has {digest}")
    recipe.write_text(
        text[: base.start()] + f"ARG BASE={base['image']}@{digest}" + text[base.end() :], encoding="utf-8"
    )
    return f"{base['image']}@{digest}"
