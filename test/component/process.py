"""The operator as its own process: started, signalled, asked over HTTP, and never left behind.

Each has its own kubeconfig with its own bearer token, so that two of them can be told apart (to a real server both are
the same ServiceAccount), and its own POD_NAME, so that the holder of the lease can be recognised.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aiohttp

from test import polling
from test.component import forked

if TYPE_CHECKING:
    import pathlib
    import ssl
    from collections.abc import Mapping, Sequence

LEASE = ("--lease-duration", "15", "--renew-deadline", "13", "--retry-period", "1")
"""Short: the next leader is waited for. Nothing is written while less than a request timeout (6.5 s) of it is left."""
PATIENT = ("--lease-duration", "120", "--renew-deadline", "100", "--retry-period", "1")
"""Where a real server is started again: on a busy machine that takes longer than a term of the others."""
USER_AGENT = "cluster-topology-operator/*"
_PORT = re.compile(r"serves on port (\d+)")
_BROKEN = (
    "Traceback (most recent call last)",
    "never retrieved",
    "Unclosed ",
    "was never awaited",
    "Task was destroyed",
)
_TAIL = 40


@dataclass(eq=False)
class Operator:
    """One process. `name` is its token and the beginning of its identity in the lease.

    `tls` is how to come in where it was started with a serving certificate.
    """

    name: str
    log: pathlib.Path
    process: asyncio.subprocess.Process | forked.Process
    tls: ssl.SSLContext | None = None

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self.process.returncode is None

    def words(self) -> str:
        """Everything that it has said."""
        return self.log.read_text(errors="replace")

    def tail(self) -> str:
        """The end of its log, for a failing test."""
        return "\n".join(self.words().splitlines()[-_TAIL:])

    def complaints(self) -> list[str]:
        """Lines that no operator may ever write: tracebacks, tasks and connections that nobody cared for."""
        return [line for line in self.words().splitlines() if any(sign in line for sign in _BROKEN)]

    async def said(self, text: str, seconds: float = 10.0) -> str:
        """Wait for a text in its log and return the log."""

        async def look() -> str:
            words = self.words()
            if text not in words and not self.alive:
                raise AssertionError(f"{self.name} ended with {self.process.returncode} and did not say {text!r}")
            return words if text in words else ""

        return await polling.until(f"{self.name} says {text!r}", look, seconds)

    async def ask(
        self, path: str, *, tls: ssl.SSLContext | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """GET one of its own paths (/readyz, /healthz, /metrics): status and text. `tls`: another way in than ours."""
        match = _PORT.search(await self.said("serves on port"))
        if match is None:
            raise AssertionError("no port in the log")
        limit = aiohttp.ClientTimeout(total=5.0)
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.get(
                f"http{'s' if self.tls else ''}://127.0.0.1:{match[1]}{path}",
                ssl=tls or self.tls or True,
                headers=headers,
            ) as response,
        ):
            return response.status, await response.text()

    async def metric(self, name: str, **labels: str) -> float | None:
        """Read one series of /metrics by some of its labels; None when there is none such, or more than one."""
        status, text = await self.ask("/metrics")
        if status != 200:
            raise AssertionError(f"/metrics answered {status}")
        pairs = [f'{label}="{value}"' for label, value in labels.items()]
        lines = [line for line in text.splitlines() if line.partition("{")[0].partition(" ")[0] == name]
        found = [float(line.rpartition(" ")[2]) for line in lines if all(pair in line for pair in pairs)]
        return found[0] if len(found) == 1 else None

    async def until_metric(self, wanted: float, name: str, seconds: float = 10.0, **labels: str) -> None:
        """Wait until a series is as large as wanted."""
        what = f"{name} {labels} of {self.name} is {wanted:g}"
        await polling.until(
            what, lambda: self.metric(name, **labels), seconds, holds=lambda value: (value or 0.0) >= wanted
        )

    async def ready(self, seconds: float = 10.0) -> None:
        """Wait until /readyz says ok."""
        await polling.until(f"{self.name} is ready", lambda: self.ask("/readyz"), seconds, holds=lets_in)

    def send(self, number: signal.Signals) -> None:
        """Send a signal; harmless when it has ended."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def ended(self, seconds: float = 10.0) -> int:
        """Wait until it has ended and return its exit code; `seconds` as `polling.until` has them."""
        seconds *= polling.PATIENCE
        try:
            async with asyncio.timeout(seconds):
                return await self.process.wait()
        except TimeoutError:
            raise AssertionError(f"{self.name} has not ended within {seconds:g} s") from None

    async def stop(self, seconds: float = 10.0) -> int:
        """SIGTERM, and the exit code."""
        self.send(signal.SIGTERM)
        return await self.ended(seconds)

    async def kill(self) -> None:
        """SIGKILL, also when it is stopped, and wait."""
        if self.alive:
            self.send(signal.SIGKILL)
        await self.process.wait()


def lets_in(answer: tuple[int, str]) -> bool:
    """Whether this is a good answer of `Operator.ask`."""
    return answer[0] == 200


async def start(
    name: str,
    kubeconfig: pathlib.Path,
    log: pathlib.Path,
    *,
    settle: int | None,
    lease: Sequence[str],
    flags: Sequence[str],
) -> Operator:
    """Start an operator; returns at once.

    `settle` None leaves the settle time to the definitions and the configuration.
    """
    arguments = ["run", "--kubeconfig", str(kubeconfig), "--bind-address", "127.0.0.1:0", *lease, *flags]
    arguments += [] if settle is None else ["--settle-seconds", str(settle)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "POD_NAME": name}
    with log.open("wb") as output:
        process = await forked.start(
            forked.OPERATOR, arguments, environment=environment,
            stdout=output.fileno(), stderr=output.fileno(), own_session=True,
        )  # fmt: skip
    return Operator(name, log, process)
