"""What has to hold of the files of the application layer, before any of them runs.

Every rule returns the sentences that say where it does not hold; none stops at the first. The layer is what the last
stage of the Dockerfile leaves in its own folders, so what belongs to the base image is not judged here.
"""

import _imp
import hashlib
import pathlib
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass

HOME = "opt/operator"
"""Where the operator is, from the root of the image."""
LIMIT = 60 * 1024 * 1024
"""What the layer may weigh, in bytes: the sum of its files, uncompressed."""
PROGRAMS = frozenset({"cluster-topology-operator"})
NOT_COMPILED = "/kubernetes_asyncio/client/(api|models)/"
"""What stays as source only; the Dockerfile says the same to compileall."""
_TESTS = re.compile(r"(^|/)(tests?|testing)/|_test\.py$|/test_[^/]*\.py$|/_testcapi\.")
_TOOLS = re.compile(r"/bin/(pip[\d.]*|easy_install|wheel|gcc|g\+\+|cc|c\+\+|ld|as|make|uv|git)$")
_PACKAGES = re.compile(r"site-packages/(pip|setuptools|wheel|pkg_resources|hatchling|_distutils_hack|ensurepip)(/|-)")
_SOURCES = re.compile(r"\.(c|h|pyx|pxd|a|o|gcda|gcno)$")
_UNCHECKED_HASH = 1
_PYC_HEAD = 16


@dataclass(frozen=True, slots=True)
class Layer:
    """The folder of the last stage, and what it was made with.

    `secrets` are folders of this machine that must not be named in a file; `interpreter` is what the environment's own
    link leads to; `epoch` the time that every file carries.
    """

    root: pathlib.Path
    interpreter: str
    secrets: tuple[str, ...]
    epoch: int

    def files(self) -> Iterator[tuple[str, pathlib.Path]]:
        """Return every file, with its path in the image."""
        for path in sorted(self.root.rglob("*")):
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(self.root).as_posix(), path

    def size(self) -> int:
        """Return the sum of all files in bytes."""
        return sum(path.stat().st_size for _, path in self.files())


def digest(layer: Layer) -> str:
    """Return one hash of every path, mode, link and content."""
    whole = hashlib.sha256()
    for path in sorted(layer.root.rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        whole.update(f"{path.relative_to(layer.root)}\0{mode:o}\0".encode())
        if path.is_symlink():
            whole.update(str(path.readlink()).encode())
        elif path.is_file():
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def findings(layer: Layer) -> list[str]:
    """Return what does not hold, rule by rule; nothing when all does."""
    rules: tuple[Callable[[Layer], Iterator[str]], ...] = (
        _weight, _nothing_to_build_with, _byte_code, _paths, _modes, _programs, _times,
    )  # fmt: skip
    return [sentence for rule in rules for sentence in rule(layer)]


def _weight(layer: Layer) -> Iterator[str]:
    size = layer.size()
    if size > LIMIT:
        yield f"the layer weighs {size / 2**20:.1f} MiB, more than {LIMIT / 2**20:.0f} MiB"


def _nothing_to_build_with(layer: Layer) -> Iterator[str]:
    for name, _ in layer.files():
        if _TOOLS.search(name) or _PACKAGES.search(name):
            yield f"{name}: something to build or install with"
        elif _TESTS.search(name):
            yield f"{name}: a test"
        elif _SOURCES.search(name):
            yield f"{name}: left over from building"


def _byte_code(layer: Layer) -> Iterator[str]:
    """Every source has byte code that is used unchecked and was made of it; nothing has byte code without a source."""
    exempt = re.compile(NOT_COMPILED)
    wanted: set[pathlib.Path] = set()
    byte_code = {path for name, path in layer.files() if name.endswith(".pyc")}
    tags = {path.name.split(".")[-2] for path in byte_code}
    if len(tags) != 1:
        yield f"byte code for {len(tags)} interpreters: {sorted(tags)}"
        return
    for name, path in layer.files():
        if not name.endswith(".py") or exempt.search(f"/{name}"):
            continue
        compiled = path.parent / "__pycache__" / f"{path.stem}.{next(iter(tags))}.pyc"
        wanted.add(compiled)
        if compiled not in byte_code:
            yield f"{name}: no byte code"
            continue
        head = compiled.read_bytes()[:_PYC_HEAD]
        # The four bytes of the magic number are the key of the hash (PEP 552), so any interpreter can check another's.
        made_of = _imp.source_hash(int.from_bytes(head[:4], "little"), path.read_bytes())
        if int.from_bytes(head[4:8], "little") != _UNCHECKED_HASH:
            yield f"{name}: its byte code would be compared with the source at every start"
        elif head[8:] != made_of:
            yield f"{name}: its byte code was made of another source"
    for path in sorted(byte_code - wanted):
        yield f"{path.relative_to(layer.root)}: byte code without a source, or that is not wanted"


def _paths(layer: Layer) -> Iterator[str]:
    for name, path in layer.files():
        if path.name == "direct_url.json":
            yield f"{name}: says from which folder it was installed"
        elif path.name != "pyvenv.cfg":
            content = path.read_bytes()
            for secret in layer.secrets:
                if secret.encode() in content:
                    yield f"{name}: names {secret}"


def _modes(layer: Layer) -> Iterator[str]:
    for path in sorted(layer.root.rglob("*")):
        if path.is_symlink():
            continue
        name, state = path.relative_to(layer.root), path.lstat()
        mode = stat.S_IMODE(state.st_mode)
        readable = 0o055 if path.is_dir() else 0o044
        if mode & 0o7022:
            yield f"{name}: mode {mode:o}, others could change it"
        if mode & readable != readable:
            yield f"{name}: mode {mode:o}, another UID cannot read it"
        if (state.st_uid, state.st_gid) != (0, 0):
            yield f"{name}: owner {state.st_uid}:{state.st_gid}"


def _programs(layer: Layer) -> Iterator[str]:
    folder = layer.root / HOME / "bin"
    links = {path.name for path in folder.iterdir() if path.is_symlink()}
    there = {path.name for path in folder.iterdir()} - links
    if there - PROGRAMS:
        yield f"{HOME}/bin: {sorted(there - PROGRAMS)}: not ours"
    if not there >= PROGRAMS:
        yield f"{HOME}/bin: {sorted(PROGRAMS - there)} missing"
    for name in sorted(there):
        first = (folder / name).read_text(encoding="utf-8").partition("\n")[0]
        if first != f"#!/{HOME}/bin/python":
            yield f"{HOME}/bin/{name}: begins with {first}"
    for name in sorted(links):
        target = str((folder / name).readlink())
        if target != layer.interpreter and target not in links:
            yield f"{HOME}/bin/{name}: leads to {target}"


def _times(layer: Layer) -> Iterator[str]:
    home = layer.root / HOME
    odd = [path for path in (home, *home.rglob("*")) if path.lstat().st_mtime != layer.epoch]
    if odd:
        yield f"{len(odd)} files carry another time than {layer.epoch}, such as {odd[0].relative_to(layer.root)}"
