"""`cluster-topology-operator fleet`: what roll-out engines are given, so that one cluster becomes thousands.

Here are its flags, and what it prints. `meaning` says what an Infrastructure object means to a roll-out, `plan` checks
what was asked for, and `engines` puts both into the objects of each engine, and says what goes where. `install`
brings the operator to the clusters and takes it away. No cluster is asked.
"""

# ruff: noqa: PLC0415 - the flags are known to every command, what they need is imported by this one

from __future__ import annotations

import argparse
import dataclasses
import functools
import pathlib
import re
import sys
import tomllib
from typing import TYPE_CHECKING, Any, Final

from topology_controller import bindata, cli, terminal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from topology_controller.definitions import load

    from . import engines


def _whole(text: str) -> int:
    if re.fullmatch("-?[0-9]{1,9}", text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


_TYPES: Final[dict[str, Any]] = {"N": _whole, "MIN": _whole, "F": pathlib.Path, "DIR": pathlib.Path}
"""What the value of a flag is, by its name in the help."""


@functools.cache
def table() -> dict[str, Any]:
    """The help of the commands of this package, and their flags. Raises CommandError when bindata is missing."""
    try:
        place = bindata.root() / "commands" / "cluster-topology-operator.toml"
        return tomllib.loads(place.read_text(encoding="utf-8"))
    except (bindata.BindataMissingError, OSError) as error:
        raise cli.CommandError(cli.FAILED, error) from error


def add(commands: argparse._SubParsersAction[terminal.Parser]) -> None:
    """Add the command to the command line."""
    texts = table()["fleet"]
    fleet = commands.add_parser("fleet", help="print what a hub needs for many clusters")
    engines = fleet.add_subparsers(dest="engine", required=True, metavar="WHAT")
    for name, meaning in {**texts["roll-outs"], **texts["others"]}.items():
        description, epilog = f"{texts['description']}\n\n{name}: {meaning}.", texts["epilog"]
        flags = texts["flags"]["roll-out"] | (texts["flags"]["argo"] if name == "argo" else {})
        if name in texts["others"]:
            other = "observing" if name == "observability" else "installing"
            description, epilog, flags = texts[other].replace("{what}", name), "", texts["flags"][other]
        engine = engines.add_parser(name, help=meaning, description=description, epilog=epilog)
        engine.formatter_class = argparse.RawDescriptionHelpFormatter
        add_flags(engine, flags)


def add_flags(where: argparse._ActionsContainer, flags: Mapping[str, Any]) -> None:
    """Add flags as `table` has them."""
    for words, text in flags.items():
        kind = _TYPES.get(words.rpartition(" ")[2])
        terminal.add(where, words, text, **({} if kind is None else {"type": kind}))


def pack(options: argparse.Namespace, transitions: load.Transitions) -> tuple[tuple[engines.File, ...], str]:
    """Return the parts, and the line for standard error. Raises what `cli` catches."""
    from .. import manifests
    from . import engines, install
    from . import plan as plans

    if options.engine == "observability":
        texts = {name: (bindata.root() / "fleet" / name).read_text(encoding="utf-8") for name in _OBSERVABILITY}
        if options.runbooks:
            texts = {name: manifests.linked(text, options.runbooks) for name, text in texts.items()}
        who = "administrator of the hub"
        return tuple(engines.File(engines.HUB, name, _OBSERVABILITY[name], who, texts[name]) for name in texts), ""
    if options.engine in {install.INSTALL, install.REMOVE}:
        place = {"--namespace": options.namespace, "--cluster-set": options.cluster_set}
        plans.check_hub(f"topology-{options.engine}", **place)
        given = options.manifests
        operator = install.read(sys.stdin.read() if str(given) == "-" else given.read_text(encoding="utf-8"))
        make = install.install if options.engine == install.INSTALL else install.remove
        return make(options.namespace, options.cluster_set, operator), ""
    if options.max_concurrency is None:
        options.max_concurrency = min(100, options.clusters)
    wanted = plans.Wanted(**{field.name: getattr(options, field.name) for field in dataclasses.fields(plans.Wanted)})
    plan = plans.checked(wanted, transitions)
    if options.engine == "policy" and not plan.wanted.canaries:
        raise plans.PlanError("--canary: none is given. Name at least one cluster that goes first")
    if options.engine == "argo":
        return engines.argo(plan, options.repo, options.path), plan.arithmetic()
    return {"policy": engines.policies, "work": engines.works}[options.engine](plan), plan.arithmetic()


_OBSERVABILITY: Final = {
    "observability-metrics-custom-allowlist.yaml": "the series that are collected",
    "thanos-ruler-custom-rules.yaml": "rules and alerts",
    "grafana-fleet.yaml": "a dashboard of Grafana",
}
"""Files of bindata/fleet, and what they have."""
