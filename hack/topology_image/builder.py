"""Reads a Dockerfile and performs it in a folder: its own lines, each RUN in a sandbox of its own, no container engine.

The words are found by dockerfile-parse; what is not known here is refused with the line: a skipped step is one that
nothing has checked. In place of the base image every stage sees the system's programs and libraries, read-only, and an
interpreter of the version that the base has, or of another one, which is said. A RUN that writes anywhere but to the
stage's own folders fails. `pin_base` renews the base's digest (`make base`): a tag is another image tomorrow.
"""

from __future__ import annotations

import fnmatch
import hashlib
import http.client
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import dockerfile_parse  # type: ignore[import-untyped] # it has no types

from . import ImageError, ran, sandbox

OWN = ("build", "licenses", "manifests", "opt")
"""The top folders that stages write to."""
_PATH = "/usr/local/bin:/usr/bin:/bin"
# How packages are reached is this machine's affair, as it would be the engine's.
_REACHING = ("PIP_CERT", "PIP_CONFIG_FILE", "PIP_DEFAULT_TIMEOUT", "PIP_INDEX_URL", "SSL_CERT_FILE", "SSL_CERT_DIR")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
_CACHE = "/cache"
_RUN_SECONDS = 300.0


@dataclass(slots=True)
class Image:
    """What a stage has made: its own folders below `root`, and what it says about itself."""

    root: pathlib.Path
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": _PATH})
    labels: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = ""
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    def own(self) -> dict[str, str]:
        """Return the folders as a sandbox takes them."""
        return {name: str(self.root / name) for name in OWN}


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds a recipe from a context; `given` are the build arguments, `prefix` the interpreter's folder.

    `tell` gets each step before it is performed. `cache` is where packages that were fetched are kept; what comes out
    of it is compared with the hashes of the locked files like what is fetched.
    """

    recipe: Recipe
    context: pathlib.Path
    given: Mapping[str, str]
    prefix: pathlib.Path
    tell: Callable[[str], None]
    cache: pathlib.Path | None = None

    def build(self, place: pathlib.Path) -> Image:
        """Perform every stage below an empty folder; return the last one. Raises ImageError."""
        before = {**self.recipe.arguments, **{k: v for k, v in self.given.items() if k in self.recipe.arguments}}
        built: dict[str, Image] = {}
        for stage in self.recipe.stages:
            base = built.get(filled(stage.base, before))
            image = Image(place / stage.name)
            if base is not None:
                shutil.copytree(base.root, image.root, symlinks=True)
                image.environment, image.workdir, image.user = dict(base.environment), base.workdir, base.user
            for name in OWN:
                (image.root / name).mkdir(parents=True, exist_ok=True)
            built[stage.name] = image
            self._perform(stage, image, built)
        return image

    def _perform(self, stage: Stage, image: Image, built: Mapping[str, Image]) -> None:
        arguments: dict[str, str] = {}
        for step in stage.steps:
            values = {**arguments, **image.environment}
            self.tell(f"{stage.name}: {step.word} {step.value.split('&&')[0].strip()[:90]}")
            if step.word == "ARG":
                name, default = step.argument()
                arguments[name] = self.given.get(name, filled(default or "", values))
            elif step.word == "COPY":
                self._copy(step, filled(step.value, values), image, built)
            elif step.word == "RUN":
                self._run(step, image, values)
            else:
                _declare(step, image, values)

    def _copy(self, step: Step, value: str, image: Image, built: Mapping[str, Image]) -> None:
        words = value.split()
        source, ignored = self.context, _ignored(self.context)
        if words[0].startswith("--from="):
            source, ignored = built[words.pop(0).removeprefix("--from=")].root, lambda _: False
        *froms, to = words
        target = pathlib.PurePosixPath(image.workdir, to)
        place = image.root / str(target).lstrip("/")
        if target.parts[1:2] and target.parts[1] not in OWN:
            raise ImageError(f"line {step.line}: COPY to {target}: not one of {', '.join(OWN)}")
        paths = [path for name in froms for path in sorted(source.glob(name.strip("/")))]
        if len(paths) < len(froms):
            raise ImageError(f"line {step.line}: COPY {value}: found only {[str(path) for path in paths]}")
        for path in paths:
            if ignored(path):
                raise ImageError(f"line {step.line}: COPY {path.name}: .dockerignore keeps it out")
            if path.is_dir():
                shutil.copytree(
                    path,
                    place,
                    symlinks=True,
                    dirs_exist_ok=True,
                    ignore=lambda folder, names: [name for name in names if ignored(pathlib.Path(folder, name))],
                )
            else:
                goal = place / path.name if to.endswith("/") else place
                goal.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, goal)

    def _run(self, step: Step, image: Image, values: Mapping[str, str]) -> None:
        reaching = {name: os.environ[name] for name in (*_REACHING, *_PROXIES) if name in os.environ}
        cached = {} if self.cache is None else {"PIP_CACHE_DIR": _CACHE}
        inside = sandbox.Sandbox(
            own=image.own(),
            environment={**reaching, **cached, **values, "HOME": "/build"},
            command=["/bin/sh", "-c", step.value],
            workdir=image.workdir,
            others=shown(self.prefix),
            shared={} if self.cache is None else {_CACHE: str(self.cache)},
            writable=True,
        )
        done = ran(sandbox.enter(inside), _RUN_SECONDS)
        if done.returncode != 0:
            raise ImageError(
                f"line {step.line}: RUN {step.value}\nexit code {done.returncode}\n{done.stdout}{done.stderr}"
            )


def shown(prefix: pathlib.Path) -> dict[str, str]:
    """Return what a sandbox has to show besides the system for an interpreter of this prefix."""
    return {} if prefix.parts[1] == "usr" else {str(prefix): str(prefix)}


def _declare(step: Step, image: Image, values: Mapping[str, str]) -> None:
    """Take over what a step says about the image without doing anything."""
    match step.word:
        case "ENV":
            image.environment.update(step.pairs(values))
        case "LABEL":
            image.labels.update(step.pairs(values))
        case "WORKDIR":
            image.workdir = str(pathlib.PurePosixPath(image.workdir, filled(step.value, values)))
        case "USER":
            image.user = filled(step.value, values)
        case "ENTRYPOINT":
            image.entrypoint, image.command = _exec_form(step), []
        case "CMD":
            image.command = _exec_form(step)


def _exec_form(step: Step) -> list[str]:
    try:
        words = json.loads(step.value)
    except ValueError:
        raise ImageError(f"line {step.line}: {step.word} {step.value}: only the exec form needs no shell") from None
    return [str(word) for word in words]


def let_in(context: pathlib.Path) -> list[str]:
    """Return what .dockerignore leaves of a context, by name."""
    return sorted(rule[1:] for rule in _rules(context) if rule.startswith("!"))


def _rules(context: pathlib.Path) -> list[str]:
    lines = (context / ".dockerignore").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _ignored(context: pathlib.Path) -> Callable[[pathlib.Path], bool]:
    """Return whether .dockerignore keeps a path out. Understood: `*`, `!NAME` and `**/NAME`, the forms that we use."""
    rules = _rules(context)
    inside = {rule[1:] for rule in rules if rule.startswith("!")}
    anywhere = {rule[3:] for rule in rules if rule.startswith("**/")}
    odd = [rule for rule in rules if rule != "*" and rule[1:] not in inside and rule[3:] not in anywhere]
    if odd or "*" not in rules:
        raise ImageError(f".dockerignore: {odd or 'no line *'} is not understood here")

    def kept_out(path: pathlib.Path) -> bool:
        parts = path.relative_to(context).parts
        return parts[0] not in inside or any(fnmatch.fnmatch(part, rule) for part in parts for rule in anywhere)

    return kept_out


WORDS = frozenset({"ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "LABEL", "RUN", "USER", "WORKDIR"})
_VARIABLE = re.compile(r"\$(?:(?P<bare>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})")
_FROM = re.compile(r"(?P<base>\S+)(?:\s+[Aa][Ss]\s+(?P<name>\S+))?")


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction; `line` counts from 1."""

    line: int
    word: str
    value: str

    def pairs(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return what ENV or LABEL sets, with its variables filled in. Raises ImageError."""
        pairs = {}
        for part in shlex.split(self.value):
            name, equals, text = part.partition("=")
            if not equals:
                raise ImageError(f"line {self.line}: {self.word} {part}: only NAME=VALUE is understood")
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


def read_recipe(path: pathlib.Path) -> Recipe:
    """Read a Dockerfile. Raises ImageError, OSError."""
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
                raise ImageError(f"line {step.line}: FROM {step.value} is not understood")
            stages.append((match["name"] or f"stage-{len(stages)}", match["base"], []))
        elif step.word not in WORDS:
            raise ImageError(f"line {step.line}: {step.word} is not understood")
        elif stages:
            stages[-1][2].append(step)
        else:
            name, default = step.argument()
            arguments[name] = default or ""
    if not stages:
        raise ImageError("there is no FROM")
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


def pin_base(recipe: pathlib.Path) -> str:
    """Write the digest of the base's tag into this Dockerfile; return the whole name. Raises ImageError."""
    text = recipe.read_text(encoding="utf-8")
    base = _BASE.search(text)
    if base is None:
        raise ImageError(f"{recipe}: no line ARG BASE=HOST/NAME:TAG")
    url = f"https://{base['host']}/v2/{base['name']}/manifests/{base['tag']}"
    request = urllib.request.Request(url, headers={"Accept": _INDEXES})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - https
            claimed, body = answer.headers.get("Docker-Content-Digest"), answer.read(_LARGEST + 1)
    except (OSError, http.client.HTTPException) as error:
        raise ImageError(f"{base['image']}: the registry does not answer: {error}") from None
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    if len(body) > _LARGEST or claimed != digest:
        raise ImageError(f"{base['image']}: the registry claims digest {claimed}, its answer has {digest}")
    recipe.write_text(
        text[: base.start()] + f"ARG BASE={base['image']}@{digest}" + text[base.end() :], encoding="utf-8"
    )
    return f"{base['image']}@{digest}"
