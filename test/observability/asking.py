"""Prometheus's HTTP API, typed: queries, alerts, rules and targets, each answer a small frozen value."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import aiohttp

if TYPE_CHECKING:
    from types import TracebackType

_REQUEST_SECONDS = 20.0
_NEVER = "0001-01-01T00:00:00Z"


class QueryError(AssertionError):
    """Prometheus refuses a query or does not answer; the message has the query and what it said."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One value at one time (Unix seconds)."""

    labels: dict[str, str]
    time: float
    value: float


@dataclass(frozen=True, slots=True)
class Series:
    """Values over time: pairs of Unix seconds and value, NaN left out."""

    labels: dict[str, str]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert that is pending or firing."""

    name: str
    state: str
    labels: dict[str, str]
    annotations: dict[str, str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule and how its last evaluation went."""

    name: str
    kind: str
    """alerting or recording."""
    health: str
    error: str
    evaluated: bool
    seconds: float
    """How long the last evaluation took."""


@dataclass(frozen=True, slots=True)
class Target:
    """Whom Prometheus scrapes."""

    job: str
    url: str
    health: str
    error: str


class Api:
    """A client; use it as an async context manager. Everything raises QueryError."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(self.url, timeout=aiohttp.ClientTimeout(total=_REQUEST_SECONDS))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def ready(self) -> bool:
        """Whether it says that it is ready; False when nobody answers."""
        try:
            async with self._opened().get("/-/ready") as response:
                return response.status == 200
        except (aiohttp.ClientError, TimeoutError):
            return False

    async def query(self, text: str, at: float | None = None) -> list[Sample]:
        """Evaluate an expression now, or at a time. NaN is no value and left out."""
        asked = {"query": text} if at is None else {"query": text, "time": f"{at:.3f}"}
        found = await self._ask("query", asked)
        if found["resultType"] == "scalar":
            moment, value = found["result"]
            return [Sample({}, float(moment), float(value))]
        samples = [Sample(one["metric"], float(one["value"][0]), float(one["value"][1])) for one in found["result"]]
        return [one for one in samples if not math.isnan(one.value)]

    async def value(self, text: str) -> float | None:
        """Evaluate an expression that has one value or none."""
        found = await self.query(text)
        if len(found) > 1:
            raise QueryError(f"{text}: one value wanted, found {found}")
        return found[0].value if found else None

    async def query_range(self, text: str, start: float, end: float, step: float = 1.0) -> list[Series]:
        """Evaluate an expression every `step` seconds between two times; series without a value are left out."""
        asked = {"query": text, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:g}"}
        found = await self._ask("query_range", asked)
        made = []
        for one in found["result"]:
            pairs = ((float(moment), float(value)) for moment, value in one["values"])
            points = tuple((moment, value) for moment, value in pairs if not math.isnan(value))
            made += [Series(one["metric"], points)] if points else []
        return made

    async def alerts(self) -> list[Alert]:
        """Return what is pending or firing."""
        found = await self._ask("alerts")
        return [
            Alert(one["labels"]["alertname"], one["state"], one["labels"], one["annotations"])
            for one in found["alerts"]
        ]

    async def rules(self) -> list[Rule]:
        """Return every rule with its health."""
        found = await self._ask("rules")
        return [
            Rule(
                name=rule["name"],
                kind=rule["type"],
                health=rule["health"],
                error=rule.get("lastError", ""),
                evaluated=rule["lastEvaluation"] != _NEVER,
                seconds=rule["evaluationTime"],
            )
            for group in found["groups"]
            for rule in group["rules"]
        ]

    async def targets(self) -> list[Target]:
        """Return whom it scrapes."""
        found = await self._ask("targets", {"state": "active"})
        return [
            Target(one["labels"]["job"], one["scrapeUrl"], one["health"], one["lastError"])
            for one in found["activeTargets"]
        ]

    async def _ask(self, what: str, asked: dict[str, str] | None = None) -> Any:
        subject = (asked or {}).get("query", what)
        # A panel's query may be longer than a URL.
        posted = asked if "query" in (asked or {}) else None
        method = "GET" if posted is None else "POST"
        try:
            async with self._opened().request(
                method, f"/api/v1/{what}", data=posted, params=asked if posted is None else None
            ) as response:
                answer = await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise QueryError(f"{subject}: {error!r}") from error
        if answer.get("status") != "success":
            raise QueryError(f"{subject}: {answer.get('errorType')}: {answer.get('error')}")
        return answer["data"]

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("use it as an async context manager")
        return self._session


def now() -> float:
    """Return the present time as Prometheus counts it, in Unix seconds."""
    return dt.datetime.now(dt.UTC).timestamp()
