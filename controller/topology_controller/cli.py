"""What the operator's program does in a cluster, `run` and `version`: argument parsing and wiring only.

`topology_deploy.cli` adds what prepares a cluster, by the same `perform`. Everything heavy is imported by the command
that needs it. Exit codes: 0 stopped on request, 1 failed, 2 bad usage (also a bad transition file), 3 lost the lease.
"""

# ruff: noqa: PLC0415 - what only one command needs is imported by that command

from __future__ import annotations

import argparse
import asyncio
import functools
import gc
import logging
import pathlib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from topology_api import vocabulary

from . import logs, terminal
from ._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LOG = logging.getLogger(__name__)
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
    perform: Callable[[argparse.Namespace], None]


def parser(commands: Mapping[str, Command]) -> terminal.Parser:
    """Return the parser of a program that has these commands."""
    parser = terminal.Parser(
        prog=vocabulary.OPERATOR_NAME,
        description="Lets an OpenShift cluster change its topology: watches Infrastructure.spec.desiredTopology, "
        "proves that the cluster can carry it, and changes status in one guarded write.",
    )
    parser.add_argument("--version", action="version", version=f"{vocabulary.OPERATOR_NAME} {__version__}")
    added = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in commands.values():
        command.add(added)
    return parser


def perform(commands: Mapping[str, Command], arguments: Sequence[str] | None = None) -> int:
    """Run the command line of a program that has these commands; return its exit code."""
    try:
        options = parser(commands).parse_args(arguments)
        commands[options.command].perform(options)
    except CommandError as error:
        logs.complain(vocabulary.OPERATOR_NAME, error)
        return error.code
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
    add = functools.partial(terminal.add, commands.add_parser("run", help="run the operator"))
    add("--kubeconfig F", "default: KUBECONFIG, in-cluster, ~/.kube/config")
    add("--context NAME", "context of the kubeconfig")
    add("--namespace NAMESPACE", "namespace of the lease; default: %(default)s", default=vocabulary.DEFAULT_NAMESPACE)
    add(
        "--lease-kubeconfig F",
        "placement elsewhere: the cluster where the lease is held and scrapers are authenticated, while "
        "--kubeconfig leads to the one that is acted on; in-cluster: that of this pod; default: the same cluster",
        default="",
    )
    add("--lease-namespace NS", "with --lease-kubeconfig: namespace of the lease", default="")
    add("--bind-address HOST:PORT", "where probes and metrics are served; default: %(default)s", default="0.0.0.0:8443")
    add(
        "--page-address HOST:PORT",
        "with --serving-cert-dir: loopback address of the status page, to be reached by port-forward; default: no "
        "page. Without certificates it is at --bind-address",
        default="",
    )
    certificates = "folder with tls.crt and tls.key; without it plain HTTP is served, on loopback only"
    add("--serving-cert-dir D", certificates, type=pathlib.Path)
    add("--transitions-dir D", "transition definitions; default: built in", type=pathlib.Path)
    elect = {"action": argparse.BooleanOptionalAction, "default": True}
    add("--leader-elect", "hold a lease while working; default: yes", **elect)
    for words, meaning in (
        ("--lease-duration S", "others wait so many seconds before they take over: more than the renew deadline"),
        (
            "--renew-deadline S",
            "give up leading after so many seconds without a renewal, 2 or more: a request gets half",
        ),
        (
            "--retry-period S",
            "renew the lease every so many seconds: it and a request must fit into the renew deadline",
        ),
    ):
        together = "the three go together; default: 137/107/26, and 270/240/60 on a single node"
        add(words, f"{meaning}; {together}", type=float)
    add(
        "--settle-seconds S",
        "overrides settleSeconds of the definitions, and how often new answers of checks are written to "
        "Infrastructure: every S seconds instead of once a minute (tests, demos)",
        type=_natural(" of seconds"),
    )
    add(
        "--etcd-cert-dir D",
        "folder with ca.crt, tls.crt and tls.key of an etcd client: before the change etcd's members are asked "
        "themselves (check EtcdMembersDirect)",
        type=pathlib.Path,
    )
    where = "where to ask etcd, https://HOST:PORT; default: what ConfigMap openshift-etcd/etcd-endpoints lists"
    add("--etcd-endpoints URL[,URL...]", where, type=_endpoints, default=())
    followed = "configuration file, followed while the operator runs; --log-level, -v and --settle-seconds win over it"
    add("--config F", followed, type=pathlib.Path)
    add(f"--log-level {'|'.join(logs.LEVELS)}", f"what is logged; default: {logs.DEFAULT}", default=None)
    levels = "the same as a number: 0 warning, 2 info, 4 debug (conflicts, watches), 6 also every request"
    add("-v --v N", levels, type=_natural())
    add(f"--log-format {'|'.join(logs.FORMATS)}", "text as klog has it; default: text")


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


def _version(_: argparse.Namespace) -> None:
    sys.stdout.write(f"{vocabulary.OPERATOR_NAME} {__version__}\n")


def _run(options: argparse.Namespace) -> None:
    try:
        logs.set_up(logs.level(options.log_level, options.v), options.log_format)
    except ValueError as error:
        raise CommandError(USAGE, error) from error
    if options.etcd_endpoints and options.etcd_cert_dir is None:
        raise CommandError(USAGE, "--etcd-endpoints goes with --etcd-cert-dir")
    # What is imported stays for good: looking through it for garbage, now or later, costs a tenth of the start
    # (measured) and finds nothing.
    gc.disable()
    from . import bindata
    from .definitions import load
    from .kube import lease

    try:
        folder = options.transitions_dir or bindata.root() / "transitions"
        # The one place where the certificates become a question to etcd's members.
        transitions = load.load(folder, members_directly=options.etcd_cert_dir is not None)
    except load.DefinitionError as error:
        raise CommandError(USAGE, error) from error
    except bindata.BindataMissingError as error:
        raise CommandError(FAILED, error) from error
    from . import process
    from .kube import config, placement

    gc.enable()
    gc.freeze()
    try:
        settings = process.Options(**vars(options))
    except ValueError as error:
        raise CommandError(USAGE, error) from error
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
    "version": Command(lambda added: added.add_parser("version", help="print the version"), _version),
}
