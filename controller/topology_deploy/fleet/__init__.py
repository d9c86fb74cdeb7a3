"""`cluster-topology-operator fleet`: what roll-out engines are given, so that one cluster becomes thousands.

Here are its flags, and what it prints. `meaning` says what an Infrastructure object means to a roll-out, `plan` checks
what was asked for, and `engines` puts both into the objects of each engine, and says what goes where. `install`
brings the operator to the clusters and takes it away. No cluster is asked.
"""

# ruff: noqa: PLC0415 - the flags are known to every command, what they need is imported by this one

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import TYPE_CHECKING, Any, Final

from topology_api import vocabulary
from topology_controller import bindata, terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topology_controller.definitions import load

    from . import engines

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


def _whole(text: str) -> int:
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


_PLACE: Final = {
    "--namespace NAMESPACE": "where they are on the hub; default: %(default)s",
    "--cluster-set NAME": "set of clusters that is bound to it; default: %(default)s, which has all clusters",
}
_FOLDER: Final = {
    "--output-dir DIR": "write files to DIR/hub and DIR/managed-clusters, and print a table of what goes where, in "
    "place of all",
}
_ROLL_OUT: Final = {
    "--to TOPOLOGY": "the desired topology, like HighlyAvailable",
    "--transition NAME": "only clusters on which this transition is possible",
    "--name NAME": "name of the roll-out's objects; default: %(default)s",
    **_PLACE,
    **_FOLDER,
    "--wave-label KEY": "label of the managed clusters that take part, 0 for those that go first; default: %(default)s",
    "--wave VALUE": "only the clusters with this value, and the canaries",
    "--canary NAME": "a cluster that goes first, alone; repeat it",
    "--clusters N": "how many clusters there are, canaries included; default: %(default)s",
    "--max-concurrency N": "how many are under way at once, after the canaries; default: 100 at most",
    "--soak N": "minutes for which a cluster must stay done before the next ones begin; default: %(default)s",
    "--deadline MIN": "minutes that one transition may take; default: what the definitions give the smallest such "
    "cluster on its slowest platform. Give more where a machine config pool has more machines",
}
_ARGO: Final = {
    "--repo URL": "Git repository with a folder for each cluster",
    "--path PATH": "folder of a cluster in it; default: %(default)s",
}
_MANIFESTS: Final = {"--manifests F": "what `manifests` printed; - reads standard input"}
_RUNBOOKS: Final = {"--runbooks URL": "https address of docs/runbooks; without it alerts have no link"}
_FURTHER: Final[dict[str, dict[str, Any]]] = {
    "--to TOPOLOGY": {"required": True},
    "--name NAME": {"default": "topology"},
    "--namespace NAMESPACE": {"default": "topology-fleet"},
    "--cluster-set NAME": {"default": "global"},
    "--output-dir DIR": {"type": pathlib.Path},
    "--wave-label KEY": {"default": vocabulary.WAVE_LABEL},
    "--canary NAME": {"action": "append", "default": []},
    "--clusters N": {"type": _whole, "default": 3500},
    "--max-concurrency N": {"type": _whole},
    "--soak N": {"type": _whole, "default": 10},
    "--deadline MIN": {"type": _whole},
    "--path PATH": {"default": "clusters/{{.name}}"},
    "--manifests F": {"type": pathlib.Path, "required": True},
}
"""What the words of a flag do not say themselves."""


def add(commands: argparse._SubParsersAction[terminal.Parser]) -> None:
    """Add the command to the command line."""
    fleet = commands.add_parser("fleet", help="print what a hub needs for many clusters")
    engines = fleet.add_subparsers(dest="engine", required=True, metavar="WHAT")
    for name, meaning in {**_ENGINES, **_OTHERS}.items():
        description, epilog = f"{_DESCRIPTION}\n\n{name}: {meaning}.", _EPILOG
        flags = _ROLL_OUT | (_ARGO if name == "argo" else {})
        if name in _OTHERS:
            observing = name == "observability"
            description, epilog = (_OBSERVING if observing else _INSTALLING.replace("{what}", name)), ""
            flags = (_RUNBOOKS if observing else _MANIFESTS | _PLACE) | _FOLDER
        formatter = argparse.RawDescriptionHelpFormatter
        engine = engines.add_parser(
            name, help=meaning, description=description, epilog=epilog, formatter_class=formatter
        )
        for words, text in flags.items():
            terminal.add(engine, words, text, **_FURTHER.get(words, {}))


def pack(options: argparse.Namespace, transitions: load.Transitions) -> tuple[tuple[engines.File, ...], str]:
    """Return the parts, and the line for standard error; it may be empty.

    Raises plan.PlanError, install.NotManifestsError, manifests.ManifestsError, OSError.
    """
    from . import engines, install
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
        return engines.argo(plan, options.repo, options.path), plan.arithmetic()
    return {"policy": engines.policies, "work": engines.works}[options.engine](plan), plan.arithmetic()


def _observability(runbooks: str | None) -> Iterator[engines.File]:
    from .. import manifests
    from . import engines

    for name, what in (
        ("observability-metrics-custom-allowlist.yaml", "the series that are collected"),
        ("thanos-ruler-custom-rules.yaml", "rules and alerts"),
        ("grafana-fleet.yaml", "a dashboard of Grafana"),
    ):
        text = (bindata.root() / "fleet" / name).read_text(encoding="utf-8")
        text = manifests.linked(text, runbooks) if runbooks else text
        yield engines.File(engines.HUB, name, what, "administrator of the hub", text)
