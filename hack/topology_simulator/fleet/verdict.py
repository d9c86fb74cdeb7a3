"""The claims of a story: each is a sentence that held or did not. The verdict is that all of them did."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from .. import opened, terminal

_POLL_SECONDS = 0.25


class StoryFailedError(Exception):
    """The story could not go on; the message says what was waited for and what there was."""


async def until(what: str, holds: Callable[[], Awaitable[bool]], seconds: float) -> None:
    """Wait until it holds; asked four times a second. Raises StoryFailedError, and what asking raises."""
    await opened.until(holds, seconds, _POLL_SECONDS, lambda: StoryFailedError(f"not within {seconds:g} s: {what}"))


@dataclass(slots=True)
class Verdict:
    """Collects claims."""

    claims: list[tuple[str, bool, str]] = field(default_factory=list)

    def claim(self, sentence: str, *, holds: bool, actual: object = "") -> None:
        """Say that something must hold; `actual` is shown when it does not."""
        self.claims.append((sentence, holds, "" if holds else str(actual)))

    def equal(self, sentence: str, actual: object, wanted: object) -> None:
        """Say that something must be so."""
        self.claim(sentence, holds=actual == wanted, actual=actual)

    @property
    def holds(self) -> bool:
        """Whether there are claims and all of them hold."""
        return bool(self.claims) and all(holds for _, holds, _ in self.claims)

    def show(self, screen: terminal.Terminal) -> None:
        """Print every claim with its answer."""
        for sentence, holds, actual in self.claims:
            screen.print(f"  {screen.mark('Met' if holds else 'Unmet')} {sentence}" + (f": {actual}" if actual else ""))
