"""What Infrastructure `cluster` means to a roll-out: where a cluster can be, and who is asked first.

An engine sees one object and knows nothing of topologies. `languages` and `argo` have the expressions by which each of
them finds the state, and all of them are held to one table of recorded objects. The order of their tests is the same,
and the first that holds decides:

    the topology is decided elsewhere             NotForUs
    there is no record                            UnderWay where it is requested, else Silent
    nothing is requested, and nothing goes on     Done where the cluster has the topology, else Ready or NotReady
    the record answers an older request           UnderWay
    what is requested is there, and all followed  Done
    a problem, or the operator does not act       NeedsAPerson
    anything else                                 UnderWay

Two things an engine gets wrong by itself are settled by that: a cluster without a record is neither done nor failed,
and a record that answers an older request says nothing about the newest. An engine that applies what stands in Git
(Argo CD, Flux) has no target but what the object requests; where nothing is requested all is Ready for it.
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a cluster is in a roll-out."""

    NOT_FOR_US = "NotForUs"
    """The topology of this cluster is decided elsewhere: a hosted control plane, or an image-based install."""
    SILENT = "Silent"
    """No request and no record: the operator or its fields are not installed, or it does not act on this cluster."""
    NOT_READY = "NotReady"
    """No request, and preflight checks are not met."""
    READY = "Ready"
    """No request, and all preflight checks are met: it can be asked."""
    UNDER_WAY = "UnderWay"
    """Requested, and not done yet; also when no operator has answered so far."""
    NEEDS_A_PERSON = "NeedsAPerson"
    """The operator reports a problem, or cannot fulfil the request. Nothing was rolled back."""
    DONE = "Done"
    """The cluster has the topology, and all of it has followed."""
