"""Follows the configuration file, and keeps what is in force.

A ConfigMap volume replaces everything at once, by turning the link `..data`; other programs write file by file, and may
be read half-way. So a change is taken when two looks shortly after each other find the same. Contents are compared, not
times: a small file every two seconds costs nothing, and a time can lie.

A good file takes effect between two decisions. A bad one changes nothing: the last good one stays in force, and
`trouble` says what is wrong, which becomes condition Degraded. Where none has been valid yet, the defaults are
in force and `unknown` is true: the administrator may have asked for more than they do, so no transition begins until
the file is corrected. The operator still starts, because a transition that is under way has to be followed.

`process` runs it for as long as the process lives, also on a standby; `reconcile` reads it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from .. import mounted
from . import read, settings

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from . import load

_LOG = logging.getLogger(__name__)
PERIOD = 2.0
"""Seconds between two looks; kubelet itself takes up to a minute to bring a change."""
BREATH = 0.1
"""Seconds after which a change must still be the same."""


class Current:
    """The configuration in force. `place` None is no file, now and later.

    `log_level` is called with what the file asks for, None for the default, whenever that changes; None where the
    command line has decided. `changed` is called after every change of the file.
    """

    def __init__(
        self,
        place: pathlib.Path | None,
        loaded: load.Transitions,
        *,
        log_level: Callable[[str | None], None] | None = None,
    ) -> None:
        self.changed: Callable[[], None] = lambda: None
        self.transitions = loaded
        """The definitions as they are to be asked now; another object whenever they are."""
        self.trouble = ""
        """What is wrong with the file, empty while it is good."""
        self.unknown = False
        """Is the file bad, and has none been good since this process began?"""
        self._place = place
        self._loaded = loaded
        self._log_level = log_level
        self._configuration = settings.DEFAULTS
        self._has_been_good = False
        self._content: bytes | str | None = None
        if place is not None:
            self._content = _content(place)
            self._take(place)

    async def run(self) -> None:
        """Follow the file until cancelled; without one there is nothing to do, and this returns."""
        seen = self._content
        while self._place is not None:
            await asyncio.sleep(PERIOD if seen == self._content else BREATH)
            before, seen = seen, _content(self._place)
            if seen == before and seen != self._content:
                self._content = seen
                self._take(self._place)
                self.changed()

    def _take(self, place: pathlib.Path) -> None:
        """Put into force what the file says, if it says something good."""
        try:
            configuration = self._configured(place)
        except read.DefinitionError as error:
            self._refuse(settings.complaints(error))
            return
        if self.trouble:
            _LOG.info("the configuration in %(file)s is good again", {"file": place})
        self.trouble, self.unknown, self._has_been_good = "", False, True
        if configuration == self._configuration:
            return
        before, self._configuration = self._configuration, configuration
        self.transitions = settings.applied(self._loaded, configuration)
        if self._log_level is not None and before.log_level != configuration.log_level:
            self._log_level(configuration.log_level)
        says = configuration.model_dump_json(by_alias=True, exclude_unset=True, exclude={"api_version", "kind"})
        _LOG.info("the configuration in %(file)s is in force: %(says)s", {"file": place, "says": says})

    def _configured(self, place: pathlib.Path) -> settings.Configuration:
        if isinstance(self._content, str):
            raise read.DefinitionError((read.Problem(place, None, self._content),))
        return settings.load(place, self._content, [definition.name for definition in self._loaded.definitions])

    def _refuse(self, complaints: tuple[str, ...]) -> None:
        self.unknown = not self._has_been_good
        kept = (
            "Until it is corrected the defaults are in force, and no transition begins: more may have been asked for"
            if self.unknown
            else "Until it is corrected the configuration that was read before stays in force"
        )
        self.trouble = f"{'; '.join(complaints)}. {kept}"
        for complaint in complaints:
            _LOG.warning("the configuration cannot be used: %(problem)s", {"problem": complaint})


def _content(place: pathlib.Path) -> bytes | str | None:
    """Read a file: None where there is none, a text that says why it cannot be read. Never raises."""
    try:
        return mounted.read(place.parent, place.name, largest=settings.LARGEST)[0]
    except mounted.MissingFileError:
        return None
    except mounted.MountedFileError as error:
        return error.reason
