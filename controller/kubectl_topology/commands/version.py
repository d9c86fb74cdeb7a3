"""`version`: of this program and of the operator, which judge alike only where both are the same, and of the API.

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

    snapshot = await cluster.head(connection, options.operator_namespace)
    own = snapshot.known.own_operator
    versions = getattr(own, "status", {}).get("versions")
    names = {item.get("name"): item.get("version") for item in versions or () if isinstance(item, dict)}
    operator = names.get("operator")
    answer = _answer(operator if isinstance(operator, str) else None)
    answer["running"] = cluster.operator_state(snapshot)
    if answer["operator"] not in {None, __version__}:
        answer["skew"] = "The versions differ: plan may judge otherwise than the operator does"
    show(options, answer, _shown)
    return errors.ExitCode.DONE


def alone(options: argparse.Namespace, unread: str | None = None) -> int:
    """Print the version of this program, and why the cluster was not read."""
    answer = _answer(None)
    answer["unread"] = unread
    show(options, answer, _shown)
    return errors.ExitCode.DONE if unread is None else errors.ExitCode.FAILED


def _answer(operator: str | None) -> Versions:
    return {
        "apiVersion": answers.API_VERSION,
        "kind": "TopologyVersions",
        "client": __version__,
        "operator": operator,
        "running": None,
        "skew": None,
        "unread": None,
    }


def _shown(sheet: document.Document, answer: Versions) -> None:
    running = answer["running"]
    operator = "" if running is None else f"{answer['operator'] or 'version unknown'}, {sections.running(running)}"
    api = "" if running is None else f"has {vocabulary.DESIRED} and {vocabulary.RECORD}"
    pairs = [(naming.PROGRAM, answer["client"]), (vocabulary.OPERATOR_NAME, operator), ("API", api)]
    sections.fields(sheet, pairs)
    sheet.add("", [sections.sentence(text) for text in (answer["skew"], answer["unread"]) if text])
