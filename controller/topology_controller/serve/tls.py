"""Makes the TLS context that a new connection gets: serving certificate, client CA and profile in, a context out.

A context is never changed once it is in use: whatever differs makes a new one, and `listener` takes the newest for each
connection that comes in. Connections that are open live on with theirs.

The certificate folder is a Secret volume, which turns the link `..data` to swap both files at once, or is written file
by file by somebody else, and then may be seen half-way. So both are read from one place, kept as bytes, and handed to
OpenSSL as those very bytes; a pair that does not fit together leaves the last good one in use, and the log names it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import ssl
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import profile as profiles

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

_LOG = logging.getLogger(__name__)
CERTIFICATE, KEY = "tls.crt", "tls.key"
_LARGEST = 1024 * 1024
_ANCIENT = ":@SECLEVEL=0"
"""OpenSSL 3 signs no handshake below TLS 1.2 at any other level: they sign with SHA-1."""


class CertificateError(OSError):
    """The serving certificate cannot be used; the text names the file, and nothing that is in it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The serving certificate with its chain, and its key: PEM, as they were read."""

    certificate: bytes
    key: bytes


class Contexts:
    """The newest context that could be made. `current` is never None.

    Raises CertificateError at once when the folder holds no usable pair: there would be nothing to serve with.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._pair = read(folder)
        self._ca = ""
        self._complained: dict[str, str] = {}
        self._asked: tuple[Pair, str, profiles.Profile] = (self._pair, "", profiles.MODERN)
        self.current = make(self._pair, "", profiles.MODERN)

    def renew(self, client_ca: str, profile: profiles.Profile) -> bool:
        """Read the folder again and make a new context if anything differs; say whether there is a new one.

        `client_ca` is a bundle in PEM, "" for none. Reads two small files. Never raises: what is no good is named in
        the log, once, and the last good one of it goes on.
        """
        pair = self._newest()
        wanted = (pair, client_ca, profile)
        if wanted == self._asked:
            return False
        self._asked = wanted
        self.current = self._make(pair, client_ca, profile)
        return True

    def _newest(self) -> Pair:
        try:
            found = read(self._folder)
            if found != self._pair:
                make(found, "", profiles.MODERN)
        except CertificateError as error:
            self._complain("certificate", f"{error}; going on with the certificate that was read before")
            return self._pair
        self._complained.pop("certificate", None)
        if found != self._pair:
            _LOG.info("the serving certificate in %s was replaced", self._folder)
            self._pair = found
        return found

    def _make(self, pair: Pair, client_ca: str, profile: profiles.Profile) -> ssl.SSLContext:
        if client_ca != self._ca:
            try:
                authorities = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                if client_ca:
                    authorities.load_verify_locations(cadata=client_ca)
            except (ssl.SSLError, ValueError) as error:
                self._complain("ca", f"the client CA cannot be used: {_reason(error)}; going on with the one before")
            else:
                self._complained.pop("ca", None)
                self._ca = client_ca
        try:
            made = make(pair, self._ca, profile)
        except CertificateError as error:
            # The pair was good a moment ago: it is the profile.
            self._complain("profile", f"TLS profile {profile.name} cannot be used, so TLS 1.3 it is: {error}")
            return make(pair, self._ca, profiles.MODERN)
        self._complained.pop("profile", None)
        return made

    def _complain(self, about: str, text: str) -> None:
        if self._complained.get(about) != text:
            self._complained[about] = text
            _LOG.warning("%s", text)


def read(folder: pathlib.Path) -> Pair:
    """Read a pair from one place; raises CertificateError that names the file which is missing or too large."""
    place = folder
    with contextlib.suppress(OSError, RuntimeError):  # not there, or a link to itself
        place = (folder / "..data").resolve(strict=True)
    return Pair(*(_content(place / name, folder / name) for name in (CERTIFICATE, KEY)))


def make(pair: Pair, client_ca: str, profile: profiles.Profile) -> ssl.SSLContext:
    """Make a context; `client_ca` "" asks nobody for a certificate.

    Raises CertificateError for a pair that does not fit together, and for ciphers of which OpenSSL knows none.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    ancient = profile.minimum < ssl.TLSVersion.TLSv1_2
    with warnings.catch_warnings():
        # Python advises against TLS 1.0 and 1.1, and so do we: only a profile can ask for them.
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = profile.minimum
    try:
        if profile.ciphers:
            context.set_ciphers(":".join(profile.ciphers) + (_ANCIENT if ancient else ""))
        with _as_file(pair.certificate) as certificate, _as_file(pair.key) as key:
            # An encrypted key would make OpenSSL ask at the terminal: it gets an empty password instead.
            context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as error:
        raise CertificateError(f"{CERTIFICATE} and {KEY} cannot be used: {_reason(error)}") from None
    if client_ca:
        context.load_verify_locations(cadata=client_ca)
        context.verify_mode = ssl.CERT_OPTIONAL
        # As kube-apiserver does it: whoever is in the bundle is an anchor, also without the one above.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


@contextlib.contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Lend content under a name that OpenSSL can read from; in memory where the system has that."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("tls")
        try:
            os.write(number, content)
            yield f"/proc/self/fd/{number}"
        finally:
            os.close(number)
        return
    import tempfile  # noqa: PLC0415 - for systems without the above only

    with tempfile.NamedTemporaryFile() as file:  # readable by its owner only
        file.write(content)
        file.flush()
        yield file.name


def _content(place: pathlib.Path, shown: pathlib.Path) -> bytes:
    try:
        with place.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        raise CertificateError(f"{shown} does not exist") from None
    except OSError as error:
        raise CertificateError(f"{shown} cannot be read: {error.strerror or error}") from None
    if len(content) > _LARGEST:
        raise CertificateError(f"{shown} is larger than {_LARGEST} bytes")
    return content


def _reason(error: Exception) -> str:
    """OpenSSL's word for it, without the place in its source."""
    word = getattr(error, "reason", None)
    return str(word).replace("_", " ").lower() if word else str(error) or type(error).__name__
