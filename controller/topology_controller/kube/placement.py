"""Two clusters: the one that is acted on, the target, and another one, where this process runs and holds its lease.

The lease knows nothing of the target: can it be reached, is it still the cluster that it was, has an operator of its
own appeared there? So that is asked live, now and then and before each write to the target. What cannot be read allows
no write, and neither does a local cluster that does not answer.

Not excluded: between these answers and the write the target's own operator may take its lease. Each write carries the
resourceVersion that it was decided from, so one of the two is a conflict. An operator without a lease is never seen.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from .. import terminal
from . import errors, lease
from . import resource as resources

if TYPE_CHECKING:
    from . import client as clients

_LOG = logging.getLogger(__name__)
NAMESPACES = resources.Resource("", "v1", "namespaces", "Namespace")
IDENTITY = "kube-system"
"""The namespace whose UID tells clusters apart: it is there from the start, and is never made again."""
TARGET, LOCAL = "the target cluster", "the cluster of the lease"
_DURATION = 270  # seconds for a lease that names no duration: OpenShift's figure for a single node, the longest
_SOON = 10.0  # seconds between two looks while something is in the way, at most


class SameClusterError(Exception):
    """Both are one cluster: the operator belongs into that cluster."""


class ReplacedError(Exception):
    """Another cluster answers at the same address. What is known is about the one before: begin anew."""


class Refused(errors.KubeError):
    """A write to the target that was not sent; the message says why."""

    may_pass = True

    def __str__(self) -> str:
        return f"nothing is written to {TARGET}: {self.message}"


class Placement:
    """Whether the target may be written to, looked at every `period` seconds; `trouble` is what is in the way, or "".

    `name` in `namespace` is the lease that the target's own operator would hold.
    """

    def __init__(
        self, target: clients.Client, local: clients.Client, *, namespace: str, name: str, period: float
    ) -> None:
        self.local = local
        self.trouble = f"{TARGET}: not asked yet"
        self._target, self._period = target, period
        self._namespace, self._name = namespace, name
        self._uids: dict[str, str] = {}
        self._sight = lease.Sight()
        # Nothing is in the way; the target's own operator holds its lease, also while that cannot be read.
        self.free, self.held = asyncio.Event(), asyncio.Event()
        # Fails when nothing may be written any more.
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Look again and again until cancelled. Raises SameClusterError, ReplacedError: no write follows."""
        while True:
            pause = min(self._period, _SOON) if await self.look() else self._period
            await asyncio.wait({self._over}, timeout=pause)
            if self._over.done():
                self._over.result()

    async def guard(self) -> None:
        """Look now, and allow one write. Raises Refused."""
        if trouble := await self.look():
            raise Refused("write", NAMESPACES, None, IDENTITY, 0, "NotAllowed", trouble, sent=False)

    async def look(self) -> str:
        """Ask both clusters now, all at once, and return what is in the way of a write."""
        troubles = await asyncio.gather(
            self._identify(TARGET, self._target), self._identify(LOCAL, self.local), self._operator()
        )
        trouble = str(self._over.exception()) if self._over.done() else next(filter(None, troubles), "")
        if trouble != self.trouble:
            self.trouble = trouble
            if trouble:
                _LOG.warning("nothing is written to the target: %(trouble)s; looking again", {"trouble": trouble})
            else:
                about = {"target": self._uids[TARGET], "local": self._uids[LOCAL]}
                _LOG.info("the target is cluster %(target)s, the lease is in cluster %(local)s", about)
        (self.free.clear if trouble else self.free.set)()
        return trouble

    async def _identify(self, cluster: str, client: clients.Client) -> str:
        try:
            raw = await client.get(NAMESPACES, IDENTITY)
        except errors.KubeError as error:
            return f"{cluster}: {error}"
        metadata = raw.get("metadata")
        uid = metadata.get("uid") if isinstance(metadata, dict) else None
        if not isinstance(uid, str) or not uid:
            return f"{cluster}: namespace {IDENTITY} has no uid"
        before = self._uids.setdefault(cluster, uid)
        end: Exception | None = None
        if uid != before:
            end = ReplacedError(f"{cluster} is another one now: the uid of {IDENTITY} was {before}, is {uid}")
        elif self._uids.get(TARGET) == self._uids.get(LOCAL):
            end = SameClusterError(f"{TARGET} and {LOCAL} are the same: both have uid {uid} of {IDENTITY}")
        if end is not None and not self._over.done():
            self._over.set_exception(end)
        return ""

    async def _operator(self) -> str:
        """Does the target's own operator hold its lease? As any candidate judges it: by whether it is renewed."""
        now = asyncio.get_running_loop().time
        try:
            self._sight.see(await self._target.get(lease.LEASES, self._name, namespace=self._namespace), now())
        except errors.NotFound:
            self._sight.see(None, now())
        except errors.KubeError as error:
            return f"{TARGET}: {error}"
        if not self._sight.free_in(now(), _DURATION):
            self.held.clear()
            return ""
        self.held.set()
        held = lease.LEASES.describe(self._name, self._namespace)
        return f"{TARGET}: its own operator holds {held} as {terminal.clean(self._sight.holder, 200)}"
