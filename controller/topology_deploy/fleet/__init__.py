"""`cluster-topology-operator fleet`: what roll-out engines are given, so that one cluster becomes thousands.

Here are its flags, and what it prints. `meaning` says once what an Infrastructure object means to a roll-out, in CEL
and as a Go template; `plan` checks what was asked for, and `policy`, `work` and `argo` put both into the objects of
each engine. All of it is pure: values in, text out, and no cluster is asked. We have no roll-out driver of our own.
"""

# ruff: noqa: PLC0415 - the flags are known to every command, what they need is imported by this one

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from topology_api import vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

    from topology_controller import terminal
    from topology_controller.definitions import load

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
docs/fleet.md says what that costs.

Examples:

  %(prog)s --to HighlyAvailable --canary edge-1 --canary edge-2 --clusters 3500 > pack.yaml
  %(prog)s --to HighlyAvailable --canary lab-1 --clusters 40 --max-concurrency 5 --soak 60 | oc apply -f -

Exit codes: 0 printed, 2 bad usage (what was found, and what is allowed)."""


def add(commands: argparse._SubParsersAction[terminal.Parser]) -> None:
    """Add the command to the command line."""
    fleet = commands.add_parser("fleet", help="print what a roll-out engine needs for many clusters")
    engines = fleet.add_subparsers(dest="engine", required=True, metavar="ENGINE")
    for name, meaning in _ENGINES.items():
        engine = engines.add_parser(
            name,
            help=meaning,
            description=f"{_DESCRIPTION}\n\nENGINE {name}: {meaning}.",
            epilog=_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _add_flags(engine)
        if name == "argo":
            engine.add_argument("--repo", metavar="URL", help="Git repository with a folder for each cluster")
            engine.add_argument(
                "--path", default="clusters/{{.name}}", help="folder of a cluster in it; default: %(default)s"
            )


def _add_flags(engine: argparse.ArgumentParser) -> None:
    engine.add_argument("--to", required=True, metavar="TOPOLOGY", help="the desired topology, like HighlyAvailable")
    engine.add_argument("--transition", metavar="NAME", help="only clusters on which this transition is possible")
    engine.add_argument("--name", default="topology", help="name of the roll-out's objects; default: %(default)s")
    engine.add_argument("--namespace", default="topology-fleet", help="where they are on the hub; default: %(default)s")
    engine.add_argument(
        "--wave-label", default=vocabulary.WAVE_LABEL, metavar="KEY",
        help="label of the managed clusters that take part, 0 for those that go first; default: %(default)s",
    )  # fmt: skip
    engine.add_argument("--wave", metavar="VALUE", help="only the clusters with this value, and the canaries")
    engine.add_argument(
        "--canary", action="append", default=[], metavar="NAME", help="a cluster that goes first, alone; repeat it"
    )
    for flag, default, what in (
        ("--clusters", 3500, "how many clusters there are, canaries included"),
        ("--max-concurrency", 100, "how many are under way at once, after the canaries"),
        ("--soak", 10, "minutes for which a cluster must stay done before the next ones begin"),
    ):
        engine.add_argument(flag, type=_whole(flag), default=default, metavar="N", help=f"{what}; default: %(default)s")
    engine.add_argument(
        "--deadline", type=_whole("--deadline"), metavar="MIN",
        help="minutes that one transition may take; default: what the definitions give the smallest such cluster on "
        "its slowest platform. Give more where a machine config pool has more machines",
    )  # fmt: skip


def _whole(flag: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        digits = text.removeprefix("-")
        if not digits.isascii() or not digits.isdigit() or len(digits) > 9:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
        return int(text)

    parse.__name__ = flag
    return parse


def pack(options: argparse.Namespace, transitions: load.Transitions) -> tuple[str, str]:
    """Return what goes to standard output, and the line for standard error. Raises plan.PlanError."""
    from . import argo, policy, work
    from . import plan as plans

    names = ("transition", "name", "namespace", "wave_label", "wave", "clusters", "max_concurrency", "deadline", "soak")
    settings = {name: getattr(options, name) for name in names}
    plan = plans.checked(plans.Wanted(target=options.to, canaries=tuple(options.canary), **settings), transitions)
    if options.engine == "policy" and not plan.wanted.canaries:
        raise plans.PlanError("--canary: none is given. Name at least one cluster that goes first")
    if options.engine == "argo":
        return argo.pack(plan, options.repo, options.path), plan.arithmetic()
    return {"policy": policy.pack, "work": work.pack}[options.engine](plan), plan.arithmetic()
