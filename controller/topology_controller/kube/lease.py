"""The elector: who may write, and for how long.

A lease is one object that says who holds it. Whoever wants it takes it when nobody holds it, or when the
holder has not renewed it for its whole duration, measured on our own monotonic clock from when we saw it
last change; what time another machine writes into it decides nothing. The holder renews it long before
that, and stops by itself (`LeaseLost`) when it could not: others wait for `duration`, we for
`renew_deadline` only, so that there is never a moment with two.

The deadline runs from the start of the last renewal that succeeded, not from its answer, because the
others' clocks may have started then. A write that follows a decision asks `time_left()` first.

Everything is bounded: a request that hangs costs one call timeout, never the deadline. The library's own
elector is not used: it keeps working after it lost the lease, and writes local time as UTC.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import errors, microtime, queue
from . import resource as resources

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from . import client as clients

Raw = dict[str, Any]
_LOG = logging.getLogger(__name__)
LEASES = resources.Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
_RELEASE = 5.0
# Seconds for one request, at most and at least: a handshake and a write to a slow disk need a moment.
_LONGEST_CALL, _SHORTEST_CALL = 10.0, 1.0
# Seconds: timers are not exact, and no request is answered in less.
_MOMENT = 0.001
# How much longer than the pause between renewals the deadline must be; client-go's rule.
_JITTER = 1.2


class LeaseLost(Exception):  # noqa: N818 - what happened, and not an error of anybody
    """We do not hold the lease any more. `holder` is who does, if that is known."""

    def __init__(self, lease: str, why: str, holder: str | None = None) -> None:
        super().__init__(lease, why, holder)
        self.lease = lease
        self.why = why
        self.holder = holder

    def __str__(self) -> str:
        return f"lost {self.lease}: {self.why}"


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """Seconds: others wait for `duration`, we give up after `renew_deadline`, and renew every `retry_period`.

    Raises ValueError, which names the pair and what is allowed, for figures with which the lease cannot be held, or
    that leave no time for a write between two renewals: duration > renew_deadline >= retry_period + request_timeout,
    renew_deadline >= 1.2 * retry_period > 0, and renew_deadline >= 2.
    """

    duration: float
    renew_deadline: float
    retry_period: float

    def __post_init__(self) -> None:
        duration, deadline, period = (
            f"{name} {value:g} s"
            for name, value in (
                ("lease duration", self.duration),
                ("renew deadline", self.renew_deadline),
                ("retry period", self.retry_period),
            )
        )
        for value, text in ((self.duration, duration), (self.renew_deadline, deadline), (self.retry_period, period)):
            if not math.isfinite(value):
                raise ValueError(f"{text} must be a number of seconds")
        if self.duration <= self.renew_deadline:
            raise ValueError(f"{duration} must be longer than {deadline}")
        if self.retry_period <= 0:
            raise ValueError(f"{period} must be more than 0")
        if self.renew_deadline < 2 * _SHORTEST_CALL:
            raise ValueError(
                f"{deadline} must be at least {2 * _SHORTEST_CALL:g} s: "
                f"a request gets half of it, and not less than {_SHORTEST_CALL:g} s"
            )
        longest = min(self.renew_deadline - self.request_timeout, self.renew_deadline / _JITTER)
        if self.retry_period > longest:
            raise ValueError(
                f"{period} must be at most {math.floor(10 * longest) / 10:g} s with {deadline}: "
                f"the next renewal and a request of {self.request_timeout:g} s must fit before it"
            )

    @property
    def request_timeout(self) -> float:
        """Seconds for one request of the holder: half of the renew deadline as in controller-runtime, at most 10.

        A write that begins with that much of the lease left ends before anyone else may lead.
        """
        return min(_LONGEST_CALL, self.renew_deadline / 2)

    @property
    def written(self) -> int:
        """What is written as leaseDurationSeconds: the API knows whole seconds only."""
        return max(1, math.ceil(self.duration))


@dataclass(slots=True)
class _Seen:
    """A lease as we saw it, and since when (loop time) it has been so."""

    spec: Raw
    version: str
    since: float


class Elector:
    """One candidate for one lease.

    `identity` must be unique to this process. `leading` is set while we hold the lease: from the answer
    to the write that took it, until `run` ends. Cancel `run` only after the work that needs the lease has
    stopped: it releases it.
    """

    def __init__(  # noqa: PLR0913 - the lease, who we are, and two clocks that tests replace
        self,
        client: clients.Client,
        namespace: str,
        name: str,
        identity: str,
        timing: LeaseTiming,
        *,
        utcnow: Callable[[], datetime] = microtime.utcnow,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        if not identity:
            raise ValueError("an elector needs an identity")
        self.leading = asyncio.Event()
        # Who held the lease when we last looked; "" is nobody.
        self.holder = ""
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._timing = timing
        self._adopted = timing
        # Whether the lease is to be renewed before its time, because others have to see other figures.
        self._due = asyncio.Event()
        self._utcnow = utcnow
        self._uniform = uniform
        self._seen: _Seen | None = None
        # Whether a write of ours has begun of which we do not know how it ended.
        self._unsure = False
        self._held_until = float("-inf")

    @property
    def timing(self) -> LeaseTiming:
        """The figures in force: those of the last write that succeeded."""
        return self._timing

    def adopt(self, timing: LeaseTiming) -> None:
        """Use other figures from the next renewal on, which is at once where they differ.

        What others have seen stays true until that has succeeded.
        """
        if timing != self._adopted:
            self._adopted = timing
            self._due.set()

    def time_left(self) -> float:
        """Return for how many seconds more we may act as the holder; 0 or less: not at all."""
        return self._held_until - self._now() if self.leading.is_set() else 0.0

    async def run(self) -> None:
        """Wait for the lease, then hold it until cancelled; a lease that is held is released then.

        Raises LeaseLost when it could not be renewed in time or somebody else holds it. Errors of the API
        are waited out.
        """
        try:
            await self._acquire()
            self.leading.set()
            _LOG.debug("%(object)s is ours, as %(holder)s", {"object": self._described(), "holder": self._identity})
            await self._hold()
        except asyncio.CancelledError:
            if self.leading.is_set() or self._unsure:
                self.leading.clear()
                await self._release()
            raise
        finally:
            self.leading.clear()

    async def _acquire(self) -> None:
        pauses = queue.Backoff(1.0, self._timing.retry_period, self._uniform)
        said = waited_for = ""
        while True:
            try:
                if await self._try_to_take():
                    return
                if self.holder != waited_for:
                    waited_for = self.holder
                    _LOG.info(
                        "%(object)s is held by %(holder)s: waiting until it is free",
                        {"object": self._described(), "holder": waited_for},
                    )
            except errors.KubeError as error:
                if str(error) != said:
                    said = str(error)
                    _LOG.warning("waiting for the lease: %(error)s; trying again", {"error": error})
                await asyncio.sleep(pauses.next(error.retry_after))
                continue
            pauses.reset()
            pause = self._adopted.retry_period * self._uniform(1.0, _JITTER)
            # Not to miss the moment when the holder's time is up.
            await asyncio.sleep(max(0.05, min(pause, self._free_in() + 0.05)))

    async def _try_to_take(self) -> bool:
        """Look, take it if it is free, and say whether it is ours.

        Raises Conflict when somebody else was faster.
        """
        try:
            self._look(await self._read())
        except errors.NotFound:
            await self._write_new()
            return True
        if self._free_in() > 0:
            return False
        await self._write()
        return True

    def _free_in(self) -> float:
        """Return in how many seconds what we saw may be taken; 0: now."""
        seen = self._seen
        if seen is None or self.holder in {"", self._identity}:
            return 0.0
        duration = seen.spec.get("leaseDurationSeconds")
        if not isinstance(duration, int) or duration <= 0:
            duration = self._adopted.written
        return max(0.0, seen.since + duration - self._now())

    async def _hold(self) -> None:
        pauses = queue.Backoff(1.0, self._timing.retry_period, self._uniform)
        pause = self._next_renewal()
        while True:
            left = self._held_until - self._now()
            await self._wait(max(0.0, min(pause, left)))
            if self._held_until - self._now() < _MOMENT:
                raise LeaseLost(self._described(), f"not renewed for {self._timing.renew_deadline:g} s")
            try:
                await self._renew()
            except errors.KubeError as error:
                _LOG.warning(
                    "the lease was not renewed, %(seconds).0f s are left: %(error)s; trying again",
                    {"seconds": self.time_left(), "error": error},
                )
                # Denser towards the end: the last moments count most, and there are few of them.
                pause = min(pauses.next(error.retry_after), max(1.0, self.time_left() / 3))
            else:
                pauses.reset()
                pause = self._next_renewal()

    async def _wait(self, seconds: float) -> None:
        """Wait so long, or until other figures were adopted."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._due.wait()
        self._due.clear()

    def _next_renewal(self) -> float:
        return self._timing.retry_period * self._uniform(0.9, 1.0)

    async def _renew(self) -> None:
        """Renew once; raises KubeError when that may be tried again, LeaseLost when it is somebody else's."""
        try:
            await self._write()
        except (errors.Conflict, errors.NotFound):
            # Changed by somebody: a new holder, a person with an editor, or ourselves by a write whose
            # answer was lost.
            await self._renew_anew()

    async def _renew_anew(self) -> None:
        try:
            self._look(await self._read())
        except errors.NotFound:
            await self._write_new()
            return
        if self.holder not in {"", self._identity}:
            raise LeaseLost(self._described(), f"{self.holder} holds it", self.holder)
        await self._write()

    def _look(self, raw: Raw) -> None:
        """Remember a lease that was read, and since when it has been as it is."""
        spec = raw.get("spec")
        spec = spec if isinstance(spec, dict) else {}
        holder = spec.get("holderIdentity")
        self.holder = holder if isinstance(holder, str) else ""
        version = str(raw.get("metadata", {}).get("resourceVersion", ""))
        seen = self._seen
        since = seen.since if seen is not None and seen.spec == spec else self._now()
        self._seen = _Seen(spec, version, since)

    async def _read(self) -> Raw:
        return await self._client.get(LEASES, self._name, namespace=self._namespace, timeout=self._budget())

    async def _write_new(self) -> None:
        """Create the lease as ours; raises AlreadyExists when somebody else was faster."""
        began, timing = self._now(), self._adopted
        now = microtime.micro_time(self._utcnow())
        spec = self._spec(timing, acquired=now, now=now, transitions=0)
        body = self._body(spec, {"name": self._name, "namespace": self._namespace})
        self._unsure = True
        try:
            raw = await self._client.create(LEASES, body, namespace=self._namespace, timeout=self._budget())
        except errors.KubeError as error:
            self._unsure = error.outcome_unknown
            raise
        self._wrote(raw, timing, began)

    async def _write(self) -> None:
        """Write the lease that we saw last, as ours from now on.

        Raises Conflict when it has changed since.
        """
        seen = self._seen
        if seen is None:
            raise RuntimeError("a lease that was not read cannot be written")
        began, timing = self._now(), self._adopted
        now = microtime.micro_time(self._utcnow())
        acquired, transitions = seen.spec.get("acquireTime"), seen.spec.get("leaseTransitions")
        transitions = transitions if isinstance(transitions, int) else 0
        if self.holder != self._identity or not isinstance(acquired, str):
            acquired = now
            transitions += self.holder != self._identity
        spec = self._spec(timing, acquired=acquired, now=now, transitions=transitions)
        self._wrote(await self._replace(spec, seen.version, self._budget()), timing, began)

    def _wrote(self, raw: Raw, timing: LeaseTiming, began: float) -> None:
        self._look(raw)
        self._unsure = False
        self._timing = timing
        self._held_until = began + timing.renew_deadline

    async def _release(self) -> None:
        """Let go, as client-go does: nobody's, for a second.

        Bounded; a failure only costs the next one some waiting.
        """
        try:
            async with asyncio.timeout(_RELEASE):
                await self._let_go()
        except (errors.KubeError, TimeoutError) as error:
            _LOG.warning(
                "%(object)s was not released, others wait until it runs out: %(error)s",
                {"object": self._described(), "error": error or "no answer in time"},
            )
        else:
            _LOG.info("%(object)s is released", {"object": self._described()})

    async def _let_go(self) -> None:
        while True:
            # A write of ours may have been cut off: whether it happened decides which version we let go of.
            if self._unsure or self._seen is None:
                self._look(await self._read())
            seen = self._seen
            if seen is None or self.holder != self._identity:
                return
            now = microtime.micro_time(self._utcnow())
            spec = {
                "holderIdentity": "",
                "leaseDurationSeconds": 1,
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": seen.spec.get("leaseTransitions") or 0,
            }
            try:
                await self._replace(spec, seen.version, _RELEASE)
            except errors.Conflict:
                self._unsure = True
            else:
                self.holder = ""
                return

    async def _replace(self, spec: Raw, version: str, seconds: float) -> Raw:
        metadata = {"name": self._name, "namespace": self._namespace, "resourceVersion": version}
        self._unsure = True
        try:
            return await self._client.replace(
                LEASES, self._name, self._body(spec, metadata), namespace=self._namespace, timeout=seconds
            )
        except errors.KubeError as error:
            self._unsure = error.outcome_unknown
            raise

    def _spec(self, timing: LeaseTiming, *, acquired: str, now: str, transitions: int) -> Raw:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": timing.written,
            "acquireTime": acquired,
            "renewTime": now,
            "leaseTransitions": transitions,
        }

    def _body(self, spec: Raw, metadata: Raw) -> Raw:
        return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}

    def _budget(self) -> float:
        """Return the seconds that one request may take.

        No more than the request timeout, nor than a renewal period or one second, whichever is longer; while leading,
        never past the deadline.
        """
        seconds = min(self._timing.request_timeout, max(self._timing.retry_period, _SHORTEST_CALL))
        return min(seconds, max(0.0, self._held_until - self._now())) if self.leading.is_set() else seconds

    def _described(self) -> str:
        return LEASES.describe(self._name, self._namespace)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
