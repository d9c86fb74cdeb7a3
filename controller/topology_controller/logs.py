"""How the operator logs: to stderr, one line per message, as klog prints it or as JSON, without ever blocking the loop.

Whoever logs writes a sentence with named places and gives the facts by name:

    _LOG.info("check %(check)s is %(status)s: %(message)s", {"check": name, "status": status, "message": message})

The text line is that sentence, and whatever was given but is not in it follows as `name="value"`; the JSON line has the
sentence as `msg` and every fact as a field. So both say the same, and a fact is written once. A value that has `fields`
of its own (a `kube.errors.KubeError`) brings those along.

Both formats get their texts from one place (`_facts`), which removes credentials (`kube.logged`), folds line breaks and
bounds the length: no line can leave without it. Other people's libraries are heard from warnings on.

`Stderr` writes only what the pipe takes at once. `cli` sets this up; nobody else imports it.
"""

from __future__ import annotations

import collections
import contextlib
import json
import logging
import os
import re
import select
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .kube import logged

_LOG = logging.getLogger(__name__)
FORMATS = ("text", "json")
LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}
DEFAULT = "info"
_VERBOSITY = (logging.WARNING, logging.INFO, logging.DEBUG, logged.REQUESTS)
"""Levels of -v 0, 2, 4 and 6: an odd number is the even one before it."""
_OURS = ("topology_controller", "topology_api")
_LONGEST_MESSAGE = 4000
_LONGEST_VALUE = 1000
_LONGEST_TRACE = 8000
_LONGEST_NAME = 200
_NAMED = re.compile(r"%\((\w+)\)")
_CORE = frozenset({"ts", "level", "logger", "msg", "exception"})
_LETTERS = {logging.WARNING: "W", logging.ERROR: "E", logging.CRITICAL: "E"}
# A pipe that is ready takes so many bytes at once without blocking (POSIX PIPE_BUF).
_PIECE = select.PIPE_BUF
_BACKLOG = 1000
_AT_END = 1.0


