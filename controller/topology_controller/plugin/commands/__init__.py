"""The verbs, one module each: `run` takes the open connection, the command line and the definitions; returns the code.

What a verb answers is made by a function of the snapshot that `cluster` reads, so it is tested without a cluster.
`show` prints it, as text or as data. `main` imports the module of the verb that is asked for, and no other.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from topology_api.types import TopologyTransition

from ...decide import records
from .. import document

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from ...observe import facts
    from ...report import state
    from .. import answers, cluster


def show(options: argparse.Namespace, answer: Any, write: Callable[[document.Document, Any], None]) -> None:
    """Print an answer in the form that is asked for; `write` makes text of it."""
    if options.output == "json":
        sys.stdout.write(json.dumps(answer, indent=2) + "\n")
    elif options.output == "yaml":
        import yaml  # noqa: PLC0415 - other forms do not need it

        sys.stdout.write(yaml.safe_dump(answer, sort_keys=False, width=120))
    else:
        sheet = document.Document.of(sys.stdout)
        write(sheet, answer)
        sys.stdout.write(sheet.text())


def about_cluster(infrastructure: facts.Infrastructure) -> state.Cluster:
    """Which cluster this is, and its topology now."""
    return {
        "name": infrastructure.cluster_name,
        "platform": infrastructure.platform,
        "topology": {"controlPlane": infrastructure.control_plane, "infrastructure": infrastructure.infrastructure},
    }


def phase(snapshot: cluster.Snapshot) -> str | None:
    """The phase that the operator has recorded, None when there is no record."""
    record = records.recover(snapshot.infrastructure, snapshot.known.own_operator)
    return record.phase.value if isinstance(record, TopologyTransition) else None


def unread(snapshot: cluster.Snapshot) -> list[answers.Unread]:
    """What could not be read."""
    return [{"what": fact.what, "why": fact.why, "right": fact.right} for fact in snapshot.unread]
