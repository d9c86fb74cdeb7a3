"""What is printed when Ctrl-C or SIGTERM ends a command: what is true now, and how to go on.

One object travels with the connection. It begins with what holds for the verb before anything is sent. A verb that
writes replaces it right before the write leaves, when nothing is known of its outcome, and again when that is known.
`main` prints it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_READING: Final = "nothing was written. The same command can be given again at any time"
_BEGINNING: Final = {
    "wait": "nothing was written. The transition goes on without being waited for; wait on with: oc topology wait",
    "set": "nothing was written, and no request was made. The same command begins again",
    "cancel": "nothing was written, and the request stands as it did. The same command begins again",
    "accept": "nothing was written, and nothing was accepted. The same command begins again",
}


@dataclass(slots=True)
class Interruption:
    """What would be said if the command ended now."""

    said: str = _READING

    def begin(self, verb: str) -> None:
        """Say what holds for a verb before it has sent anything."""
        self.said = _BEGINNING.get(verb, _READING)

    def now(self, said: str) -> None:
        """Say from here on: one sentence or two, without a full stop at the end."""
        self.said = said
