"""`make base`: writes the digest that the tag of the base image has now into the Dockerfile.

A tag is another image tomorrow; a digest is not, and has to be renewed with each security fix. The registry is asked
by its own API (OCI distribution spec, pulling manifests), and what it answers must have the digest that it claims.
"""

from __future__ import annotations

import hashlib
import http.client
import pathlib
import re
import urllib.request

_BASE = re.compile(
    r"^ARG BASE=(?P<image>(?P<host>[^/\s]+)/(?P<name>[^:@\s]+):(?P<tag>[^@\s]+))(?P<digest>@\S+)?$", re.MULTILINE
)
_INDEXES = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json"
_LARGEST = 4 * 1024 * 1024
_SECONDS = 30.0


class BaseError(Exception):
    """The digest could not be had; the message says of what, and why."""


def pin(recipe: pathlib.Path) -> str:
    """Write the digest of the base's tag into this Dockerfile; return the whole name. Raises BaseError."""
    text = recipe.read_text(encoding="utf-8")
    base = _BASE.search(text)
    if base is None:
        raise BaseError(f"{recipe}: no line ARG BASE=HOST/NAME:TAG")
    url = f"https://{base['host']}/v2/{base['name']}/manifests/{base['tag']}"
    request = urllib.request.Request(url, headers={"Accept": _INDEXES})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - https
            claimed, body = answer.headers.get("Docker-Content-Digest"), answer.read(_LARGEST + 1)
    except (OSError, http.client.HTTPException) as error:
        raise BaseError(f"{base['image']}: the registry does not answer: {error}") from None
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    if len(body) > _LARGEST or claimed != digest:
        raise BaseError(f"{base['image']}: the registry claims digest {claimed}, its answer has {digest}")
    recipe.write_text(
        text[: base.start()] + f"ARG BASE={base['image']}@{digest}" + text[base.end() :], encoding="utf-8"
    )
    return f"{base['image']}@{digest}"
