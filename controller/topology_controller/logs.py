"""How the operator logs: to stderr, one line per message, as klog prints it or as JSON, without ever blocking the loop.

    _LOG.info("check %(check)s is %(status)s: %(message)s", {"check": name, "status": status, "message": message})

The text line is that sentence, and what was given but is not in it follows as `name="value"`; the JSON line has the
sentence as `msg` and every fact as a field. A value that has `fields` of its own (a `kube.errors.KubeError`) brings
those along. `_facts` makes the texts fit for a log (`terminal`).
"""

from __future__ import annotations

import contextlib
import json
import logging
import logging.handlers
import os
import queue
import re
import select
import sys
import time
from collections.abc import Mapping
from typing import Any

from . import terminal

_LOG = logging.getLogger(__name__)
LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}
DEFAULT = "info"
_VERBOSITY = (logging.WARNING, logging.INFO, logging.DEBUG, terminal.REQUESTS)
"""Levels of -v 0, 2, 4 and 6: an odd number is the even one before it."""
_OURS = ("topology_controller", "topology_api")
_LONGEST_MESSAGE, _LONGEST_VALUE, _LONGEST_TRACE = 4000, 1000, 8000
_NAMED = re.compile(r"%\((\w+)\)")
_CORE = frozenset({"ts", "level", "logger", "msg", "exception"})
_LETTERS = {logging.WARNING: "W", logging.ERROR: "E", logging.CRITICAL: "E"}
_BACKLOG = 1000


