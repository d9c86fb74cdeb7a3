"""`make image-check`: performs the Dockerfile in build/image and compares the result with docs/development/image.md.

What was measured is printed, and written to figures.json there; `make sbom` reads the folder.
"""

import asyncio
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

from . import ImageError, bom, builder, layer_rules, locks, ran, running, sandbox

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "image"
STAGES = PLACE / "stages"
FIGURES = "figures.json"
EPOCH = 1767225600
"""The time of a commit is taken for an image; here, any that shows that it arrives."""
_COMMIT = "0123456789ab"
_VERSION_FILE = ROOT / "controller" / "topology_controller" / "_version.py"
_WANTED = "3.12"
_PYTHON_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Interpreter:
    """What stands in for the base image's: its path, the folder that it needs, and its version, such as 3.12."""

    path: str
    prefix: pathlib.Path
    version: str


def interpreter(asked: str | None) -> Interpreter:
    """Return the one that is asked for; else one of the base image's version; else the one that runs here."""
    versions = (pathlib.Path.home() / ".pyenv" / "versions").glob(f"{_WANTED}.*/bin/python{_WANTED}")
    here = [f"python{_WANTED}", *map(str, sorted(versions, reverse=True)), os.path.realpath(sys.executable)]
    for candidate in [asked] if asked else here:
        script = (
            "import json, os, sys\n"
            "print(json.dumps([os.path.realpath(sys.executable), sys.base_prefix, '%d.%d' % sys.version_info[:2]]))"
        )
        try:
            done = ran([candidate, "-c", script], _PYTHON_SECONDS)
            done.check_returncode()
        except (OSError, subprocess.SubprocessError):
            continue
        path, prefix, version = json.loads(done.stdout)
        return Interpreter(path, pathlib.Path(prefix), version)
    raise ImageError(f"{asked} is not an interpreter that runs here")


def layer_of(image: builder.Image, chosen: Interpreter) -> layer_rules.Layer:
    """Return the application layer, with the folders that nothing in it may name."""
    inner = tuple(f"/build/{name}" for name in ("api", "bindata", "controller", "dist"))
    return layer_rules.Layer(image.root, chosen.path, (str(ROOT), str(image.root.parent), *inner), EPOCH)


def version() -> str:
    """Return the version that is stamped: the one of the source, and a commit."""
    match = re.search(r'__version__ = "([^"]+)"', _VERSION_FILE.read_text(encoding="utf-8"))
    if match is None:
        raise ImageError(f"{_VERSION_FILE} has no __version__")
    return f"{match[1]}+g{_COMMIT}"


def build(
    place: pathlib.Path, context: pathlib.Path, asked: str | None, tell: Callable[[str], None]
) -> tuple[builder.Image, Interpreter]:
    """Perform the Dockerfile of a context below a folder, which is emptied before.

    Raises ImageError.
    """
    sandbox.need()
    chosen = interpreter(asked)
    tell(f"performing the Dockerfile with Python {chosen.version}")
    if chosen.version != _WANTED:
        tell(f"the base image has {_WANTED}: install it, or name it with --python, to check what is shipped")
    _empty(place)
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    cache = cache / "cluster-topology-operator" / "pip"
    cache.mkdir(parents=True, exist_ok=True)
    given = {"PYTHON": chosen.path, "VERSION": version(), "COMMIT": _COMMIT, "SOURCE_DATE_EPOCH": str(EPOCH)}
    recipe = builder.read_recipe(context / "Dockerfile")
    return builder.Builder(recipe, context, given, chosen.prefix, tell, cache).build(place), chosen


def check(asked: str | None = None, *, twice: bool = False) -> int:
    """Build, look, run, measure; return the exit code. With `twice` a second build is compared.

    Raises what `build` raises.
    """
    begun = time.monotonic()

    def tell(text: str) -> None:
        print(f"{time.monotonic() - begun:6.1f} s  {text}", flush=True)

    context = _snapshot()
    image, chosen = build(STAGES, context, asked, tell)
    layer = layer_of(image, chosen)
    wrong = [*layer_rules.findings(layer), *_label_faults(image)]
    tell(f"looked at {sum(1 for _ in layer.files())} files")
    runner = running.Runner(image, builder.shown(chosen.prefix))
    before = layer_rules.digest(layer)
    wrong += running.words(runner, version())
    tell("ran its programs; now a whole transition")
    with tempfile.TemporaryDirectory(prefix="image-check-") as folder:
        wrong += asyncio.run(running.transition(runner, pathlib.Path(folder), tell))
    if layer_rules.digest(layer) != before:
        wrong.append("the layer is not what it was before it ran")
    if twice:
        with tempfile.TemporaryDirectory(prefix="image-again-") as folder:
            again = build(pathlib.Path(folder, "image"), context, asked, tell)
            if layer_rules.digest(layer_of(*again)) != before:
                wrong.append("performed twice, the Dockerfile makes two different layers")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=6) as archive:
        archive.add(layer.root, arcname=".")
    figures = {
        "python": chosen.version,
        "files": sum(1 for _ in layer.files()),
        "layerMiB": round(layer.size() / 2**20, 1),
        "compressedMiB": round(packed.tell() / 2**20, 1),
        "digest": before,
    }
    (PLACE / FIGURES).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for name, value in figures.items():
        print(f"{name:<30}{value}")
    for sentence in wrong:
        print(f"image-check: {sentence}", file=sys.stderr)
    tell(f"{len(wrong)} faults" if wrong else "no fault")
    return 1 if wrong else 0


def listed() -> tuple[pathlib.Path, int]:
    """Write down what is in the layer that `check` has left; return where, and how many packages. Raises ImageError."""
    stage, python = STAGES / "project" / "build", STAGES / "final" / layer_rules.HOME / "bin" / "python"
    if not python.is_symlink():
        raise ImageError(f"there is no layer in {STAGES}: make image-check performs the Dockerfile")
    environment = bom.environment(python, ROOT / "controller" / "pyproject.toml", EPOCH)
    locked = locks.read(ROOT / "requirements.lock")
    listing = bom.completed(
        environment, version(), bom.hash_of(stage / "dist"), bom.hashes_of(stage / "installed.json"), locked
    )
    place = PLACE / "sbom.cdx.json"
    place.write_text(bom.text(listing), encoding="utf-8")
    return place, len(listing["components"])


def _snapshot() -> pathlib.Path:
    """Copy what the image is made of, so that what is edited meanwhile does not come in; return where."""
    place = PLACE / "context"
    _empty(place)
    for name in ("Dockerfile", ".dockerignore", *builder.let_in(ROOT)):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, place / name)
    return place


def _empty(place: pathlib.Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)


def _label_faults(image: builder.Image) -> list[str]:
    """Return what the image says about itself and should not, or does not say."""
    wanted = {
        "version": version(),
        "org.opencontainers.image.version": version(),
        "io.openshift.build.commit.id": _COMMIT,
        "io.openshift.release.operator": "true",
    }
    wrong = [
        f"label {name} is {image.labels.get(name)!r}"
        for name, value in wanted.items()
        if image.labels.get(name) != value
    ]
    named = ("name", "summary", "description", "io.k8s.display-name", "io.k8s.description", "io.openshift.tags")
    wrong += [f"label {name} is missing" for name in named if not image.labels.get(name)]
    user, _, group = image.user.partition(":")
    if not user.isdigit() or user == "0" or group != "0":
        wrong.append(f"USER {image.user}: not a number, or not in group 0")
    return wrong
