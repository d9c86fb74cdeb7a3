"""Who is it, and may they: in front of every path that is not open.

Who: a client certificate that the handshake has verified, else a bearer token, else the session of a browser; the first
that is there decides, as in kube-apiserver. May they: `access` says which right a path asks for. Nobody gets 401, a
browser the page to sign in; somebody without the right gets 403 with the role that would help; and when the API server
cannot be asked nobody is let in on a guess: 503.
"""

from __future__ import annotations

import logging
import shlex
import ssl
import time
from typing import TYPE_CHECKING, Any

from ..kube import errors
from . import access, answers, reviews, sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aiohttp import web
    from aiohttp.typedefs import Handler

_LOG = logging.getLogger(__name__)
_SCHEME = "bearer"


class Gate:
    """Decides about each request. `sign_in` makes the page that a browser is shown, with a problem to tell or ""."""

    def __init__(
        self, asked: reviews.Reviews, signed_in: sessions.Sessions, sign_in: Callable[[int, str], web.Response]
    ) -> None:
        self._reviews = asked
        self._sessions = signed_in
        self._sign_in = sign_in
        self._complained = ""

    async def pass_through(
        self, request: web.Request, handler: Handler, let_in: Callable[[web.Request], None]
    ) -> web.StreamResponse:
        """Answer with what was asked for, or with why not."""
        right = access.right(access.path(request))
        if right is None:
            return await handler(request)
        refused = await self.refusal(request, right)
        if refused is not None:
            return refused
        let_in(request)
        return await handler(request)

    async def refusal(self, request: web.Request, right: access.Right) -> web.Response | None:
        """Return why somebody is not let in; None when they are."""
        try:
            identity = await self._identity(request)
            if identity is None:
                return self._nobody(request)
            if identity.name in right.always or await self._reviews.allowed(identity, right.path):
                return None
        except (reviews.Unanswered, reviews.TooMany) as error:
            return self.unsure(error)
        return answers.text(403, forbidden(identity.name, right))

    def unsure(self, error: reviews.Unanswered | reviews.TooMany) -> web.Response:
        """Say that it could not be found out."""
        made = answers.text(503, self.why(error))
        made.headers["Retry-After"] = "1"
        return made

    def why(self, error: reviews.Unanswered | reviews.TooMany) -> str:
        """Say in a line why it could not be found out; the log gets it once for each reason."""
        if isinstance(error, reviews.TooMany):
            return "too many people have to be asked about at the moment: try again in a second"
        text = str(error.error)
        if text != self._complained:
            self._complained = text
            _LOG.warning("it cannot be told who asks, or whether they may: %(why)s", {"why": text})
        found = error.error
        if isinstance(found, errors.Forbidden | errors.Unauthorized):
            return f"this operator is not allowed to ask the API server for {found.resource.label}"
        return "the API server, which knows who may see this, cannot be asked at the moment"

    async def _identity(self, request: web.Request) -> reviews.Identity | None:
        certified = by_certificate(request.get_extra_info("peercert"))
        if certified is not None:
            return certified
        credentials = request.headers.getall("Authorization", ())
        if credentials:
            return await self._by_token(credentials)
        cookie = request.cookies.get(sessions.COOKIE)
        token = None if cookie is None else self._sessions.token(cookie)
        if cookie is None or token is None:
            return None
        identity = await self._reviews.identity(token)
        if identity is None:
            self._sessions.end(cookie)
        return identity

    async def _by_token(self, credentials: Sequence[str]) -> reviews.Identity | None:
        scheme, _, token = credentials[0].strip().partition(" ")
        if len(credentials) > 1 or scheme.lower() != _SCHEME:
            return None
        return await self._reviews.identity(token.strip())

    def _nobody(self, request: web.Request) -> web.Response:
        tried = "Authorization" in request.headers or sessions.COOKIE in request.cookies
        if "text/html" in request.headers.get("Accept", "") and "Authorization" not in request.headers:
            made = self._sign_in(401, "Your session has ended." if tried else "")
        elif tried:
            made = answers.text(401, "these credentials are not accepted")
        else:
            made = answers.text(401, "who are you? Send a client certificate or Authorization: Bearer TOKEN")
        made.headers["WWW-Authenticate"] = "Bearer"
        if sessions.COOKIE in request.cookies:
            made.del_cookie(sessions.COOKIE, path="/", secure=True, httponly=True, samesite="Strict")
        return made


def forbidden(name: str, right: access.Right) -> str:
    """Say who may not do what, and what would help."""
    shown = errors.clean(name, 200)
    return (
        f'user "{shown}" may not get "{right.path}"; who is bound to ClusterRole {right.role} may: '
        f"oc adm policy add-cluster-role-to-user {right.role} {shlex.quote(shown)}"
    )


def by_certificate(found: dict[str, Any] | None) -> reviews.Identity | None:
    """Return whom a verified certificate names, as Kubernetes reads it: the common name, and organisations as groups.

    None for no certificate, for one that has ended since the handshake, and for one that does not name exactly one.
    """
    if not found:
        return None
    try:
        if ssl.cert_time_to_seconds(str(found["notAfter"])) <= time.time():
            return None
    except (KeyError, ValueError):
        return None
    parts = [pair for entry in found.get("subject", ()) for pair in entry]
    names = [value for key, value in parts if key == "commonName"]
    groups = [value for key, value in parts if key == "organizationName"]
    if len(names) != 1 or not names[0]:
        return None
    return reviews.Identity(names[0], groups=tuple(dict.fromkeys((*groups, reviews.AUTHENTICATED))))
