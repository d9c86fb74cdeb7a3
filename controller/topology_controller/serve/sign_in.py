"""Signing in with a browser, which can send neither a token nor (easily) a certificate: a form, and then a cookie.

The user is authenticated and authorized for the page at once, so that the form shows what is wrong.
"""

from __future__ import annotations

import asyncio
import html
import logging
import urllib.parse
from typing import TYPE_CHECKING

from aiohttp import web

from .. import bindata
from ..kube import errors
from . import authn, page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .connections import Limits

_LOG = logging.getLogger(__name__)
_PLACE = "<!-- problem -->"
_FORM = "application/x-www-form-urlencoded"
_FIELDS = 8


def form(status: int, problem: str) -> web.Response:
    """Return bindata/page/sign-in.html with a problem, "" for none; read each time, as it is asked for seldom."""
    text = (bindata.root() / "page" / "sign-in.html").read_text(encoding="utf-8")
    headers = {"Content-Security-Policy": page.policy(text, forms=True)}
    if problem:
        text = text.replace(_PLACE, f'<p role="alert">{html.escape(problem)}</p>', 1)
    return web.Response(status=status, text=text, content_type="text/html", headers=headers)


class SignIn:
    """`/sign-in` and `/sign-out`."""

    def __init__(self, reviews: authn.Reviews, sessions: authn.Sessions, limits: Limits) -> None:
        self._reviews = reviews
        self._sessions = sessions
        self._limits = limits

    def routes(self) -> Sequence[web.RouteDef]:
        """Return what is served."""
        return (
            web.get(authn.SIGN_IN, self._show),
            web.post(authn.SIGN_IN, self._begin),
            web.post(authn.SIGN_OUT, self._end),
        )

    async def _show(self, _: web.Request) -> web.Response:
        return form(200, "")

    async def _begin(self, request: web.Request) -> web.Response:
        if _from_elsewhere(request):
            return form(403, "This form was sent by another site.")
        token = await self._token(request)
        if not token:
            return form(400, "Paste a token first.")
        try:
            user = await self._reviews.identity(token)
            if user is None:
                return form(401, "The API server does not know this token. Is it whole, and has it not ended?")
            allowed = await self._reviews.allowed(user, authn.PAGE.path)
        except authn.Undecided as error:
            return form(503, str(error))
        if not allowed:
            return form(403, authn.forbidden(user.name, authn.PAGE))
        _LOG.info("%(user)s has signed in to the status page", {"user": errors.clean(user.name, 200)})
        response = web.Response(status=303, headers={"Location": "/"})
        response.set_cookie(
            authn.COOKIE,
            self._sessions.begin(token),
            max_age=int(self._sessions.lasting),
            path="/",
            secure=True,
            httponly=True,
            samesite="Strict",
        )
        return response

    async def _end(self, request: web.Request) -> web.Response:
        if _from_elsewhere(request):
            return form(403, "This form was sent by another site.")
        self._sessions.end(request.cookies.get(authn.COOKIE, ""))
        response = web.Response(status=303, headers={"Location": authn.SIGN_IN})
        authn.forget_session(response)
        return response

    async def _token(self, request: web.Request) -> str:
        """Return what was pasted, "" for nothing. Raises HTTPException for what is no form, too large or too slow."""
        if request.content_type != _FORM:
            raise web.HTTPUnsupportedMediaType
        try:
            async with asyncio.timeout(self._limits.body_wait):
                body = await request.read()
            fields = urllib.parse.parse_qs(body.decode("ascii"), max_num_fields=_FIELDS)
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
        except ValueError:
            raise web.HTTPBadRequest from None
        return fields.get("token", [""])[0].strip()


def _from_elsewhere(request: web.Request) -> bool:
    """Did a browser send this for another site? Our own page sends Origin: null, because of `no-referrer`."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site not in {"same-origin", "none"}
    origin = request.headers.get("Origin", "null")
    return origin not in {"null", f"https://{request.host}"}
