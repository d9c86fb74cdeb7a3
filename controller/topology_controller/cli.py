"""What the operator's program does in a cluster, `run` and `version`: argument parsing and wiring only.

`topology_deploy.cli` adds what prepares a cluster, by the same `perform`. The flags of `run` with their help are in
bindata/commands/run.json. Everything heavy is imported by the command that needs it. Exit codes: 0 stopped on request,
1 failed, 2 bad usage (also a bad transition file), 3 lost the lease.
"""

# ruff: noqa: PLC0415 - what only one command needs is imported by that command

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import os
import pathlib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from topology_api import vocabulary

from . import bindata, logs, terminal
from ._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LOG = logging.getLogger(__name__)
_VERSION = f"{vocabulary.OPERATOR_NAME} {__version__}\n"
OK, FAILED, USAGE, LOST_LEASE = 0, 1, 2, 3
NOT_HERE: Final = ("manifests", "render", "fleet")
"""Commands of the installed program: what they print is made before a cluster has the operator, and not in it."""


class CommandError(Exception):
    """A command ends with this exit code; the text says why."""

    def __init__(self, code: int, why: object) -> None:
        super().__init__(str(why))
        self.code = code


@dataclass(frozen=True, slots=True)
class Command:
    """A command: `add` gives it a name and flags on the command line, `perform` does it or raises CommandError."""

    add: Callable[[argparse._SubParsersAction[terminal.Parser]], object]
    perform: Callable[[argparse.Namespace], object]


def parser(commands: Mapping[str, Command]) -> terminal.Parser:
    """Return the parser of a program that has these commands."""
    parser = terminal.Parser(
        prog=vocabulary.OPERATOR_NAME,
        description="Lets an OpenShift cluster change its topology: watches Infrastructure.spec.desiredTopology, "
        "proves that the cluster can carry it, and changes status in one guarded write.",
    )
    parser.add_argument("--version", action="version", version=_VERSION)
    added = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in commands.values():
        command.add(added)
    return parser


def perform(commands: Mapping[str, Command], arguments: Sequence[str] | None = None) -> int:
    """Run the command line of a program that has these commands; return its exit code."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - closed with `>&-`
    try:
        options = parser(commands).parse_args(arguments)
        commands[options.command].perform(options)
        sys.stdout.flush()
    except CommandError as error:
        logs.complain(vocabulary.OPERATOR_NAME, error)
        return error.code
    except OSError as error:
        # What is still buffered has no reader; the interpreter would complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            logs.complain(vocabulary.OPERATOR_NAME, f"the output cannot be written: {error}")
        return 141 if isinstance(error, BrokenPipeError) else FAILED
    return OK


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of the image, which has the operator alone; return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] in NOT_HERE:
        where = "is in the program that is installed from a checkout or a release (docs/install.md), not in the image"
        logs.complain(vocabulary.OPERATOR_NAME, f"{words[0]} {where}")
        return USAGE
    return perform(COMMANDS, words)


def _add_run(commands: argparse._SubParsersAction[terminal.Parser]) -> None:
    further: dict[str, dict[str, Any]] = {
        "--namespace": {"default": vocabulary.DEFAULT_NAMESPACE},
        "--leader-elect": {"action": argparse.BooleanOptionalAction, "default": True},
        "--settle-seconds": {"type": _natural(" of seconds")},
        "--etcd-endpoints": {"type": _endpoints, "default": ()},
        "-v": {"type": _natural()},
        **{flag: {"type": float} for flag in ("--lease-duration", "--renew-deadline", "--retry-period")},
        **{f"--{of}-dir": {"type": pathlib.Path} for of in ("serving-cert", "transitions", "etcd-cert")},
        "--config": {"type": pathlib.Path},
    }
    run = commands.add_parser("run", help="run the operator")
    try:
        flags = json.loads((bindata.root() / "commands" / "run.json").read_text(encoding="utf-8"))
    except (bindata.BindataMissingError, OSError) as error:
        raise CommandError(FAILED, error) from error
    for words, text in flags.items():
        terminal.add(run, words, text, **further.get(words.partition(" ")[0], {}))


def _natural(of: str = "") -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit():
            raise argparse.ArgumentTypeError(f"{text!r} is not a number{of}, 0 or more")
        return int(text)

    return parse


def _endpoints(text: str) -> tuple[str, ...]:
    from .etcd import client

    try:
        return tuple(dict.fromkeys(client.parse_endpoint(url) for url in text.split(",")))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _run(options: argparse.Namespace) -> None:
    try:
        logs.set_up(logs.level(options.log_level, options.v), options.log_format)
        # What is imported stays for good: a search for garbage costs a tenth of the start (measured) and finds nothing.
        gc.disable()
        from . import mounted, process
        from .definitions import load
        from .kube import config, lease, placement

        settings = process.Options(**vars(options))
        folder = options.transitions_dir or bindata.root() / "transitions"
        # The one place where the certificates become a question to etcd's members.
        given = options.etcd_cert_dir is not None and not mounted.empty(options.etcd_cert_dir)
        transitions = load.load(folder, members_directly=given)
    except ValueError as error:  # a DefinitionError is one
        raise CommandError(USAGE, error) from error
    gc.enable()
    gc.freeze()
    try:
        asyncio.run(process.run(settings, transitions))
    except placement.SameClusterError as error:
        raise CommandError(USAGE, f"--kubeconfig and --lease-kubeconfig: {error}") from error
    except (config.ConfigError, placement.ReplacedError, OSError) as error:
        raise CommandError(FAILED, error) from error
    except lease.LeaseLost as error:
        raise CommandError(LOST_LEASE, error) from error
    except Exception as error:
        # Anything else is a bug: it is in the log, with its trace, and needs no other line.
        logs.bug(_LOG, error)
        raise CommandError(FAILED, "") from error


COMMANDS: Final[Mapping[str, Command]] = {
    "run": Command(_add_run, _run),
    "version": Command(
        lambda added: added.add_parser("version", help="print the version"), lambda _: sys.stdout.write(_VERSION)
    ),
}
