"""The administrator's certificate folder: `ca.crt`, `tls.crt`, `tls.key`, as a Kubernetes Secret volume has them.

The files change while we run, and other writers than kubelet replace file by file. So a set is used only if OpenSSL
accepts key and certificate together; until then the last good set stays in use, and the log reports that once.
"""

from __future__ import annotations

import logging
import pathlib
import ssl

from .. import mounted

_LOG = logging.getLogger(__name__)
CA, CERTIFICATE, KEY = "ca.crt", "tls.crt", "tls.key"


class FolderError(Exception):
    """The certificate folder cannot be used. `file` is the one to look at; a key's content is in no message."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(f"{file}: {why}")
        self.file = file
        self.why = why


class Folder:
    """The newest good certificates of a folder."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._files: tuple[bytes, ...] = ()
        self._context: ssl.SSLContext | None = None
        self._complaint = ""

    def context(self) -> ssl.SSLContext:
        """Return the TLS context to use now. Raises FolderError when there never was a good set."""
        try:
            files = self._read()
            context = self._make(files) if self._context is None or files != self._files else self._context
        except FolderError as error:
            if self._context is None:
                raise
            if str(error) != self._complaint:
                self._complaint = str(error)
                _LOG.warning("%(error)s; going on with the certificates that were read before", {"error": error})
            return self._context
        if self._complaint:
            self._complaint = ""
            _LOG.info("the certificates in %(folder)s can be used again", {"folder": self._path})
        elif self._context not in {None, context}:
            _LOG.info("the certificates in %(folder)s were replaced", {"folder": self._path})
        self._files, self._context = files, context
        return context

    def _read(self) -> tuple[bytes, ...]:
        try:
            return mounted.read(self._path, CA, CERTIFICATE, KEY)
        except mounted.MountedFileError as error:
            raise FolderError(str(error.path), f"it {error.reason}") from None

    def _make(self, files: tuple[bytes, ...]) -> ssl.SSLContext:
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
            mounted.load_pair(context, *files[1:])
        except (OSError, ValueError) as error:
            why = f"it is no unencrypted key that goes with {CERTIFICATE}: {mounted.tls_reason(error)}"
            raise FolderError(str(self._path / KEY), why) from error
        return context
