"""One process in a root folder of its own, as a container would have it: `enter` describes it, `main` goes in.

In a private mount namespace a root folder is put together from the folders of the image and, in place of the base
image, the system's own programs and libraries, read-only. The process gives up every capability and is replaced by the
program, so that signals reach it and nothing is left to clean up. It needs root, as mounting and another UID do.
"""

import json
import os
import pathlib
import shutil
import sys
from dataclasses import asdict, dataclass, field

from . import ImageError, ran

_SYSTEM = ("bin", "etc", "lib", "lib32", "lib64", "libx32", "sbin", "usr")
_SHELLS = ("bash", "busybox", "dash", "ksh", "sh", "zsh")
_TOOLS = ("mount", "setpriv", "unshare")
_MOUNT_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """What a process finds around itself.

    `own` maps top folders of the sandbox (`opt`) to folders outside, `others` further paths to what is shown there
    read-only, `shared` further paths to folders that are written to in any case.
    `groups` are those beside 0; `uid` None stays root, with its capabilities.
    """

    own: dict[str, str]
    environment: dict[str, str]
    command: list[str]
    workdir: str = "/"
    others: dict[str, str] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    writable: bool = False
    shells: bool = True
    temporary: bool = True
    uid: int | None = None
    groups: tuple[int, ...] = ()


def need() -> None:
    """Raise ImageError where no sandbox can be made."""
    if sys.platform != "linux":
        raise ImageError("this needs Linux: mounts and users of its own")
    if os.geteuid() != 0:
        raise ImageError("this needs root, to mount folders and to run as another UID: sudo make image-check")
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        raise ImageError(f"this needs {', '.join(missing)} (util-linux)")
    tried = ran([_which("unshare"), "--mount", "--propagation", "private", _which("true")], _MOUNT_SECONDS)
    if tried.returncode != 0:
        raise ImageError(f"this needs the right to make a mount namespace: {tried.stderr.strip()}")


def enter(sandbox: Sandbox) -> list[str]:
    """Return the command that runs the sandbox's program in it."""
    inside = [sys.executable, "-m", "topology_image.sandbox", json.dumps(asdict(sandbox))]
    return [_which("unshare"), "--mount", "--propagation", "private", "--", *inside]


def main(arguments: list[str]) -> None:
    """Make the sandbox around this process and become its program."""
    fields = json.loads(arguments[0])
    sandbox = Sandbox(**{**fields, "groups": tuple(fields["groups"])})
    # Anything that exists will do as a place for the root: only this namespace sees it covered.
    root = pathlib.Path("/mnt")
    _mount("-t", "tmpfs", "-o", "mode=755", "none", str(root))
    _system(root)
    for name, outside in sorted(sandbox.own.items()):
        (root / name).mkdir()
        _mount("--bind", outside, str(root / name))
        if not sandbox.writable:
            _mount("-o", "remount,bind,ro", str(root / name))
    if sandbox.temporary:
        (root / "tmp").mkdir()
        _mount("-t", "tmpfs", "-o", "mode=1777", "none", str(root / "tmp"))
    if not sandbox.shells:
        _without_shells(root)
    for place, shown in sorted(sandbox.others.items()):
        _show(root / place.lstrip("/"), pathlib.Path(shown))
    for place, shown in sorted(sandbox.shared.items()):
        _show(root / place.lstrip("/"), pathlib.Path(shown), "rw")
    if not sandbox.writable:
        _mount("-o", "remount,ro", str(root))
    os.chroot(root)
    os.chdir(sandbox.workdir)
    os.umask(0o022)
    command = sandbox.command
    if sandbox.uid is not None:
        # What takes every privilege from the program, as `restricted` pods are.
        who = ["--reuid", str(sandbox.uid), "--regid", "0", "--groups", ",".join(map(str, (0, *sandbox.groups)))]
        command = [_which("setpriv"), *who, "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", *command]
    os.execvpe(command[0], command, sandbox.environment)  # noqa: S606 - this is what a sandbox is for


def _system(root: pathlib.Path) -> None:
    """Put the system's own programs and libraries in, read-only, and the interpreter that runs here."""
    for name in _SYSTEM:
        theirs = pathlib.Path("/", name)
        if theirs.is_symlink():
            (root / name).symlink_to(theirs.readlink())
        elif theirs.is_dir():
            _show(root / name, theirs)
    for name in ("dev", "proc"):
        (root / name).mkdir()
        _mount("--rbind", f"/{name}", str(root / name))


def _show(place: pathlib.Path, shown: pathlib.Path, how: str = "ro") -> None:
    if shown.is_dir():
        place.mkdir(parents=True, exist_ok=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    _mount("--bind", str(shown), str(place))
    _mount("-o", f"remount,bind,{how}", str(place))


def _without_shells(root: pathlib.Path) -> None:
    """Cover every shell with a file that cannot be executed; the folders that are links lead to those that are not."""
    folders = [root / name for name in ("bin", "usr/bin", "sbin", "usr/sbin")]
    for shell in (folder / name for folder in folders if not folder.is_symlink() for name in _SHELLS):
        if shell.is_file() and not shell.is_symlink():
            _mount("--bind", "/dev/null", str(shell))


def _mount(*arguments: str) -> None:
    done = ran([_which("mount"), *arguments], _MOUNT_SECONDS)
    if done.returncode != 0:
        raise SystemExit(f"mount {' '.join(arguments)}: {done.stderr.strip()}")


def _which(tool: str) -> str:
    """Return the whole path of a program: it is started with an environment of another image."""
    return shutil.which(tool) or tool


if __name__ == "__main__":
    main(sys.argv[1:])
