"""The administrator's certificate folder: `ca.crt`, `tls.crt`, `tls.key`, as a Kubernetes Secret volume has them.

The files change while we run. A Secret volume swaps a whole set at once, by turning the link `..data`; anybody else
writes file by file, and may be seen half-way. So a set is taken from one place, must be the same after it was loaded,
and is used only if OpenSSL accepts key and certificate together. Until then the last good set goes on, and the log says
so once. Contents are compared, not times: three small files a few times a minute cost nothing, and a time can lie.

`client` gets the TLS context from here, anew for every survey.
"""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from . import certificate, errors

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

_LOG = logging.getLogger(__name__)
CA, CERTIFICATE, KEY = "ca.crt", "tls.crt", "tls.key"
_FILES = (CA, CERTIFICATE, KEY)
_LARGEST = 1024 * 1024
_TRIES = 3


def utcnow() -> datetime:
    """The time, aware of its zone."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _Set:
    files: tuple[bytes, ...]
    context: ssl.SSLContext
    not_before: datetime
    not_after: datetime


class Folder:
    """The newest good certificates of a folder."""

    def __init__(self, path: pathlib.Path, *, now: Callable[[], datetime] = utcnow) -> None:
        self._path = path
        self._now = now
        self._good: _Set | None = None
        self._complained = ""

    def context(self) -> ssl.SSLContext:
        """Return the TLS context to use now: the files as they are, or the last good ones.

        Raises FolderError when there never was a good set, and when our own certificate is out of its time: it would
        only be refused. Reads three small files.
        """
        good = self._newest()
        now = self._now()
        place = str(self._path / CERTIFICATE)
        if now >= good.not_after:
            raise errors.FolderError(place, f"our own certificate has expired on {good.not_after:%Y-%m-%d}: replace it")
        if now < good.not_before:
            raise errors.FolderError(place, f"our own certificate is not valid before {good.not_before:%Y-%m-%d %H:%M}")
        return good.context

    def _newest(self) -> _Set:
        try:
            loaded = self._load()
        except errors.FolderError as error:
            if self._good is None:
                raise
            if str(error) != self._complained:
                self._complained = str(error)
                _LOG.warning("%(error)s; going on with the certificates that were read before", {"error": error})
            return self._good
        if self._complained:
            self._complained = ""
            _LOG.info("the certificates in %(folder)s can be used again", {"folder": self._path})
        elif self._good is not None and loaded is not self._good:
            _LOG.info("the certificates in %(folder)s were replaced", {"folder": self._path})
        self._good = loaded
        return loaded

    def _load(self) -> _Set:
        trouble = errors.FolderError(str(self._path), "the files change while they are being read")
        for _ in range(_TRIES):
            place = self._place()
            try:
                files = self._read(place)
                if self._good is not None and files == self._good.files:
                    return self._good
                made = self._make(files, place)
                # OpenSSL has read certificate and key from the files once more: they must still be the same.
                if self._place() == place and self._read(place) == files:
                    return made
            except errors.FolderError as error:
                if self._place() == place:
                    raise
                # The link was turned under our hands: the next set may be whole.
                trouble = error
        raise trouble

    def _read(self, place: pathlib.Path) -> tuple[bytes, ...]:
        return tuple(_read(place / name, self._path / name) for name in _FILES)

    def _place(self) -> pathlib.Path:
        """Where one whole set is: behind the link of a Secret volume, else the folder itself."""
        link = self._path / "..data"
        try:
            return link.resolve(strict=True)
        except (OSError, RuntimeError):  # not there, or a link to itself
            return self._path

    def _make(self, files: tuple[bytes, ...], place: pathlib.Path) -> _Set:
        authority, own, _ = (content.decode("ascii", "backslashreplace") for content in files)
        try:
            not_before, not_after = certificate.validity(own)
        except ValueError as error:
            raise errors.FolderError(str(self._path / CERTIFICATE), str(error)) from error
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_verify_locations(cadata=authority)
        except (OSError, ValueError):  # ssl.SSLError is an OSError
            raise errors.FolderError(str(self._path / CA), "it holds no certificate, or a broken one") from None
        try:
            # An encrypted key would make OpenSSL ask at the terminal: it gets an empty password instead.
            context.load_cert_chain(place / CERTIFICATE, place / KEY, password=lambda: "")
        except (OSError, ValueError) as error:
            why = f"it is no unencrypted key that goes with {CERTIFICATE}: {errors.tls_reason(error)}"
            raise errors.FolderError(str(self._path / KEY), why) from error
        return _Set(files, context, not_before, not_after)


def _read(place: pathlib.Path, shown: pathlib.Path) -> bytes:
    try:
        with place.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        raise errors.FolderError(str(shown), "it does not exist") from None
    except OSError as error:
        raise errors.FolderError(str(shown), f"it cannot be read: {error.strerror or error}") from None
    if len(content) > _LARGEST:
        raise errors.FolderError(str(shown), f"it is larger than {_LARGEST} bytes")
    return content
