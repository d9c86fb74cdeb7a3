"""Builds `kubectl-topology` as an archive that krew, or tar alone, installs, and the manifest that leads krew to it.

The archive of a platform holds one program, `kubectl-topology` (`krew_launcher.py`), and `lib` with the libraries of
requirements.lock, each held to its hash, for all supported versions of Python side by side. The same sources give the
same archive, byte by byte. `make krew` runs it.
"""

import argparse
import gzip
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from typing import Any

import yaml

from topology_controller import _version

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAUNCHER = ROOT / "hack" / "krew_launcher.py"
PROGRAM = "kubectl-topology"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_DATA = yaml.safe_load((ROOT / "hack" / "krew.yaml").read_text(encoding="utf-8"))
WHEELS: dict[str, list[str]] = _DATA["wheels"]
"""Platforms in Go's names, and the tags of the wheels that run there."""
_SECONDS = 600.0


def archive_name(platform: str, version: str) -> str:
    """Return the name of the archive for a platform such as linux/amd64."""
    return f"{PROGRAM}_{version}_{platform.replace('/', '_')}.tar.gz"


def pack(folder: pathlib.Path, archive: pathlib.Path) -> str:
    """Write a folder as an archive that does not depend on when or where it is made; return its sha256."""
    with (
        archive.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for place in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = tar.gettarinfo(place, arcname=str(place.relative_to(folder)))
            entry.uid = entry.gid = entry.mtime = 0
            entry.uname = entry.gname = ""
            entry.mode = 0o755 if place.name == PROGRAM else 0o644
            with place.open("rb") as content:
                tar.addfile(entry, content)
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def manifest(base: str, digests: dict[str, str], version: str) -> dict[str, Any]:
    """Return krew's manifest; `digests` has the sha256 of each platform's archive, below the address `base`."""
    platforms = [
        {
            "selector": {"matchLabels": dict(zip(("os", "arch"), platform.split("/"), strict=True))},
            "uri": f"{base.rstrip('/')}/{archive_name(platform, version)}",
            "sha256": digest,
            "bin": PROGRAM,
        }
        for platform, digest in sorted(digests.items())
    ]
    head = {"version": f"v{version.replace('.dev', '-dev.')}", "homepage": base}
    about = {"caveats": f"Needs Python {PYTHONS[0]} to {PYTHONS[-1]} on the PATH.\n", "platforms": platforms}
    return {**_DATA["manifest"], "spec": {**head, **_DATA["manifest"]["spec"], **about}}


def collect(folder: pathlib.Path, platform: str, pythons: Sequence[str]) -> None:
    """Put the program and what it needs into an empty folder. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as scratch:
        wheels = pathlib.Path(scratch) / "wheels"
        _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(ROOT))
        (project,) = wheels.glob("*.whl")
        for python in pythons:
            place = pathlib.Path(scratch) / python
            _pip(
                "install", "--target", str(place), "--no-compile", "--no-deps", "--only-binary", ":all:",
                "--implementation", "cp", "--python-version", python,
                *(word for tag in WHEELS[platform] for word in ("--platform", tag)),
                "--require-hashes", "-r", str(ROOT / "requirements.lock"),
            )  # fmt: skip
            shutil.copytree(place, folder / "lib", dirs_exist_ok=True)
        # After the hashes: what is made here has none.
        shutil.unpack_archive(project, folder / "lib", "zip")
    shutil.rmtree(folder / "lib" / "bin", ignore_errors=True)
    shutil.copy(LAUNCHER, folder / PROGRAM)
    shutil.copy(ROOT / "LICENSE", folder / "LICENSE")


def _pip(*words: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    subprocess.run(command, check=True, timeout=_SECONDS)  # noqa: S603 - pip, with words of our own


def main(arguments: list[str] | None = None) -> int:
    """Build the archives and the manifest; return the exit code."""
    parser = argparse.ArgumentParser(description="Build the archives of kubectl-topology and krew's manifest.")
    parser.add_argument("--base", required=True, metavar="URL", help="where the archives will be, https")
    parser.add_argument("--platform", action="append", choices=sorted(WHEELS), help="default: all of them")
    parser.add_argument("--python", action="append", choices=PYTHONS, help="versions to serve; default: all of them")
    parser.add_argument("--to", type=pathlib.Path, default=ROOT / "dist", metavar="FOLDER", help="default: dist")
    options = parser.parse_args(arguments)
    if not options.base.startswith("https://"):
        parser.error(f"--base {options.base}: krew and the console only take https://")
    version = _version.__version__.partition("+")[0]
    options.to.mkdir(parents=True, exist_ok=True)
    digests = {}
    for platform in options.platform or sorted(WHEELS):
        archive = options.to / archive_name(platform, version)
        with tempfile.TemporaryDirectory() as folder:
            collect(pathlib.Path(folder), platform, options.python or PYTHONS)
            digests[platform] = pack(pathlib.Path(folder), archive)
        print(f"{digests[platform]}  {archive}")  # noqa: T201 - a command of the repository
    text = yaml.safe_dump(manifest(options.base, digests, version), sort_keys=False, width=120)
    (options.to / "topology.yaml").write_text(text, encoding="utf-8")
    print(f"krew: kubectl krew install --manifest-url {options.base.rstrip('/')}/topology.yaml")  # noqa: T201 - as above
    return 0


if __name__ == "__main__":
    sys.exit(main())
