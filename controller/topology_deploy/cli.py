"""`cluster-topology-operator` as it is installed: the operator's own commands, and what prepares clusters for it.

`manifests`, `render` and `fleet` print and contact nothing. Everything heavy is imported by the command that needs it.
"""

# ruff: noqa: PLC0415 - what only one command needs is imported by that command

from __future__ import annotations

import argparse
import functools
import os
import sys
from typing import TYPE_CHECKING, Final

from topology_api import vocabulary
from topology_controller import cli

from . import fleet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from topology_controller import terminal


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code, one of those of `topology_controller.cli`."""
    return cli.perform(COMMANDS, arguments)


def _add(name: str, commands: argparse._SubParsersAction[terminal.Parser]) -> None:
    texts = fleet.table()[name]
    head = {key: texts[key] for key in ("help", "description", "epilog") if key in texts}
    command = commands.add_parser(name, **head, formatter_class=argparse.RawDescriptionHelpFormatter)
    form = command.add_mutually_exclusive_group() if "one-of" in texts else command
    fleet.add_flags(form, texts.get("one-of", {}))
    fleet.add_flags(command, texts["flags"])


def _check(options: argparse.Namespace) -> None:
    definition, elsewhere = options.crd_only or options.crd_patch, options.elsewhere
    no_rights, both = definition or elsewhere == "management", "--crd-only, --crd-patch or --elsewhere management"
    for flag, mistaken, why in (
        ("crd", not options.crd_patch, "goes with --crd-patch"),
        ("without-monitoring", definition, "does not go with --crd-only or --crd-patch: these print no monitoring"),
        ("without-machine-api", no_rights, f"does not go with {both}"),
        ("without-leases", no_rights, f"does not go with {both}"),
        ("bare-metal-host-reader", no_rights, f"does not go with {both}"),
        ("console", definition or elsewhere,
         "does not go with --crd-only, --crd-patch or --elsewhere: these print nothing for it"),
        ("runbooks", definition or options.without_monitoring,
         "is for the alerts, which these manifests do not have"),
    ):  # fmt: skip
        if mistaken and getattr(options, flag.replace("-", "_")) not in {None, False}:
            raise cli.CommandError(cli.USAGE, f"--{flag} {why}")


def _manifests(options: argparse.Namespace) -> None:
    import yaml

    from topology_controller.definitions import load

    from . import manifests

    _check(options)
    runbooks = options.runbooks if options.runbooks is not None else os.environ.get(vocabulary.RUNBOOKS_VARIABLE)
    image, namespace = options.image, options.namespace
    monitoring = not options.without_monitoring
    without = frozenset(right for right in manifests.OPTIONAL if getattr(options, f"without_{right}"))
    try:
        served = None if options.crd is None else yaml.safe_load(options.crd.read_text(encoding="utf-8"))
        if options.elsewhere:
            text = manifests.elsewhere(options.elsewhere, image, namespace, monitoring=monitoring, without=without)
        else:
            # A bad --image or --namespace is refused with the definition alone, too.
            text = manifests.render(image, namespace, monitoring=monitoring, without=without)
        if options.crd_only or options.crd_patch:
            text = manifests.whole_crd() if options.crd_only else manifests.patch(served)
        chosen = [manifests.filled("readers/baremetalhosts.yaml")] if options.bare_metal_host_reader else []
        chosen += [manifests.console(options.console)] if options.console is not None else []
        text = "---\n".join([text, *chosen])
        if runbooks and monitoring and not (options.crd_only or options.crd_patch):
            text = manifests.linked(text, runbooks)
        elif "\nkind: PrometheusRule\n" in text:
            sys.stderr.write("warning: the alerts link no runbook: --runbooks URL is where docs/runbooks is served\n")
    except manifests.ManifestsError as error:
        raise cli.CommandError(cli.USAGE, error) from error
    except load.DefinitionError as error:
        raise cli.CommandError(cli.FAILED, error) from error
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise cli.CommandError(cli.FAILED, f"{options.crd}: {error}") from error
    sys.stdout.write(text)


def _render(options: argparse.Namespace) -> None:
    from topology_controller.definitions import read

    from . import render

    try:
        text = render.command(str(options.install_config), options.rule, options.output)
    except read.DefinitionError as error:
        raise cli.CommandError(cli.FAILED, error) from error
    sys.stdout.write(text)


def _fleet(options: argparse.Namespace) -> None:
    from topology_controller import bindata
    from topology_controller.definitions import load

    from . import manifests
    from .fleet import engines

    try:
        parts, explanation = fleet.pack(options, load.load(bindata.root() / "transitions"))
        folder = options.output_dir
        text = engines.stream(parts) if folder is None else engines.write(folder, options.engine, parts)
    except manifests.ManifestsError as error:
        raise cli.CommandError(cli.USAGE, error) from error
    except (load.DefinitionError, OSError, UnicodeDecodeError) as error:
        raise cli.CommandError(cli.FAILED, error) from error
    sys.stdout.write(text)
    if explanation:
        sys.stderr.write(f"{explanation}\n")


COMMANDS: Final[Mapping[str, cli.Command]] = {
    "run": cli.COMMANDS["run"],
    "manifests": cli.Command(functools.partial(_add, "manifests"), _manifests),
    "render": cli.Command(functools.partial(_add, "render"), _render),
    "fleet": cli.Command(fleet.add, _fleet),
    "version": cli.COMMANDS["version"],
}