def level(named: str | None, verbosity: int | None) -> int:
    """Return the level that --log-level and -v ask for; None was not given. Raises ValueError when they differ."""
    wanted = LEVELS[named or DEFAULT]
    if verbosity is None:
        return wanted
    asked = _VERBOSITY[min(verbosity // 2, len(_VERBOSITY) - 1)]
    if named is not None and wanted != asked:
        same = wanted in _VERBOSITY
        means = f"is the same as -v {2 * _VERBOSITY.index(wanted)}" if same else "has no -v that is the same"
        raise ValueError(f"--log-level {named} {means}, and -v {verbosity} was given too: give one of the two")
    return asked


def set_up(level_: int, form: str) -> None:
    """Log to stderr from now on, in form text or json; what was set up before is replaced."""
    try:
        handler: logging.Handler = Stderr(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):
        # Replaced by a test or a debugger.
        handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Json() if form == "json" else Text())
    root = logging.getLogger()
    for old in tuple(root.handlers):
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    set_level(level_)
    logging.captureWarnings(capture=True)


def set_level(level_: int) -> None:
    """Log what is of this level or above from now on."""
    # kubernetes_asyncio would log the bodies of answers at DEBUG, Secrets included.
    logging.getLogger().setLevel(max(level_, logging.WARNING))
    for name in _OURS:
        logging.getLogger(name).setLevel(level_)


def follow(named: str | None) -> None:
    """Log at the level that the configuration names, None for the default, and say so whatever the level."""
    name = named or DEFAULT
    set_level(LEVELS[name])
    _LOG.log(max(logging.INFO, LEVELS[name]), "the log level is %(level)s now", {"level": name})


def flush() -> None:
    """Write what is queued, for at most a second."""
    for handler in logging.getLogger().handlers:
        with contextlib.suppress(ValueError, OSError):
            handler.flush()


def complain(program: str, text: object) -> None:
    """Say why a command ends: in plain lines, or as errors of the log where that is JSON."""
    complaints = _clean_lines(str(text))
    if any(isinstance(handler.formatter, Json) for handler in logging.getLogger().handlers):
        for line in complaints:
            _LOG.error("%s", line)
        return
    flush()
    for line in complaints:
        sys.stderr.write(f"{program}: {line}\n")


def bug(logger: logging.Logger, error: BaseException) -> None:
    """Log what should never have been raised, with its trace, once."""
    fields = {"kind": type(error).__name__, "error": error}
    logger.error("this is a bug, the process ends: %(kind)s: %(error)s", fields, exc_info=error)


def _facts(
    record: logging.LogRecord, formatter: logging.Formatter
) -> tuple[str, dict[str, object], dict[str, object], str]:
    """Return what a line has, clean: the sentence, every fact, those that are not in the sentence, a trace."""
    fields: dict[str, object] = {}
    rest: dict[str, object] = {}
    places = _NAMED.findall(str(record.msg))
    for name, value in record.args.items() if isinstance(record.args, Mapping) else ():
        own = getattr(value, "fields", None)
        parts = own if isinstance(own, Mapping) else {name: value}
        plain = {str(key): _plain(part) for key, part in parts.items() if part is not None and key not in _CORE}
        fields.update(plain)
        if name not in places:
            rest.update(plain)
    trace = "\n".join(_clean_lines(formatter.formatException(record.exc_info))) if record.exc_info else ""
    if len(trace) > _LONGEST_TRACE:
        # The end says what was raised, and where.
        trace = "(cut) ..." + trace[-_LONGEST_TRACE:]
    return terminal.clean(record.getMessage(), _LONGEST_MESSAGE), fields, rest, trace


def _clean_lines(text: str) -> list[str]:
    return [terminal.plain(line) for line in terminal.redacted(text).splitlines()]


def _plain(value: object) -> object:
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return round(value, 3) if abs(value) < float("inf") else str(value)
    return terminal.clean(str(value), _LONGEST_VALUE)


class Json(logging.Formatter):
    """One JSON object a line: ts, level, logger, msg, the facts, and `exception` where there is a trace."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        message, fields, _, trace = _facts(record, self)
        whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "ts": f"{whole}.{int(record.msecs):03d}Z",
            "level": "debug" if record.levelno < logging.INFO else record.levelname.lower(),
            "logger": record.name,
            "msg": message,
            **fields,
        }
        return json.dumps(line | ({"exception": trace} if trace else {}))


class Text(logging.Formatter):
    """The header of klog (letter, date, UTC time, process, file and line), the sentence, and what that leaves out."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        message, _, facts, trace = _facts(record, self)
        when = time.strftime("%m%d %H:%M:%S", time.gmtime(record.created))
        when = f"{_LETTERS.get(record.levelno, 'I')}{when}.{int(record.created % 1 * 1_000_000):06d}"
        rest = "".join(f" {name}={json.dumps(value, ensure_ascii=False)}" for name, value in facts.items())
        text = f"{when} {os.getpid():7d} {record.filename[:200]}:{record.lineno}] {message}{rest}"
        return f"{text}\n{trace}" if trace else text


class Stderr(logging.handlers.QueueHandler):
    """Queues lines for a thread that writes them, and never waits for their reader: what is too much is counted."""

    def __init__(self, descriptor: int) -> None:
        self._lines: queue.Queue[Any] = queue.Queue(_BACKLOG)
        super().__init__(self._lines)
        self._lost, self._listens = 0, True
        self._listener = logging.handlers.QueueListener(self._lines, _Descriptor(descriptor))
        self._listener.start()

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Return a record whose message is the whole line, formatted while its facts are as they were."""
        try:
            line = self.format(record)
        except Exception as error:  # noqa: BLE001 - a bad line must not end what it is about
            line = f"E a line of {record.pathname}:{record.lineno} cannot be formatted: {type(error).__name__}"
        return logging.makeLogRecord({"msg": line})

    def enqueue(self, record: logging.LogRecord) -> None:
        """Queue a line, or count it as lost."""
        try:
            if self._lost:
                text, facts = "stderr was not read: %(lost)d lines are lost", {"lost": self._lost}
                about = logging.LogRecord(__name__, logging.WARNING, __file__, 0, text, (facts,), None)
                self._lines.put_nowait(self.prepare(about))
                self._lost = 0
            self._lines.put_nowait(record)
        except queue.Full:
            self._lost += 1

    def flush(self) -> None:
        """Wait until everything is written, for at most a second."""
        with self._lines.all_tasks_done:
            self._lines.all_tasks_done.wait_for(lambda: not self._lines.unfinished_tasks, 1.0)

    def close(self) -> None:
        """Flush, and end the thread unless its reader does not read. It may be called again."""
        self.flush()
        if self._listens and not self._lines.unfinished_tasks:
            self._listens = False
            self._listener.stop()
        super().close()


class _Descriptor(logging.Handler):
    """Writes lines to a file descriptor, which anybody may set not to block. A reader that has left is no error."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def emit(self, record: logging.LogRecord) -> None:
        data = f"{record.getMessage()}\n".encode(errors="backslashreplace")
        with contextlib.suppress(OSError):
            while data:
                try:
                    data = data[os.write(self._descriptor, data) :]
                except BlockingIOError:
                    select.select((), (self._descriptor,), ())
