"""What can go wrong between us and etcd, by what it tells.

The line that matters runs between a member that may be down (`Silent`) and everything else, where the trouble may be
ours: a certificate, a port that leads elsewhere, an answer that nobody understands. The first is news about etcd, the
second only says that nothing is known. Every text is the same while the trouble is the same.
"""

from __future__ import annotations

import re
import ssl

_PLACE_IN_SOURCE = re.compile(r"\s*\(_ssl\.c:[0-9]+\)|\[[A-Z0-9_: ]+\]\s*")


class EtcdError(Exception):
    """A question to one endpoint was not answered. `why` is for people."""

    down = False
    """Does it speak of a member that is down or stands still?"""

    def __init__(self, endpoint: str, why: str) -> None:
        super().__init__(f"{endpoint}: {why}")
        self.endpoint = endpoint
        self.why = why


class Silent(EtcdError):  # noqa: N818 - what became of the question; the base names the kind
    """Nobody listens there, or whoever does gave no answer in time."""

    down = True


class Untrusted(EtcdError):  # noqa: N818 - what became of the question; the base names the kind
    """TLS failed: we refused its certificate, or it refused ours."""


class Refused(EtcdError):  # noqa: N818 - what became of the question; the base names the kind
    """It answered, with an error. `status` is HTTP's."""

    def __init__(self, endpoint: str, status: int, why: str) -> None:
        super().__init__(endpoint, f"{status} {why}".strip())
        self.status = status


class Garbled(EtcdError):  # noqa: N818 - what became of the question; the base names the kind
    """No answer to go by: cut, not what etcd's API promises, or not to be asked. It says nothing of the member."""


class FolderError(Exception):
    """The certificate folder cannot be used. `file` is the one to look at; a key's content is in no message."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(f"{file}: {why}")
        self.file = file
        self.why = why


def tls_reason(error: BaseException) -> str:
    """Say what OpenSSL said, without the line of somebody's source that Python adds."""
    if isinstance(error, ssl.SSLCertVerificationError) and error.verify_message:
        return f"certificate verify failed: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return _PLACE_IN_SOURCE.sub("", text) or type(error).__name__