def level(named: str | None, verbosity: int | None) -> int:
    """Return the level that --log-level and -v ask for together; None is a flag that was not given.

    Raises ValueError when they ask for different ones.
    """
    if verbosity is None:
        return LEVELS[named or DEFAULT]
    found = _VERBOSITY[min(verbosity // 2, len(_VERBOSITY) - 1)]
    if named is not None and LEVELS[named] != found:
        same = next((f"-v {2 * step}" for step, one in enumerate(_VERBOSITY) if one == LEVELS[named]), None)
        means = f"is the same as {same}" if same else "has no -v that is the same"
        raise ValueError(f"--log-level {named} {means}, and -v {verbosity} was given too: give one of the two")
    return found


def set_up(level_: int, form: str) -> None:
    """Log to stderr from now on, in one of FORMATS; what was set up before is replaced."""
    formatter = Json() if form == "json" else Text()
    try:
        handler: logging.Handler = Stderr(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):
        # Somebody has put something else there (a test, a debugger).
        handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    for old in tuple(root.handlers):
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    set_level(level_)
    logging.getLogger("aiohttp.server").addFilter(_from_strangers)
    logging.captureWarnings(capture=True)


def set_level(level_: int) -> None:
    """Log what is of this level or above from now on."""
    # kubernetes_asyncio would log the bodies of answers at DEBUG, Secrets included.
    logging.getLogger().setLevel(max(level_, logging.WARNING))
    for name in _OURS:
        logging.getLogger(name).setLevel(level_)


def follow(named: str | None) -> None:
    """Log at the level that the configuration names, None for the default, and say so whatever the level."""
    set_level(LEVELS[named or DEFAULT])
    _LOG.log(max(logging.INFO, LEVELS[named or DEFAULT]), "the log level is %(level)s now", {"level": named or DEFAULT})


def _from_strangers(record: logging.LogRecord) -> bool:
    """Pass everything but what somebody has sent that is no HTTP: anybody can, as often as they like."""
    error = record.exc_info[1] if record.exc_info else None
    return type(error).__module__ != "aiohttp.http_exceptions"


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a line says, clean: the sentence, every fact, those that are not in the sentence, a trace."""

    message: str
    fields: dict[str, object]
    unsaid: dict[str, object]
    trace: str


def _facts(record: logging.LogRecord, formatter: logging.Formatter) -> _Facts:
    fields: dict[str, object] = {}
    unsaid: dict[str, object] = {}
    if isinstance(record.args, Mapping):
        said = set(_NAMED.findall(str(record.msg)))
        for name, value in record.args.items():
            own = getattr(value, "fields", None)
            found = own if isinstance(own, Mapping) else {name: value}
            plain = {str(key): _plain(part) for key, part in found.items() if part is not None and key not in _CORE}
            fields.update(plain)
            if name not in said:
                unsaid.update(plain)
    trace = ""
    if record.exc_info:
        trace = logged.redacted(formatter.formatException(record.exc_info))
        if len(trace) > _LONGEST_TRACE:
            # The end says what was raised, and where.
            trace = "(cut) ..." + trace[-_LONGEST_TRACE:]
    return _Facts(_clean(record.getMessage(), _LONGEST_MESSAGE), fields, unsaid, trace)


def _clean(text: str, longest: int) -> str:
    return logged.one_line(logged.redacted(text[: 4 * longest]), longest)


def _plain(value: object) -> object:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return round(value, 3) if abs(value) < float("inf") else str(value)
    return _clean(str(value), _LONGEST_VALUE)


class Json(logging.Formatter):
    """One JSON object a line: ts, level, logger, msg, the facts, and `exception` where there is a trace."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        facts = _facts(record, self)
        whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "ts": f"{whole}.{int(record.msecs):03d}Z",
            "level": "debug" if record.levelno < logging.INFO else record.levelname.lower(),
            "logger": record.name,
            "msg": facts.message,
            **facts.fields,
        }
        if facts.trace:
            line["exception"] = facts.trace
        return json.dumps(line)


class Text(logging.Formatter):
    """The header of klog (letter, month and day, UTC time, process, file and line), the sentence, what it leaves out.

    A trace follows in lines of its own.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        facts = _facts(record, self)
        when = time.strftime("%m%d %H:%M:%S", time.gmtime(record.created))
        micro = int(record.created % 1 * 1_000_000)
        letter = _LETTERS.get(record.levelno, "I")
        where = f"{record.filename[:_LONGEST_NAME]}:{record.lineno}"
        rest = "".join(f" {name}={_quoted(value)}" for name, value in facts.unsaid.items())
        text = f"{letter}{when}.{micro:06d} {os.getpid():7d} {where}] {facts.message}{rest}"
        return f"{text}\n{facts.trace}" if facts.trace else text


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


class Stderr(logging.Handler):
    """Writes lines to a file descriptor, and never waits for whoever reads it.

    A container's stderr is a pipe. When its reader stops reading, a write blocks, and with it the loop, the lease and
    the probes. So a line is written only as far as the pipe is ready for it; the rest waits in a bounded backlog, which
    a thread empties that lives only as long. Lines beyond the bound are lost, and the next line says how many. At the
    end of the process the backlog gets one more second. A reader that has gone away is nobody to complain to.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._backlog: collections.deque[bytes] = collections.deque()
        self._lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or keep it. Called with the handler's lock held."""
        try:
            text = self.format(record)
        except Exception as error:  # noqa: BLE001 - a bad line must not end what it tells of
            text = f"E a line of {record.pathname}:{record.lineno} cannot be formatted: {type(error).__name__}"
        self._put(f"{text}\n".encode(errors="backslashreplace"))

    def flush(self) -> None:
        """Write everything, waiting for the reader for at most a second."""
        ends = time.monotonic() + _AT_END
        with self._guarded():
            while self._backlog and (left := ends - time.monotonic()) > 0:
                if rest := self._write(self._backlog.popleft(), max(1, int(1000 * left))):
                    self._backlog.appendleft(rest)

    def close(self) -> None:
        """Flush. The descriptor is not ours to close."""
        self.flush()
        super().close()

    def _put(self, line: bytes) -> None:
        if self._backlog:
            if len(self._backlog) >= _BACKLOG:
                self._lost += 1
            else:
                self._backlog.append(line)
            return
        if rest := self._write(line, 0):
            self._backlog.append(rest)
            threading.Thread(target=self._drain, name="stderr", daemon=True).start()

    def _write(self, data: bytes, milliseconds: int) -> bytes:
        """Write what can be written without blocking, and return what is left."""
        try:
            while data and self._poll.poll(milliseconds):
                data = data[os.write(self._descriptor, data[:_PIECE]) :]
        except BlockingIOError:
            return data
        except OSError:
            return b""
        return data

    def _drain(self) -> None:
        """Write the backlog as fast as it is read, then end."""
        while True:
            # Waited for without the lock: whoever logs meanwhile only adds to the backlog.
            self._poll_for_reader()
            with self._guarded():
                while self._backlog:
                    if rest := self._write(self._backlog.popleft(), 0):
                        self._backlog.appendleft(rest)
                        break
                else:
                    self._tell_lost()
                    if not self._backlog:
                        return

    def _poll_for_reader(self) -> None:
        # A `poll` object serves one thread at a time.
        waiting = select.poll()
        waiting.register(self._descriptor, select.POLLOUT)
        waiting.poll(1000)

    def _tell_lost(self) -> None:
        if self._lost:
            lost, self._lost = self._lost, 0
            record = logging.LogRecord(
                __name__, logging.WARNING, __file__, 0,
                "stderr was not read: %(lost)d lines are lost", ({"lost": lost},), None,
            )  # fmt: skip
            if rest := self._write(f"{self.format(record)}\n".encode(), 0):
                self._backlog.append(rest)

    def _guarded(self) -> contextlib.AbstractContextManager[object]:
        return self.lock if self.lock is not None else contextlib.nullcontext()


def complain(program: str, text: object) -> None:
    """Say why a command ends: to a person in plain lines, to whoever reads JSON as errors of the log."""
    lines = logged.redacted(str(text)).splitlines()
    if any(isinstance(handler.formatter, Json) for handler in logging.getLogger().handlers):
        for line in lines:
            _LOG.error("%s", line)
        return
    for line in lines:
        sys.stderr.write(f"{program}: {line}\n")


def bug(logger: logging.Logger, error: BaseException) -> None:
    """Log what should never have been raised, with its trace, once."""
    kind: Any = type(error)
    logger.error(
        "this is a bug, the process ends: %(kind)s: %(error)s",
        {"kind": kind.__name__, "error": error},
        exc_info=(kind, error, error.__traceback__),
    )
