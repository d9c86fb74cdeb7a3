"""Controllers of kube-controller-manager, on the real API server of a test that wants them.

Nothing reconciles on that server otherwise: no namespace is emptied, no owner takes its dependents along, and no policy
has its types checked. Only the named controllers run, and only inside the context: even an idle one watches every kind.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from test.component import real

GARBAGE = "garbage-collector-controller"
NAMESPACES = "namespace-controller"
EXPRESSIONS = "validatingadmissionpolicy-status-controller"


@contextlib.asynccontextmanager
async def running(session: real.Session, *names: str) -> AsyncIterator[None]:
    """Run these controllers. One that ended by itself is an error at the end, with the last lines of its log."""
    await session.run(session.server.start_controllers(*names))
    try:
        yield
    finally:
        await session.run(session.server.stop_controllers())
