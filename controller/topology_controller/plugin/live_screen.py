"""`status --watch` on a terminal: draws what `live_view` says, and leaves the terminal as it was found.

It takes the terminal's second screen, so that what was there before comes back when it ends, and writes only the lines
that have changed: over a slow line a second costs a few bytes. While it draws, the keyboard does not echo. A terminal
that changes its size is drawn anew; one that is put into the background with Ctrl-Z is given back meanwhile. At the end
the last state is printed as `status` prints it, so that it stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import termios
from typing import TYPE_CHECKING, Any, Self, TextIO

from rich.console import Console
from rich.control import Control

from . import live_layout, live_view, paper, printing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from types import TracebackType

    from . import live

_LOCAL = 3
"""Where the local modes stand in what `tcgetattr` returns."""


class Screen:
    """A sheet on a terminal."""

    tick: float | None = 1.0
    shortest = 0.25
    whole = False

    def __init__(self, stream: TextIO, environ: Mapping[str, str] = os.environ) -> None:
        self._stream = stream
        options: dict[str, Any] = {"color_system": None} if environ.get("NO_COLOR") else {}
        self._console = Console(file=stream, force_terminal=True, highlight=False, markup=False, emoji=False, **options)
        self._drawn: list[live_layout.Line] = []
        self._size = (0, 0)
        self._shown: live.Shown | None = None
        self._keyboard: list[Any] | None = None

    def __enter__(self) -> Self:
        self._take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_back()
        if self._shown is not None and not isinstance(error, OSError):
            sheet = paper.Paper.of(self._stream)
            printing.status(sheet, self._shown.answer)
            self._stream.write(sheet.text())
            self._stream.flush()

    @contextlib.contextmanager
    def signals(self, news: asyncio.Event) -> Iterator[None]:
        """While entered, a terminal that changes or comes back is news."""
        loop = asyncio.get_running_loop()

        def away() -> None:
            self._give_back()
            os.kill(os.getpid(), signal.SIGSTOP)
            # Here it goes on, after `fg`.
            self._take()
            news.set()

        loop.add_signal_handler(signal.SIGWINCH, news.set)
        loop.add_signal_handler(signal.SIGTSTP, away)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGWINCH)
            loop.remove_signal_handler(signal.SIGTSTP)

    def show(self, shown: live.Shown, now: datetime) -> None:
        """Draw it. Raises BrokenPipeError when the terminal has gone."""
        self._shown = shown
        console = self._console
        size = console.size
        frame = live_layout.Frame(size.width, size.height, now, ascii_only=not console.encoding.startswith("utf"))
        lines = live_view.picture(shown, frame)
        try:
            with console:
                if (size.width, size.height) != self._size:
                    self._size, self._drawn = (size.width, size.height), []
                    console.control(Control.clear())
                self._draw(lines, console.options.update(width=size.width, height=1))
        except OSError as error:
            raise BrokenPipeError from error
        self._drawn = lines

    def _draw(self, lines: list[live_layout.Line], options: Any) -> None:
        empty = live_layout.Line()
        for number in range(max(len(lines), len(self._drawn))):
            line = lines[number] if number < len(lines) else empty
            if number < len(self._drawn) and self._drawn[number] == line:
                continue
            self._console.update_screen_lines(self._console.render_lines(line, options, pad=True)[:1], 0, number)

    def _take(self) -> None:
        self._size = (0, 0)
        self._console.set_alt_screen()
        self._console.show_cursor(show=False)
        with contextlib.suppress(OSError, ValueError, termios.error):
            number = sys.stdin.fileno()
            self._keyboard = termios.tcgetattr(number)
            quiet = [*self._keyboard]
            quiet[_LOCAL] &= ~termios.ECHO
            termios.tcsetattr(number, termios.TCSADRAIN, quiet)

    def _give_back(self) -> None:
        with contextlib.suppress(OSError, ValueError, termios.error):
            self._console.show_cursor()
            self._console.set_alt_screen(enable=False)
            if self._keyboard is not None:
                # What was typed meanwhile was meant for nobody.
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSAFLUSH, self._keyboard)
                self._keyboard = None
