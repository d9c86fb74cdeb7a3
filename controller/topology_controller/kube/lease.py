"""The elector: who may write, and for how long.

A candidate takes the lease when it has no holder, or when the holder has not renewed it for its whole duration, by our
own monotonic clock. The holder stops by itself (`LeaseLost`) when it could not renew: others wait for `duration`, we
for `renew_deadline` only, from the start of the last renewal that succeeded, because the others' clocks may have
started then: there is never a moment with two.

A lease that is older than what we know of it was put back with its store. It stays ours, unless it was renewed after
us, by a holder who took it since then. A candidate leaves it alone for as long as its last holder may hold it still. A
read of one object comes from etcd whatever API server answers, so no lag looks like that; the clock of who takes a
deleted lease may, so that a time alone shows it only of a holder who was seen before.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from . import errors, queue
from . import resource as resources

if TYPE_CHECKING:
    from collections.abc import Callable

    from . import client as clients

Raw = dict[str, Any]
_LOG = logging.getLogger(__name__)
LEASES = resources.Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
LONGEST = 600
"""Seconds of a duration that is believed: one write of the Lease could keep every candidate waiting for years."""
# leaseTransitions is an int32: the server refuses one more, and no candidate could ever take the lease.
_MOST_TRANSITIONS = 2**31 - 1
# Seconds to release it; for one request, at most and at least: a handshake and a write to a slow disk need a moment.
_RELEASE, _LONGEST_CALL, _SHORTEST_CALL = 5.0, 10.0, 1.0
# Seconds between attempts while the API server does not answer, at most: half a minute after it does we lead.
_LONGEST_PAUSE = 20.0
_MOMENT = 0.001  # seconds: timers are not exact, and no request is answered in less
_JITTER = 1.2  # how much longer than the pause between renewals the deadline must be; client-go's rule


def micro_time(moment: datetime) -> str:
    """Format a time that has a zone as the API's MicroTime: `2026-11-20T18:26:03.000120Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class LeaseLost(Exception):  # noqa: N818 - what happened, and no fault of ours
    """We do not hold the lease any more."""


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """Seconds: others wait for `duration`, we give up after `renew_deadline`, and renew every `retry_period`.

    Raises ValueError, which names the pair that does not fit and what is allowed.
    """

    duration: float
    renew_deadline: float
    retry_period: float

    def __post_init__(self) -> None:
        duration, deadline = f"lease duration {self.duration:g} s", f"renew deadline {self.renew_deadline:g} s"
        period = f"retry period {self.retry_period:g} s"
        for value, text in ((self.duration, duration), (self.renew_deadline, deadline), (self.retry_period, period)):
            if not math.isfinite(value):
                raise ValueError(f"{text} must be a number of seconds")
        if self.duration <= self.renew_deadline:
            raise ValueError(f"{duration} must be longer than {deadline}")
        if self.duration > LONGEST:
            raise ValueError(f"{duration} must be at most {LONGEST} s: no candidate waits longer for a holder")
        if self.retry_period <= 0:
            raise ValueError(f"{period} must be more than 0")
        if self.renew_deadline < 2 * _SHORTEST_CALL:
            why = f"a request gets half of it, and not less than {_SHORTEST_CALL:g} s"
            raise ValueError(f"{deadline} must be at least {2 * _SHORTEST_CALL:g} s: {why}")
        longest = min(self.renew_deadline - self.request_timeout, self.renew_deadline / _JITTER)
        if self.retry_period > longest:
            why = f"the next renewal and a request of {self.request_timeout:g} s must fit before it"
            raise ValueError(f"{period} must be at most {math.floor(10 * longest) / 10:g} s with {deadline}: {why}")

    @property
    def request_timeout(self) -> float:
        """Seconds for one request of the holder: half of the renew deadline as in controller-runtime, at most 10."""
        return min(_LONGEST_CALL, self.renew_deadline / 2)


class Sight:
    """A lease as this process saw it last, and for how long it has not changed, by our own clock."""

    def __init__(self) -> None:
        self.spec: Raw | None = None  # None where there is no such lease; the holder is "" when it was free
        self.holder = self.version = ""
        self.renewed = ""  # when, as its holder wrote it: MicroTime, so that the text compares as the time does
        self._since = 0.0
        # What it was when it was put back to an earlier state, and when that was seen.
        self._undone: tuple[Raw, float] | None = None
        # The last terms (holder, since when, after how many others), and whether the present one was seen before.
        self._terms, self.known = list[tuple[object, ...]](), False

    def see(self, raw: Raw | None, now: float) -> None:
        """Remember a lease, None for one that does not exist."""
        if raw is None:
            self.spec, self.holder, self.renewed = None, "", ""
            return
        spec = raw.get("spec")
        spec = spec if isinstance(spec, dict) else {}
        texts = (spec.get("holderIdentity"), spec.get("renewTime"))
        holder, renewed = (text if isinstance(text, str) else "" for text in texts)
        version = str(raw.get("metadata", {}).get("resourceVersion", ""))
        term = holder, spec.get("acquireTime"), spec.get("leaseTransitions")
        older, held = resources.is_older(version, self.version), self.spec or {}
        released = not holder and not older and term[2] == held.get("leaseTransitions")
        if released and (self._undone is None or self._undone[0].get("holderIdentity") == self.holder):
            # The one who may hold it still has given it up, and its clock may have been set back.
            self._undone = None
        elif self.holder and (older or "" < renewed < self.renewed):
            self._undone = held, now
        self.known = term in self._terms
        if not self.known:
            self._terms = [*self._terms[-20:], term]
        self.holder, self.version, self.renewed = holder, version, renewed
        if spec != self.spec:
            self.spec, self._since = spec, now

    def free_in(self, now: float, default: int) -> float:
        """Return in how many seconds others may take it; 0: now. `default` is its duration where it names none."""
        if self.spec is None:
            return 0.0
        held = [(self.spec, self._since)] if self.holder else []
        if self._undone is not None:
            held.append(self._undone)
        return max(0.0, *(since + _lasting(spec, default) - now for spec, since in held), 0.0)


