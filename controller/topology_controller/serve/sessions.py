"""Who has signed in with a browser: a random id in a cookie, and here what it stands for.

A session stands for a token, which is reviewed again and again as if it were sent with every request: when the token
ends, so does the session. To ask again the token is needed; it is kept masked with a key that only the cookie has, and
found by another. So neither can be read out of this process's memory, and nothing of it is written anywhere.
"""

from __future__ import annotations

import hashlib
import secrets

from . import memory

COOKIE = "topology_session"
_SESSIONS = 64


class Sessions:
    """At most 64 sessions of `lasting` seconds each."""

    def __init__(self, lasting: float = 3600.0) -> None:
        self.lasting = lasting
        self._kept: memory.Memory[bytes, bytes] = memory.Memory(_SESSIONS)

    def __len__(self) -> int:
        return len(self._kept)

    def begin(self, token: str) -> str:
        """Remember a token and return what the cookie is to say."""
        cookie = secrets.token_urlsafe(32)
        content = token.encode()
        self._kept.keep(_place(cookie), _masked(cookie, content), self.lasting)
        return cookie

    def token(self, cookie: str) -> str | None:
        """Return the token of a session; None when there is no such session."""
        kept = self._kept.get(_place(cookie))
        return None if kept is None else _masked(cookie, kept).decode()

    def end(self, cookie: str) -> None:
        """Forget a session."""
        self._kept.forget(_place(cookie))


def _place(cookie: str) -> bytes:
    return hashlib.sha256(b"place" + cookie.encode("utf-8", "surrogateescape")).digest()


def _masked(cookie: str, content: bytes) -> bytes:
    """Mask, or take the mask away: each cookie is random and used for one token only."""
    mask = hashlib.shake_256(b"mask" + cookie.encode("utf-8", "surrogateescape")).digest(len(content))
    return bytes(one ^ other for one, other in zip(content, mask, strict=True))
