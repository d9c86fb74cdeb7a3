"""Certificates and keys that stand in a kubeconfig itself, or that a credential plugin prints: kept in memory.

TLS takes a client certificate only from files, and the library would write such files into the folder for temporary
ones and remove them when the process ends in good order: one that is killed leaves its private key behind. So what is
written in the kubeconfig never becomes a file. `config` takes it out before the library looks, `transport` lends it for
the moment in which the TLS context is made, as a file in memory that has no name and goes with the process.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import pathlib
import tempfile
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kubernetes_asyncio.client.configuration import Configuration

_HELD = "topology_inline"
_KEYS = {
    "ssl_ca_cert": "certificate-authority-data",
    "cert_file": "client-certificate-data",
    "key_file": "client-key-data",
}
# The first line of such a key, or the header below it, has this word.
_PASSPHRASE = b"ENCRYPTED"
_LONGEST_KEY = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Inline:
    """What is kept, as PEM; empty for what is in a file, or nowhere. Fields are named as in a Configuration."""

    ssl_ca_cert: bytes = field(default=b"", repr=False)
    cert_file: bytes = field(default=b"", repr=False)
    key_file: bytes = field(default=b"", repr=False)

    def names(self) -> list[str]:
        """Return what these parts are called in a kubeconfig."""
        return [_KEYS[part.name] for part in fields(self) if getattr(self, part.name)]


def without(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section of a kubeconfig without what `taken` finds in it, and without the files that this outweighs.

    What is in it is shared.
    """
    outweighed = {name.removesuffix("-data") for name in _KEYS.values() if section.get(name)}
    return {name: value for name, value in section.items() if name not in {*_KEYS.values(), *outweighed}}


def taken(cluster: Mapping[str, Any], user: Mapping[str, Any]) -> Inline:
    """Return what stands in a cluster and a user of a kubeconfig. Raises ValueError for what is not base64."""
    authority = _decoded(cluster, "certificate-authority-data")
    return Inline(authority, _decoded(user, "client-certificate-data"), _decoded(user, "client-key-data"))


def hold(configuration: Configuration, found: Inline) -> None:
    """Let a configuration have these, besides the files that it names."""
    vars(configuration)[_HELD] = found


def held(configuration: Configuration) -> Inline:
    """Return what a configuration has besides files."""
    found = vars(configuration).get(_HELD)
    return found if isinstance(found, Inline) else Inline()


def renew_client(configuration: Configuration, certificate: bytes, key: bytes) -> None:
    """Let another certificate with its key take the place of the ones before."""
    hold(configuration, replace(held(configuration), cert_file=certificate, key_file=key))
    configuration.cert_file = configuration.key_file = None


@contextlib.contextmanager
def as_files(configuration: Configuration) -> Iterator[None]:
    """Let a configuration name files for everything, until this is left.

    Raises ValueError for a key with a passphrase: it would be asked for on the terminal, and waited for. OSError when
    there is no place.
    """
    found = held(configuration)
    with contextlib.ExitStack() as stack:
        for part in fields(found):
            content = getattr(found, part.name)
            if content:
                stack.callback(setattr, configuration, part.name, getattr(configuration, part.name))
                setattr(configuration, part.name, stack.enter_context(_lent(content)))
        if configuration.key_file:
            with pathlib.Path(configuration.key_file).open("rb") as opened:
                if _PASSPHRASE in opened.read(_LONGEST_KEY):
                    raise ValueError("the key of the client certificate has a passphrase, and nobody is asked for one")
        yield


@contextlib.contextmanager
def _lent(content: bytes) -> Iterator[str]:
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("certificate"), "wb") as opened:
            opened.write(content)
            opened.flush()
            yield f"/proc/self/fd/{opened.fileno()}"
    else:
        # Not Linux, so not the operator but a person's own computer: a private file, for a few milliseconds.
        with tempfile.NamedTemporaryFile() as named:
            named.write(content)
            named.flush()
            yield named.name


def _decoded(section: Mapping[str, Any], name: str) -> bytes:
    value = section.get(name)
    if not value:
        return b""
    if not isinstance(value, str | bytes):
        raise ValueError(f"{name} is not a text")  # noqa: TRY004 - the content of a file, not an argument
    text = value if isinstance(value, bytes) else value.encode()
    try:
        return base64.b64decode(b"".join(text.split()), validate=True)
    except binascii.Error:
        raise ValueError(f"{name} is not base64") from None