def _lasting(spec: Raw, default: int) -> float:
    duration = spec.get("leaseDurationSeconds")
    if not isinstance(duration, int) or duration <= 0:
        duration = default
    return min(duration, LONGEST)


class Elector:
    """One candidate for one lease; `leading` is set from the answer to the write that took it until `run` ends.

    `identity` must be unique to this process. What begins with `pod` and `_` is an earlier process of this pod, which
    has ended. Cancel `run` only after the work that needs the lease has stopped: it releases it.
    """

    def __init__(  # noqa: PLR0913 - the lease, who we are, and two clocks that tests replace
        self,
        client: clients.Client,
        namespace: str,
        name: str,
        identity: str,
        timing: LeaseTiming,
        *,
        pod: str = "",
        utcnow: Callable[[], datetime] = lambda: datetime.now(UTC),
        on_restored: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.leading = asyncio.Event()
        self._client = client
        self._namespace = namespace
        self._name = name
        self._described = LEASES.describe(name, namespace)
        self._identity, self._pod = identity, pod
        self.timing = timing
        # Whether the lease is to be renewed before its time, and whether that was tried since it was asked for.
        self._due, self._tried = asyncio.Event(), asyncio.Event()
        self._utcnow = utcnow
        self._on_restored = on_restored
        self._seen = Sight()
        # What we last wrote as the time of a renewal, and whether one was begun that has not succeeded.
        self._renewed, self._unsure = "", False
        self._held_until = float("-inf")

    def adopt(self, timing: LeaseTiming) -> None:
        """Renew with other figures, at once where they differ: until then it is ours for as long as before."""
        if timing != self.timing:
            self.timing = timing
            self._due.set()

    async def renew_now(self) -> None:
        """Renew before the time, and return when that was tried: what the lease shows of a store put back is said."""
        self._tried.clear()
        self._due.set()
        await self._tried.wait()

    def time_left(self) -> float:
        """Return for how many seconds more we may act as the holder."""
        return self._held_until - self._now() if self.leading.is_set() else 0.0

    async def run(self) -> None:
        """Wait for the lease, then hold it until cancelled, which releases it. Raises LeaseLost."""
        try:
            await self._acquire()
            self.leading.set()
            _LOG.debug("%(object)s is ours, as %(holder)s", {"object": self._described, "holder": self._identity})
            await self._hold()
        except asyncio.CancelledError:
            if self.leading.is_set() or self._unsure:
                self.leading.clear()
                await self._release()
            raise
        finally:
            self.leading.clear()

    async def _acquire(self) -> None:
        backoff = queue.Backoff(1.0, min(self.timing.retry_period, _LONGEST_PAUSE))
        logged = waited_for = ""
        while True:
            try:
                await self._look()
                if self._free_in() <= 0:
                    await self._claim()
                    return
            except errors.KubeError as error:
                if str(error) != logged:
                    logged = str(error)
                    _LOG.warning("waiting for the lease: %(error)s; trying again", {"error": error})
                await asyncio.sleep(backoff.next(error.retry_after))
                continue
            if self._seen.holder != waited_for:
                waited_for = self._seen.holder
                about = {"object": self._described, "holder": waited_for}
                _LOG.info("%(object)s is held by %(holder)s: waiting until it is free", about)
            backoff.reset()
            pause = self.timing.retry_period * queue.uniform(1.0, _JITTER)
            # Not to miss the moment when the holder's time is up.
            await asyncio.sleep(max(0.05, min(pause, self._free_in() + 0.05)))

    def _free_in(self) -> float:
        """Return in how many seconds what we saw may be taken; 0: now."""
        holder = self._seen.holder
        ours = holder == self._identity or bool(self._pod and holder.rpartition("_")[0] == self._pod)
        return 0.0 if ours else self._seen.free_in(self._now(), math.ceil(self.timing.duration))

    async def _hold(self) -> None:
        backoff = queue.Backoff(1.0, self.timing.retry_period)
        pause = self.timing.retry_period * queue.uniform(0.9, 1.0)
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, min(pause, self._held_until - self._now()))):
                    await self._due.wait()
            self._due.clear()
            if self._held_until - self._now() < _MOMENT:
                raise LeaseLost(f"lost {self._described}: not renewed for {self.timing.renew_deadline:g} s")
            try:
                await self._renew()
            except errors.KubeError as error:
                left = {"seconds": self.time_left(), "error": error}
                _LOG.warning("the lease was not renewed, %(seconds).0f s are left: %(error)s; trying again", left)
                # Denser towards the end: the last moments count most, and there are few of them.
                pause = min(backoff.next(error.retry_after), max(1.0, self.time_left() / 3))
            else:
                backoff.reset()
                pause = self.timing.retry_period * queue.uniform(0.9, 1.0)
            if not self._due.is_set():
                self._tried.set()

    async def _renew(self) -> None:
        """Renew once; raises KubeError when that may be tried again, LeaseLost when another one holds it."""
        try:
            await self._claim()
        except (errors.Conflict, errors.NotFound, errors.AlreadyExists):
            # Changed by a new holder, by an administrator, or by a write of ours whose answer was lost.
            restored = await self._look()
            if self._seen.holder not in {"", self._identity} and not restored:
                raise LeaseLost(f"lost {self._described}: {self._seen.holder} holds it") from None
            await self._claim()

    async def _look(self) -> bool:
        """Read the lease, and return whether it was put back and not taken since. Raises KubeError."""
        try:
            raw = await self._client.get(LEASES, self._name, namespace=self._namespace, timeout=self._budget())
        except errors.NotFound:
            self._seen.see(None, self._now())
            return False
        return self._see(raw)

    def _see(self, raw: Raw) -> bool:
        before, wrote = self._seen.version, self._renewed
        self._seen.see(raw, self._now())
        renewed = self._seen.renewed
        if resources.is_older(self._seen.version, before):
            went = f"from version {before} to {self._seen.version}"
        elif "" < renewed < wrote and (self._seen.known or self._seen.holder in {"", self._identity}):
            # Versions may have grown past those that we know.
            went = f"to what was written at {renewed}, after we wrote at {wrote}"
        else:
            return False
        self._renewed = ""
        self._on_restored(f"{self._described} went back {went}")
        return renewed <= wrote

    async def _claim(self) -> None:
        """Make the lease that we saw last ours. Raises Conflict, AlreadyExists or NotFound when it has changed."""
        began, timing = self._now(), self.timing
        # Others may go by shorter figures as soon as they are written, also where the answer is lost.
        self._held_until = min(self._held_until, began + timing.renew_deadline)
        # The API knows whole seconds only.
        raw = await self._write(self._identity, math.ceil(timing.duration), self._budget())
        self._renewed = ""
        self._see(raw)
        self._renewed = self._seen.renewed
        self._unsure = False
        self._held_until = began + timing.renew_deadline

    async def _write(self, holder: str, duration: int, seconds: float) -> Raw:
        now, before = micro_time(self._utcnow()), self._seen.spec or {}
        acquired = before.get("acquireTime") if holder == self._seen.holder else None
        transitions = before.get("leaseTransitions")
        if not isinstance(transitions, int) or not 0 <= transitions < _MOST_TRANSITIONS:
            transitions = 0
        spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": duration,
            "acquireTime": acquired if isinstance(acquired, str) else now,
            "renewTime": now,
            "leaseTransitions": transitions + (self._seen.spec is not None and holder not in {"", self._seen.holder}),
        }
        metadata = {"name": self._name, "namespace": self._namespace}
        body: Raw = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
        self._unsure = True
        # Where our clock was set back and the answer is lost, this is what a lease shows that was not put back.
        self._renewed = min(self._renewed, now)
        if self._seen.spec is None:
            return await self._client.create(LEASES, body, namespace=self._namespace, timeout=seconds)
        metadata["resourceVersion"] = self._seen.version
        return await self._client.replace(LEASES, self._name, body, namespace=self._namespace, timeout=seconds)

    async def _release(self) -> None:
        """Write a lease without a holder, as client-go does. Bounded; a failure costs the next holder some waiting."""
        try:
            async with asyncio.timeout(_RELEASE):
                # A write of ours may have been cut off: whether it happened decides which version is released.
                await self._look()
                while self._seen.spec is not None and self._seen.holder == self._identity:
                    try:
                        await self._write("", 1, _RELEASE)
                        self._seen.holder = ""
                        _LOG.info("%(object)s is released", {"object": self._described})
                    except errors.Conflict:
                        await self._look()
        except (errors.KubeError, TimeoutError) as error:
            about = {"object": self._described, "error": error or "no answer in time"}
            _LOG.warning("%(object)s was not released, others wait until it runs out: %(error)s", about)

    def _budget(self) -> float:
        """Return the seconds for one request: the request timeout or a renewal period, and never past the deadline."""
        seconds = min(self.timing.request_timeout, max(self.timing.retry_period, _SHORTEST_CALL))
        return min(seconds, max(0.0, self._held_until - self._now())) if self.leading.is_set() else seconds

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
