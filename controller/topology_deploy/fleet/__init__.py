"""`cluster-topology-operator fleet`: what roll-out engines are given, so that one cluster becomes thousands.

Here are its flags, and what it prints. `meaning` says what an Infrastructure object means to a roll-out, `plan` checks
what was asked for, and `policy`, `work` and `argo` put both into the objects of each engine; `objects` has what they
share. `install` brings the operator to the clusters and takes it away. No cluster is asked.
"""

# ruff: noqa: PLC0415 - the flags are known to every command, what they need is imported by this one

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import TYPE_CHECKING

from topology_api import vocabulary
from topology_controller import bindata

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topology_controller import terminal
    from topology_controller.definitions import load

    from . import objects

_ENGINES = {
    "policy": "policies of Red Hat Advanced Cluster Management, rolled out by a ClusterGroupUpgrade (TALM)",
    "work": "a ManifestWorkReplicaSet of Open Cluster Management, 1.1 or newer",
    "argo": "the health check of Argo CD, and with --repo an ApplicationSet in waves",
}
_DESCRIPTION = """\
Print what an engine needs to bring many clusters to a topology: rights, a survey, the request, and how to take it
back, as YAML on standard output. One line on standard error says how long it may take. Nothing is contacted, and the
output is as long for ten thousand clusters as for ten."""
_EPILOG = """\
Where the release payload owns the definition of Infrastructure, every cluster needs our fields and an override first:
`fleet install` brings them.

Examples:

  %(prog)s --to HighlyAvailable --canary edge-1 --canary edge-2 --clusters 3500 --output-dir pack
  %(prog)s --to HighlyAvailable --canary lab-1 --clusters 40 --max-concurrency 5 --soak 60

Exit codes: 0 printed, 1 a file cannot be read or written, 2 bad usage (what was found, and what is allowed)."""
_OTHERS = {
    "install": "policies that bring operator, fields and override to many clusters",
    "remove": "policies that take them away again, after the conversion",
    "observability": "what a hub's observability collects, records, alerts on and shows",
}
_INSTALLING = """\
Print a policy of Red Hat Advanced Cluster Management, its clusters and its namespace. The output of `manifests` is put
into it, with the flags that you gave there. Label a cluster with topology.openshift.io/operator=install, and after the
conversion with topology.openshift.io/operator=remove.

Example:

  cluster-topology-operator manifests --image REF | %(prog)s --manifests - --output-dir pack-{what}"""
_OBSERVING = """\
Print three ConfigMaps for the observability of Red Hat Advanced Cluster Management: the series that are collected, the
rules of the hub, and a dashboard. A hub has one ConfigMap of each of the first two names: merge them with yours."""


