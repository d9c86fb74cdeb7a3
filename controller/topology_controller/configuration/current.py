"""What is in force while the configuration file changes.

A good file takes effect between two decisions, by the next look at the definitions. A bad one changes nothing: the
last good one stays in force, and `trouble` says what is wrong, which becomes condition Degraded. Where there has been
no good one yet, the defaults are in force and `unknown` is true: the administrator may have asked for more than they
do, so nothing new is admitted until the file is mended. The operator starts all the same, because a transition that is
under way must go on being watched and told.

`process` runs it for as long as the process lives, also on a standby; `reconcile` reads it.
"""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

from ..files import follow
from . import model, understand

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from ..transitions import load

_LOG = logging.getLogger(__name__)


class Current:
    """The configuration in force. `place` None is no file, now and later.

    `log_level` is told what the file asks for, None for the default, whenever that changes; None where the command line
    has decided. `changed` is set by whoever wants to be woken.
    """

    def __init__(
        self,
        place: pathlib.Path | None,
        found: load.Transitions,
        *,
        log_level: Callable[[str | None], None] | None = None,
        period: float = follow.PERIOD,
    ) -> None:
        self.changed: Callable[[], None] = lambda: None
        self.transitions = found
        """The definitions as they are to be asked now; another object whenever they are."""
        self.trouble = ""
        """What is wrong with the file, empty while it is good."""
        self.unknown = False
        """Is the file bad, and has none been good since this process began?"""
        self._place = place
        self._found = found
        self._log_level = log_level
        self._period = period
        self._configuration = model.DEFAULTS
        self._good = False
        self._content = follow.Content()
        if place is not None:
            self._content = follow.content(place)
            self._take(place, self._content)

    async def run(self) -> None:
        """Follow the file until cancelled; without one there is nothing to do, and this returns."""
        if self._place is None:
            return
        async with contextlib.aclosing(follow.changes(self._place, self._content, period=self._period)) as changes:
            async for content in changes:
                self._take(self._place, content)
                self.changed()

    def _take(self, place: pathlib.Path, content: follow.Content) -> None:
        """Put into force what a file says, if it says something good."""
        names = [one.name for one in self._found.definitions]
        found = understand.understand(place, content, names)
        if found.configuration is None:
            self._refuse(found)
            return
        if self.trouble:
            _LOG.info("the configuration in %(file)s is good again", {"file": place})
        self.trouble, self.unknown, self._good = "", False, True
        if found.configuration == self._configuration:
            return
        before, self._configuration = self._configuration, found.configuration
        self.transitions = model.applied(self._found, found.configuration)
        if self._log_level is not None and before.log_level != found.configuration.log_level:
            self._log_level(found.configuration.log_level)
        says = found.configuration.model_dump_json(by_alias=True, exclude_unset=True, exclude={"api_version", "kind"})
        _LOG.info("the configuration in %(file)s is in force: %(says)s", {"file": place, "says": says})

    def _refuse(self, found: understand.Understood) -> None:
        self.unknown = not self._good
        kept = (
            "Until it is mended the defaults are in force, and nothing new is admitted: more may have been asked for"
            if self.unknown
            else "Until it is mended the configuration that was read before stays in force"
        )
        self.trouble = f"{found.trouble}. {kept}"
        for problem in found.told:
            _LOG.warning("the configuration cannot be used: %(problem)s", {"problem": problem})
