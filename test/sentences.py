"""Sentences that people meet and that several tests want word for word: each stands here once.

They are written down as they are wanted, not taken from the code that says them.
"""

from __future__ import annotations

FORBIDDEN = "Forbidden: grant the operator's role the right to read it"
"""Why something cannot be read, where a right is missing."""
MISSING = "NotFound: it does not exist"
UNREACHABLE = "the API server cannot be reached"
COMPLETED = "Completed: the cluster is HighlyAvailable/HighlyAvailable"
NO_WAY_TO_DUAL_REPLICA = "DualReplica cannot be reached from status.controlPlaneTopology SingleReplica"
"""The API server's own answer to that request on a single-node cluster: a rule of the definition."""
HIGHLY_AVAILABLE_IS_LEFT = "allowed: HighlyAvailable, SingleReplica (no change) or unset"
