"""`version`: of this program and of the operator, which judge alike only where both are the same.

Where the cluster cannot be read the version of this program is printed anyway, with the reason, and the exit code is 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from topology_api import vocabulary
from topology_controller._version import __version__

from .. import answers, errors, naming, sections
from . import show

if TYPE_CHECKING:
    import argparse

    from topology_controller.definitions import load

    from .. import cluster, document


class Versions(TypedDict):
    """`version`: `client` is this program's, `operator` the one that ClusterOperator topology reports.

    `running` is whether the operator runs, `skew` what a difference means; both are None where the cluster was not
    read, and `unread` is why.
    """

    apiVersion: str
    kind: str
    client: str
    operator: str | None
    running: answers.Operator | None
    skew: str | None
    unread: str | None


def concerns_a_cluster(options: argparse.Namespace) -> bool:
    """Is more than the version of this program asked for?"""
    return not options.client


async def run(connection: cluster.Connection, options: argparse.Namespace, _: load.Transitions) -> int:
    """Print the versions. Raises PluginError where the cluster cannot be read, or its API lacks the fields."""
    from .. import cluster  # noqa: PLC0415 - the version of this program is printed without a cluster

    snapshot = await cluster.head(connection)
    versions = getattr(snapshot.known.own_operator, "status", {}).get("versions")
    names = {item.get("name"): item.get("version") for item in versions or () if isinstance(item, dict)}
    return alone(options, None, names.get("operator"), sections.operator_state(snapshot))


def alone(
    options: argparse.Namespace,
    unread: str | None = None,
    operator: object = None,
    running: answers.Operator | None = None,
) -> int:
    """Print the version of this program, and of the operator or why the cluster was not read."""
    operator = operator if isinstance(operator, str) else None
    differ = "The versions differ: plan may judge otherwise than the operator does"
    answer: Versions = {
        "apiVersion": answers.API_VERSION,
        "kind": "TopologyVersions",
        "client": __version__,
        "operator": operator,
        "running": running,
        "skew": differ if operator not in {None, __version__} else None,
        "unread": unread,
    }
    show(options, answer, _shown)
    return errors.ExitCode.DONE if unread is None else errors.ExitCode.FAILED


def _shown(sheet: document.Document, answer: Versions) -> None:
    pairs = [(naming.PROGRAM, answer["client"])]
    if (running := answer["running"]) is not None:
        operator = f"{answer['operator'] or 'version unknown'}, {sections.running(running)}"
        pairs += [(vocabulary.OPERATOR_NAME, operator), ("API", f"has {vocabulary.DESIRED} and {vocabulary.RECORD}")]
    sections.fields(sheet, pairs)
    sheet.add("", [sections.sentence(text) for text in (answer["skew"], answer["unread"]) if text])
