"""Performs a Dockerfile in a folder: its own lines, each RUN in a sandbox of its own, no container engine.

The base image is what cannot be had without one. In its place every stage sees the system's programs and libraries,
read-only, and an interpreter of the version that the base has, or of another one, which is said. What a stage makes
lands in the folders that are its own; a RUN that writes anywhere else fails, as nothing else can be written.

The context is what .dockerignore leaves of the checkout.
"""

import fnmatch
import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from . import dockerfile, sandbox

OWN = ("build", "licenses", "manifests", "opt")
"""The top folders that stages write to."""
_PATH = "/usr/local/bin:/usr/bin:/bin"
# How packages are reached is this machine's affair, as it would be the engine's.
_REACHING = ("PIP_CERT", "PIP_CONFIG_FILE", "PIP_DEFAULT_TIMEOUT", "PIP_INDEX_URL", "SSL_CERT_FILE", "SSL_CERT_DIR")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
_CACHE = "/cache"
_RUN_SECONDS = 300.0


class BuildError(Exception):
    """A step failed; the message has its line and what it said."""


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

    recipe: dockerfile.Recipe
    context: pathlib.Path
    given: Mapping[str, str]
    prefix: pathlib.Path
    tell: Callable[[str], None]
    cache: pathlib.Path | None = None

    def build(self, place: pathlib.Path) -> Image:
        """Perform every stage below an empty folder; return the last one. Raises BuildError, DockerfileError."""
        before = {**self.recipe.arguments, **{k: v for k, v in self.given.items() if k in self.recipe.arguments}}
        built: dict[str, Image] = {}
        for stage in self.recipe.stages:
            base = built.get(dockerfile.filled(stage.base, before))
            image = Image(place / stage.name)
            if base is not None:
                shutil.copytree(base.root, image.root, symlinks=True)
                image.environment, image.workdir, image.user = dict(base.environment), base.workdir, base.user
            for name in OWN:
                (image.root / name).mkdir(parents=True, exist_ok=True)
            built[stage.name] = image
            self._perform(stage, image, built)
        return image

    def _perform(self, stage: dockerfile.Stage, image: Image, built: Mapping[str, Image]) -> None:
        arguments: dict[str, str] = {}
        for step in stage.steps:
            values = {**arguments, **image.environment}
            self.tell(f"{stage.name}: {step.word} {step.value.split('&&')[0].strip()[:90]}")
            if step.word == "ARG":
                name, default = step.argument()
                arguments[name] = self.given.get(name, dockerfile.filled(default or "", values))
            elif step.word == "COPY":
                self._copy(step, dockerfile.filled(step.value, values), image, built)
            elif step.word == "RUN":
                self._run(step, image, values)
            else:
                _declare(step, image, values)

    def _copy(self, step: dockerfile.Step, value: str, image: Image, built: Mapping[str, Image]) -> None:
        words = value.split()
        source, ignored = self.context, _ignored(self.context)
        if words[0].startswith("--from="):
            source, ignored = built[words.pop(0).removeprefix("--from=")].root, lambda _: False
        *froms, to = words
        target = pathlib.PurePosixPath(image.workdir, to)
        place = image.root / str(target).lstrip("/")
        if target.parts[1:2] and target.parts[1] not in OWN:
            raise BuildError(f"line {step.line}: COPY to {target}: not one of {', '.join(OWN)}")
        paths = [path for name in froms for path in sorted(source.glob(name.strip("/")))]
        if len(paths) < len(froms):
            raise BuildError(f"line {step.line}: COPY {value}: found only {[str(path) for path in paths]}")
        for path in paths:
            if ignored(path):
                raise BuildError(f"line {step.line}: COPY {path.name}: .dockerignore keeps it out")
            if path.is_dir():
                shutil.copytree(path, place, symlinks=True, dirs_exist_ok=True, ignore=_skipping(ignored))
            else:
                goal = place / path.name if to.endswith("/") else place
                goal.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, goal)

    def _run(self, step: dockerfile.Step, image: Image, values: Mapping[str, str]) -> None:
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
        done = subprocess.run(  # noqa: S603 - the Dockerfile's own line, in a sandbox
            sandbox.enter(inside),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_RUN_SECONDS,
        )  # fmt: skip
        if done.returncode != 0:
            raise BuildError(
                f"line {step.line}: RUN {step.value}\nexit code {done.returncode}\n{done.stdout}{done.stderr}"
            )


def shown(prefix: pathlib.Path) -> dict[str, str]:
    """Return what a sandbox has to show besides the system for an interpreter of this prefix."""
    return {} if prefix.parts[1] == "usr" else {str(prefix): str(prefix)}


def _declare(step: dockerfile.Step, image: Image, values: Mapping[str, str]) -> None:
    """Take over what a step says about the image without doing anything."""
    match step.word:
        case "ENV":
            image.environment.update(step.pairs(values))
        case "LABEL":
            image.labels.update(step.pairs(values))
        case "WORKDIR":
            image.workdir = str(pathlib.PurePosixPath(image.workdir, dockerfile.filled(step.value, values)))
        case "USER":
            image.user = dockerfile.filled(step.value, values)
        case "ENTRYPOINT":
            image.entrypoint, image.command = _exec_form(step), []
        case "CMD":
            image.command = _exec_form(step)


def _exec_form(step: dockerfile.Step) -> list[str]:
    try:
        words = json.loads(step.value)
    except ValueError:
        raise BuildError(f"line {step.line}: {step.word} {step.value}: only the exec form needs no shell") from None
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
        raise BuildError(f".dockerignore: {odd or 'no line *'} is not understood here")

    def kept_out(path: pathlib.Path) -> bool:
        parts = path.relative_to(context).parts
        return parts[0] not in inside or any(fnmatch.fnmatch(part, rule) for part in parts for rule in anywhere)

    return kept_out


def _skipping(ignored: Callable[[pathlib.Path], bool]) -> Callable[[str, list[str]], list[str]]:
    return lambda folder, names: [name for name in names if ignored(pathlib.Path(folder, name))]
