"""Reads the files of a mounted volume (Secret, ConfigMap), or of a folder that is written in another way.

kubelet replaces all files of a volume at once, by turning the link `..data` to another folder: a set of files is read
from the one folder that the link names, and once more when the link was turned meanwhile. Without the link, whether
files fit together is for the caller to find out. OpenSSL takes a certificate and its key from named files only:
`as_file` makes them, `load_pair` loads them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import ssl
import stat
import sys
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

LARGEST = 1024 * 1024
_PLACE_IN_SOURCE = re.compile(r"\s*\(_ssl\.c:[0-9]+\)|\[[A-Z0-9_: ]+\]\s*")


class MountedFileError(OSError):
    """`path` cannot be read, for this `reason`; neither holds anything of its content."""

    def __init__(self, path: pathlib.Path, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path = path
        self.reason = reason


class MissingFileError(MountedFileError):
    """There is no such file."""


def read(folder: pathlib.Path, *names: str, largest: int = LARGEST) -> tuple[bytes, ...]:
    """Return the contents of these files, all of one set, without waiting for the writer of a pipe.

    Raises MountedFileError for one that is missing, unreadable, not a regular file, or larger than `largest` bytes.
    """
    for _ in range(3):
        place = _set(folder)
        failure = None
        try:
            contents = tuple(_content(place / name, folder / name, largest) for name in names)
        except MountedFileError as error:
            failure = error
        if _set(folder) == place:
            if failure is not None:
                raise failure
            return contents
    raise MountedFileError(folder, "changes while it is being read")


def empty(folder: pathlib.Path) -> bool:
    """Is there no file, as in an optional volume without its object? A folder that cannot be read is not empty."""
    *_, files = next(os.walk(folder), ("", (), ("unread",)))
    return not files


@contextlib.contextmanager
def unnamed() -> Iterator[int]:
    """Return the descriptor of a file without a name, in memory where the system can; gone when this is left."""
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryFile() as file:
            yield file.fileno()
        return
    with os.fdopen(os.memfd_create("private", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "rb") as file:
        try:
            yield file.fileno()
        finally:
            # A process that still has it could fill the memory.
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)


@contextlib.contextmanager
def as_file(content: bytes) -> Iterator[str]:
    """Return the path of such a file with this content."""
    with unnamed() as descriptor:
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield f"{'/proc/self' if sys.platform == 'linux' else '/dev'}/fd/{descriptor}"


def load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Let a TLS context show this certificate. Raises OSError (ssl.SSLError is one) and ValueError."""
    with as_file(certificate) as certificate_file, as_file(key) as key_file:
        # An encrypted key would make OpenSSL ask at the terminal: it gets an empty password instead.
        context.load_cert_chain(certificate_file, key_file, password=lambda: "")


def tls_reason(error: BaseException) -> str:
    """Return OpenSSL's reason, without the line of its source that Python adds."""
    if isinstance(error, ssl.SSLCertVerificationError) and error.verify_message:
        return f"certificate verify failed: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and (word := getattr(error, "reason", None)):
        return str(word).replace("_", " ").lower()
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return _PLACE_IN_SOURCE.sub("", text) or type(error).__name__


def _set(folder: pathlib.Path) -> pathlib.Path:
    """Return where the whole set is: what the link of a volume names, or else the folder itself."""
    try:
        return (folder / "..data").resolve(strict=True)
    except (OSError, RuntimeError):  # no such link, or one to itself
        return folder


def _content(place: pathlib.Path, shown: pathlib.Path, largest: int) -> bytes:
    content = None
    try:
        # Without the flag a pipe would be waited for.
        with open(place, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                content = file.read(largest + 1)
    except FileNotFoundError:
        raise MissingFileError(shown, "does not exist") from None
    except IsADirectoryError:
        pass
    except OSError as error:
        raise MountedFileError(shown, f"cannot be read: {error.strerror or error}") from None
    if content is None:
        raise MountedFileError(shown, "is no regular file")
    if len(content) > largest:
        raise MountedFileError(shown, f"is larger than {largest} bytes")
    return content
