"""The administrator's certificate folder: `ca.crt`, `tls.crt`, `tls.key`, as a Kubernetes Secret volume has them.

The files change while we run. A Secret volume swaps a whole set at once, by turning the link `..data`; other writers
replace file by file, and may be seen half-way. So a set is taken from one place, must be the same after it was loaded,
and is used only if OpenSSL accepts key and certificate together. Until then the last good set goes on, and the log
reports that once. Contents are compared, not times: three small files a few times a minute cost nothing, and a time
can lie. When a certificate has expired, the TLS alert says so (`client`).
"""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .client import tls_reason

if TYPE_CHECKING:
    import pathlib

_LOG = logging.getLogger(__name__)
CA, CERTIFICATE, KEY = "ca.crt", "tls.crt", "tls.key"
_FILES = (CA, CERTIFICATE, KEY)
_LARGEST = 1024 * 1024
_TRIES = 3


class FolderError(Exception):
    """The certificate folder cannot be used. `file` is the one to look at; a key's content is in no message."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(f"{file}: {why}")
        self.file = file
        self.why = why


@dataclass(frozen=True, slots=True)
class _Set:
    files: tuple[bytes, ...]
    context: ssl.SSLContext


class Folder:
    """The newest good certificates of a folder."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._good: _Set | None = None
        self._complaint = ""

    def context(self) -> ssl.SSLContext:
        """Return the TLS context to use now: the files as they are, or the last good ones.

        Raises FolderError when there never was a good set. Reads three small files.
        """
        try:
            newest = self._load()
        except FolderError as error:
            if self._good is None:
                raise
            if str(error) != self._complaint:
                self._complaint = str(error)
                _LOG.warning("%(error)s; going on with the certificates that were read before", {"error": error})
            return self._good.context
        if self._complaint:
            self._complaint = ""
            _LOG.info("the certificates in %(folder)s can be used again", {"folder": self._path})
        elif self._good is not None and newest is not self._good:
            _LOG.info("the certificates in %(folder)s were replaced", {"folder": self._path})
        self._good = newest
        return newest.context

    def _load(self) -> _Set:
        trouble = FolderError(str(self._path), "the files change while they are being read")
        for _ in range(_TRIES):
            place = self._place()
            try:
                files = self._read(place)
                if self._good is not None and files == self._good.files:
                    return self._good
                loaded = _Set(files, self._context(files, place))
                # OpenSSL has read certificate and key from the files once more: they must still be the same.
                if self._place() == place and self._read(place) == files:
                    return loaded
            except FolderError as error:
                if self._place() == place:
                    raise
                # The link was turned meanwhile: the next set may be whole.
                trouble = error
        raise trouble

    def _place(self) -> pathlib.Path:
        """Where one whole set is: behind the link of a Secret volume, else the folder itself."""
        try:
            return (self._path / "..data").resolve(strict=True)
        except (OSError, RuntimeError):  # not there, or a link to itself
            return self._path

    def _read(self, place: pathlib.Path) -> tuple[bytes, ...]:
        contents = []
        for name in _FILES:
            shown = str(self._path / name)
            try:
                with (place / name).open("rb") as file:
                    content = file.read(_LARGEST + 1)
            except FileNotFoundError:
                raise FolderError(shown, "it does not exist") from None
            except OSError as error:
                raise FolderError(shown, f"it cannot be read: {error.strerror or error}") from None
            if len(content) > _LARGEST:
                raise FolderError(shown, f"it is larger than {_LARGEST} bytes")
            contents.append(content)
        return tuple(contents)

    def _context(self, files: tuple[bytes, ...], place: pathlib.Path) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # Our own certificate is loaded as an authority of a context that is not used: a key that does not fit it and
        # a broken certificate are otherwise one error.
        scratch = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        for name, content, used in zip((CA, CERTIFICATE), files[:2], (context, scratch), strict=True):
            try:
                used.load_verify_locations(cadata=content.decode("ascii", "backslashreplace"))
            except (OSError, ValueError):  # ssl.SSLError is an OSError
                raise FolderError(str(self._path / name), "it holds no certificate, or a broken one") from None
        try:
            # An encrypted key would make OpenSSL ask at the terminal: it gets an empty password instead.
            context.load_cert_chain(place / CERTIFICATE, place / KEY, password=lambda: "")
        except (OSError, ValueError) as error:
            why = f"it is no unencrypted key that goes with {CERTIFICATE}: {tls_reason(error)}"
            raise FolderError(str(self._path / KEY), why) from error
        return context
