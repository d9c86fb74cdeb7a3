"""The headers that tell a browser to be careful: nothing is stored, framed, guessed or told to others.

A page says itself what may run in it (`page.policy`); everything else may do nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import web

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


async def careful(_: web.Request, response: web.StreamResponse) -> None:
    """Put the headers on an answer, unless it has its own; for `Application.on_response_prepare`."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    # It names versions, and nobody needs it.
    response.headers.popall("Server", None)
