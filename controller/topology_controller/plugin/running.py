"""Is the operator there? Everything can be planned without it, but nobody would act on a wish.

Its Lease tells: it is renewed every minute at most, and given back when the operator is told to stop. Conditions and
the record outlive the operator, so they do not. Pure.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from topology_api import vocabulary

from ..observe import facts
from . import answers

if TYPE_CHECKING:
    from . import reading

_GRACE = timedelta(seconds=30)
"""What two clocks may differ by."""
_DURATION = timedelta(seconds=270)


def operator(seen: reading.Seen) -> answers.Operator:
    """Whether the operator runs, and what tells so."""
    lease, own = seen.operator, seen.known.own_operator
    if isinstance(lease, facts.Unobserved) and not lease.missing:
        return {"state": "Unknown", "message": f"Cannot tell whether the operator runs: {lease}"}
    if isinstance(lease, facts.Unobserved):
        if isinstance(own, facts.Unobserved) and own.missing:
            said = f"ClusterOperator {vocabulary.CLUSTER_OPERATOR} does not exist: the operator is not installed"
            return {"state": "NotInstalled", "message": f"{said}, so nobody would act on a wish"}
        return {"state": "NotRunning", "message": "The operator has no Lease: it has not run yet, or not in this place"}
    if not lease.holder:
        return {"state": "NotRunning", "message": "The operator was stopped: nobody acts on a wish until it runs"}
    holder = lease.holder.partition("_")[0]
    if lease.renew_time is None:
        return {"state": "Unknown", "message": f"{holder} holds the Lease and has never renewed it"}
    lasting = _DURATION if lease.duration_seconds is None else timedelta(seconds=lease.duration_seconds)
    if seen.now - lease.renew_time > lasting + _GRACE:
        when = answers.stamp(lease.renew_time)
        return {
            "state": "NotRunning",
            "message": f"{holder} renewed its Lease at {when} for the last time: nobody acts on a wish until the "
            "operator runs",
        }
    return {"state": "Running", "message": f"{holder} leads"}
