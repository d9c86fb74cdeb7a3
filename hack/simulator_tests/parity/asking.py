"""One row asked of one server: real requests over a real socket, by the same code for both.

Every request has a deadline, and a watch that says nothing any more is closed and told as such. A 429 is no answer: the
real server says it while it opens a kind's storage anew, and all but a watch is sent again. What comes back is kept as
it was said (`Answer`); making two of them comparable is the work of `normal`.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
import shlex
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import aiohttp

from simulator_tests.parity import normal, rows, samples, sides

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simulator_tests.parity import table

KUBECTL = "kubectl"
"""The type of an answer that kubectl has printed; its warnings are what it said to the standard error."""
_SECONDS = 20.0
_PAUSE_SECONDS = 0.05
_SHOWN_HEADERS = ("Retry-After", "Allow")
_PLACEHOLDER = re.compile(r"\{([a-z]\w*(?:\.[\w-]+)*)\}")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said: `body` is a JSON value or text; a watch has `events` and says how it `ended`."""

    code: int
    content_type: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    events: tuple[Any, ...] | None = None
    ended: str = ""

    @property
    def good(self) -> bool:
        """Whether it was done: kubectl's exit code is a different one than that of an answer."""
        return self.code == 0 if self.content_type == KUBECTL else self.code < 300

    def value(self) -> dict[str, Any]:
        """Return what is compared."""
        said: dict[str, Any] = {"code": self.code, "type": self.content_type}
        if self.events is None:
            said["body"] = self.body
        else:
            said |= {"events": list(self.events), "ended": self.ended}
        if self.headers:
            said["headers"] = self.headers
        if self.warnings:
            said["warnings"] = list(self.warnings)
        return said


def _fill(value: Any, names: Mapping[str, Any]) -> Any:
    """Return a value with the placeholders in its texts filled in."""
    if isinstance(value, dict):
        return {_fill(key, names): _fill(part, names) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_fill(one, names) for one in value]
    if not isinstance(value, str):
        return value

    def read(match: re.Match[str]) -> str:
        first, *rest = match[1].split(".")
        if first not in names:
            return match[0]
        found = names[first]
        for name in rest:
            found = found[int(name)] if isinstance(found, list) else found[name]
        return str(found)

    return _PLACEHOLDER.sub(read, value)


async def ask(side: sides.Side, row: table.Row) -> list[Any]:
    """Return the normalised answers of a side to a row. Raises sides.PreparationError."""
    name = f"row-{rows.NUMBERS[row.name]}"
    if row.namespace:
        await side.create(samples.NAMESPACES, samples.namespace(name))
    answers = await _Asking(side, name).all(row.steps)
    return normal.normalised([answer.value() for answer in answers], name)


class _Asking:
    """Asks one side. `row` is the name that this row alone uses there."""

    def __init__(self, side: sides.Side, row: str) -> None:
        self._side = side
        self._names: dict[str, Any] = {"row": row}

    async def all(self, steps: tuple[table.Step, ...]) -> list[Answer]:
        """Perform steps in their order; return the answers that are compared. Raises sides.PreparationError."""
        found: list[Answer] = []
        for step in steps:
            answers = await self._perform(step)
            if step.compared:
                found += answers
        return found

    async def _perform(self, step: table.Step) -> list[Answer]:
        if step.method == "COMPACT":
            await self._side.compact()
            return []
        if step.events is not None:
            return await self._watched(step)
        answer = await (self._run(step) if step.method == "KUBECTL" else self._one(step))
        deadline = asyncio.get_running_loop().time() + _SECONDS
        while not _is_so(step, answer) and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_PAUSE_SECONDS)
            answer = await self._one(step)
        if not step.compared and not answer.good:
            raise sides.PreparationError(f"{self._side.name}: {step.method} {self._path(step)}: {answer}")
        if step.keep:
            self._names[step.keep] = answer.body
        if step.view is not None and answer.code < 300:
            answer = Answer(answer.code, answer.content_type, step.view(answer.body), answer.headers, answer.warnings)
        return [answer]

    async def _run(self, step: table.Step) -> Answer:
        words = shlex.split(self._path(step))
        ended = await self._side.kubectl(words, str(_fill(step.body, self._names)), step.headers)
        return Answer(ended.code, KUBECTL, ended.printed.splitlines(), warnings=tuple(ended.complaint.splitlines()))

    def _path(self, step: table.Step) -> str:
        return str(_fill(step.path, self._names))

    def _request(self, step: table.Step) -> dict[str, Any]:
        headers = {"Accept": step.accept, "User-Agent": step.agent, **step.headers}
        data: bytes | None = None
        if step.body is not None:
            headers["Content-Type"] = step.media
            filled = _fill(step.body, self._names)
            data = filled if isinstance(filled, bytes) else _encoded(filled)
        query = {key: str(value) for key, value in _fill(step.query, self._names).items()}
        return {"headers": headers, "data": None if data is None else io.BytesIO(data), "params": query}

    async def _one(self, step: table.Step) -> Answer:
        try:
            return await self._sent(step)
        except aiohttp.ClientError:
            return Answer(0, "", "the connection ended without an answer")

    async def _sent(self, step: table.Step) -> Answer:
        request = self._request(step)
        async with (
            asyncio.timeout(_SECONDS),
            self._side.session.request(
                step.method, self._side.access.server + self._path(step), skip_auto_headers=("Content-Type",), **request
            ) as response,
        ):
            return _answer(response, await response.read())

    async def _watched(self, step: table.Step) -> list[Answer]:
        request = self._request(step)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_SECONDS)
        url = self._side.access.server + self._path(step)
        async with self._side.session.get(
            url, headers=request["headers"], params=request["params"], timeout=timeout
        ) as got:
            if got.status != 200:
                return [_answer(got, await got.read())]
            others: list[Answer] = []
            for one in step.meanwhile:
                answers = await self._perform(one)
                others += answers if one.compared else []
            events, ended = await self._events(got, step.events or 0)
            if step.each is not None:
                events = [step.each(event) for event in events]
            return [Answer(200, got.content_type, events=tuple(events), ended=ended), *others]

    async def _events(self, response: aiohttp.ClientResponse, most: int) -> tuple[list[Any], str]:
        events: list[Any] = []
        while len(events) < most:
            try:
                async with asyncio.timeout(_SECONDS):
                    line = await response.content.readline()
            except TimeoutError:
                return events, "silent"
            if not line:
                return events, "by the server"
            events.append(json.loads(line))
        return events, "by the client"


def _is_so(step: table.Step, answer: Answer) -> bool:
    """Return whether an answer is what the step waits for; a refusal in between is not that."""
    if answer.code == HTTPStatus.TOO_MANY_REQUESTS:
        return False
    if step.until is None:
        return True
    try:
        return step.until(answer.body)
    except (LookupError, TypeError, AttributeError):
        return False


def _encoded(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def _answer(response: aiohttp.ClientResponse, raw: bytes) -> Answer:
    body: Any = raw.decode(errors="replace")
    if raw.startswith((b"{", b"[")):
        body = json.loads(raw)
    headers = {name: response.headers[name] for name in _SHOWN_HEADERS if name in response.headers}
    warnings = tuple(response.headers.getall("Warning", ()))
    return Answer(response.status, response.headers.get("Content-Type", ""), body, headers, warnings)