def add(commands: argparse._SubParsersAction[terminal.Parser]) -> None:
    """Add the command to the command line."""
    fleet = commands.add_parser("fleet", help="print what a hub needs for many clusters")
    engines = fleet.add_subparsers(dest="engine", required=True, metavar="WHAT")
    for name, meaning in _ENGINES.items():
        engine = engines.add_parser(
            name,
            help=meaning,
            description=f"{_DESCRIPTION}\n\n{name}: {meaning}.",
            epilog=_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _add_flags(engine)
        if name == "argo":
            engine.add_argument("--repo", metavar="URL", help="Git repository with a folder for each cluster")
            engine.add_argument(
                "--path", default="clusters/{{.name}}", help="folder of a cluster in it; default: %(default)s"
            )
    for name, meaning in _OTHERS.items():
        observing = name == "observability"
        other = engines.add_parser(
            name,
            help=meaning,
            description=_OBSERVING if observing else _INSTALLING.replace("{what}", name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if observing:
            other.add_argument(
                "--runbooks", metavar="URL", help="https address of docs/runbooks; without it alerts have no link"
            )
        else:
            other.add_argument(
                "--manifests", type=pathlib.Path, required=True, metavar="F",
                help="what `manifests` printed; - reads standard input",
            )  # fmt: skip
            _add_place(other)
        _add_folder(other)


def _add_place(engine: argparse.ArgumentParser) -> None:
    engine.add_argument("--namespace", default="topology-fleet", help="where they are on the hub; default: %(default)s")
    engine.add_argument(
        "--cluster-set", default="global", metavar="NAME",
        help="set of clusters that is bound to it; default: %(default)s, which has all clusters",
    )  # fmt: skip


def _add_folder(engine: argparse.ArgumentParser) -> None:
    engine.add_argument(
        "--output-dir", type=pathlib.Path, metavar="DIR",
        help="write files to DIR/hub and DIR/managed-clusters, and print a table of what goes where, in place of all",
    )  # fmt: skip


def _add_flags(engine: argparse.ArgumentParser) -> None:
    engine.add_argument("--to", required=True, metavar="TOPOLOGY", help="the desired topology, like HighlyAvailable")
    engine.add_argument("--transition", metavar="NAME", help="only clusters on which this transition is possible")
    engine.add_argument("--name", default="topology", help="name of the roll-out's objects; default: %(default)s")
    _add_place(engine)
    _add_folder(engine)
    engine.add_argument(
        "--wave-label", default=vocabulary.WAVE_LABEL, metavar="KEY",
        help="label of the managed clusters that take part, 0 for those that go first; default: %(default)s",
    )  # fmt: skip
    engine.add_argument("--wave", metavar="VALUE", help="only the clusters with this value, and the canaries")
    engine.add_argument(
        "--canary", action="append", default=[], metavar="NAME", help="a cluster that goes first, alone; repeat it"
    )
    for flag, default, what in (
        ("--clusters", 3500, "how many clusters there are, canaries included; default: %(default)s"),
        ("--max-concurrency", None, "how many are under way at once, after the canaries; default: 100 at most"),
        ("--soak", 10, "minutes for which a cluster must stay done before the next ones begin; default: %(default)s"),
    ):
        engine.add_argument(flag, type=_whole, default=default, metavar="N", help=what)
    engine.add_argument(
        "--deadline", type=_whole, metavar="MIN",
        help="minutes that one transition may take; default: what the definitions give the smallest such cluster on "
        "its slowest platform. Give more where a machine config pool has more machines",
    )  # fmt: skip


def _whole(text: str) -> int:
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def pack(options: argparse.Namespace, transitions: load.Transitions) -> tuple[tuple[objects.File, ...], str]:
    """Return the parts, and the line for standard error; it may be empty.

    Raises plan.PlanError, install.NotManifestsError, manifests.ManifestsError, OSError.
    """
    from . import argo, install, policy, work
    from . import plan as plans

    if options.engine == "observability":
        return tuple(_observability(options.runbooks)), ""
    if options.engine in _OTHERS:
        place = {"--namespace": options.namespace, "--cluster-set": options.cluster_set}
        plans.check_hub(f"topology-{options.engine}", **place)
        given = options.manifests
        operator = install.read(sys.stdin.read() if str(given) == "-" else given.read_text(encoding="utf-8"))
        make = install.install if options.engine == install.INSTALL else install.remove
        return make(options.namespace, options.cluster_set, operator), ""
    names = ("transition", "name", "namespace", "cluster_set", "wave_label", "wave", "clusters", "deadline", "soak")
    settings = {name: getattr(options, name) for name in names}
    at_once = min(100, options.clusters) if options.max_concurrency is None else options.max_concurrency
    wanted = plans.Wanted(target=options.to, canaries=tuple(options.canary), max_concurrency=at_once, **settings)
    plan = plans.checked(wanted, transitions)
    if options.engine == "policy" and not plan.wanted.canaries:
        raise plans.PlanError("--canary: none is given. Name at least one cluster that goes first")
    if options.engine == "argo":
        return argo.pack(plan, options.repo, options.path), plan.arithmetic()
    return {"policy": policy.pack, "work": work.pack}[options.engine](plan), plan.arithmetic()


def _observability(runbooks: str | None) -> Iterator[objects.File]:
    from .. import manifests
    from . import objects

    for name, what in (
        ("observability-metrics-custom-allowlist.yaml", "the series that are collected"),
        ("thanos-ruler-custom-rules.yaml", "rules and alerts"),
        ("grafana-fleet.yaml", "a dashboard of Grafana"),
    ):
        text = (bindata.root() / "fleet" / name).read_text(encoding="utf-8")
        text = manifests.linked(text, runbooks) if runbooks else text
        yield objects.File(objects.HUB, name, what, "administrator of the hub", text)
