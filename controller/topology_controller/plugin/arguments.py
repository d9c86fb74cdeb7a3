"""The command line of `kubectl-topology`: verbs, flags as kubectl spells them, and words that are understood.

Nothing heavy is imported here, so that `--help` and a usage error answer at once. Flags about the connection may stand
before the verb or after it. argparse reports what is wrong with an argument: exit code 2.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import re
from typing import TYPE_CHECKING, Any

from topology_api import vocabulary
from topology_api.vocabulary import EXTERNAL, Topology

from .. import terminal
from .._version import __version__
from ..definitions import registry

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "kubectl-topology"
DEFAULT_REQUEST_TIMEOUT = 10.0
"""Seconds for one request, when --request-timeout is not given or 0."""
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|m|h)")
_PLAIN = re.compile(r"[0-9]{1,9}\Z")
_ACCEPTABLE = [name.value for name in registry.ACCEPTABLE_CHECKS]
_DEFAULTS: dict[str, Any] = {
    "kubeconfig": None, "context": None, "request_timeout": DEFAULT_REQUEST_TIMEOUT, "insecure_skip_tls_verify": False,
    "as_user": None, "as_group": [], "as_uid": None, "operator_namespace": vocabulary.DEFAULT_NAMESPACE,
    "transitions_dir": None,
}  # fmt: skip
_EXIT_CODES = "exit codes: 0 done or possible, 1 error, 2 usage, 3 blocked, 4 unsupported, 5 timed out, 130 interrupted"


def duration(text: str) -> float:
    """Seconds of 90m, 1h30m, 45s, 250ms, or a plain number of seconds."""
    if _PLAIN.match(text):
        return float(text)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 90m, 1h30m or 45s")
    return math.fsum(float(number) * _UNITS[unit] for number, unit in parts)


def _name(text: str) -> str:
    """The name of a user or a group, as it may stand in a header."""
    if text and text.isprintable() and text == text.strip():
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is no name")


def target(text: str) -> str:
    """A legal request; what is none is refused with those that are, and the closest of them."""
    legal = [topology.value for topology in Topology]
    if text in legal:
        return text
    if text.lower() == EXTERNAL.lower():
        raise argparse.ArgumentTypeError(
            f"{EXTERNAL} cannot be requested: a hosted control plane is created on the management cluster. "
            f"Legal are {', '.join(legal)}"
        )
    raise _unknown("target", text, "Legal are", legal)


def check(text: str) -> str:
    """The name of a check; what is none is refused with the closest of those that can be accepted."""
    if text in set(vocabulary.CheckName):
        return text
    raise _unknown("check", text, "Can be accepted:", _ACCEPTABLE)


def reason(text: str) -> str:
    """Words that fit into the record, in one line."""
    words = " ".join(text.split())
    if len(words) > vocabulary.ACCEPTED_REASON_LIMIT or not words.isprintable():
        raise argparse.ArgumentTypeError(f"wanted a line of at most {vocabulary.ACCEPTED_REASON_LIMIT} characters")
    return words


def _unknown(noun: str, text: str, are: str, words: list[str]) -> argparse.ArgumentTypeError:
    import difflib  # noqa: PLC0415 - only a wrong word needs it

    by_lower = {word.lower(): word for word in words}
    close = difflib.get_close_matches(text.lower(), by_lower, n=1, cutoff=0.4)
    meant = f"; did you mean {by_lower[close[0]]}?" if close else "."
    return argparse.ArgumentTypeError(f"unknown {noun} {text!r}{meant} {are} {', '.join(words)}")


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    program = terminal.Parser(
        prog=PROGRAM,
        description="Asks a cluster about its topology: what it is, what it could be, and how far a change has come; "
        "and makes or cancels the request for another one. Only set --confirm, cancel and accept write anything.",
        epilog=_EXIT_CODES,
    )
    program.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    _connection(program, groups="as_group")
    program.set_defaults(**_DEFAULTS)
    verbs = program.add_subparsers(dest="verb", required=True, metavar="VERB")
    plan = _verb(
        verbs, "plan", "what could be asked for from here; with a target, everything that it takes. Nothing is written"
    )
    topologies = ", ".join(topology.value for topology in Topology)
    plan.add_argument(
        "target",
        nargs="?",
        type=target,
        metavar="TARGET",
        help=f"what {vocabulary.DESIRED} would be set to: {topologies}",
    )
    plan.add_argument(
        "-f", "--filename", metavar="FILE",
        help="take TARGET from the manifest of Infrastructure cluster in this file; - is standard input",
    )  # fmt: skip
    _output(plan)
    set_ = _verb(
        verbs, "set",
        "make the request for another topology; without --confirm nothing is written, and what would be is shown",
    )  # fmt: skip
    set_.add_argument("target", type=target, metavar="TARGET", help=f"what {vocabulary.DESIRED} is set to; see plan")
    set_.add_argument(
        "--confirm", action="store_true", help="write it, if nothing has changed since the checks were answered"
    )
    set_.add_argument(
        "--allow-pending", action="store_true",
        help="also when checks are not met: the operator waits for them. None of them can be skipped",
    )  # fmt: skip
    set_.add_argument("--wait", action="store_true", help="go on as the verb wait does; needs --confirm")
    set_.add_argument(
        "--timeout", type=duration, metavar="D", help="with --wait: give up after so long, such as 90m; default: never"
    )
    _output(set_)
    cancel = _verb(
        verbs, "cancel",
        "cancel the request, as long as the topology has not changed; refused when anything changed since it was read",
    )  # fmt: skip
    _output(cancel)
    status = _verb(verbs, "status", "phase, progress, every check, components updated, and actions required")
    _output(status)
    status.add_argument(
        "-w", "--watch", action="store_true",
        help="stay, and show every change, until Ctrl-C: drawn on a terminal, line by line anywhere else",
    )  # fmt: skip
    wait = _verb(verbs, "wait", "wait until the transition is completed; progress goes to standard error")
    wait.add_argument(
        "--timeout", type=duration, metavar="D", help="give up after that long, such as 90m; default: never"
    )
    graph = _verb(verbs, "graph", "the transitions that exist, where this cluster is, and what blocks the way on")
    graph.add_argument("-o", "--output", choices=("dot", "mermaid", "svg"), default="dot", help="default: %(default)s")
    _output(_verb(verbs, "audit", "which kind of cluster this is, and where status, scheduler and nodes disagree"))
    accept = _verb(
        verbs, "accept",
        "accept that a check of a stuck transition will not be met, so that the transition completes without it; past "
        "the deadline, for workloads only, and final",
    )  # fmt: skip
    accept.add_argument("--check", type=check, required=True, metavar="NAME", help=f"one of {', '.join(_ACCEPTABLE)}")
    accept.add_argument("--reason", type=reason, default="", metavar="T", help="why; it is recorded and shown")
    accept.add_argument(
        "--yes", action="store_true", help="accept without being asked; needed where there is no terminal to ask at"
    )
    accept.add_argument(
        "--timeout", type=duration, default=30.0, metavar="D",
        help="how long the operator has to take it up; default: %(default)gs",
    )  # fmt: skip
    explain = _verb(
        verbs, "explain",
        "what a check, phase, reason, advisory, alert, event or metric means, what to look at and do; it asks no "
        "cluster",
        connected=False,
    )  # fmt: skip
    explain.add_argument("name", nargs="?", metavar="NAME", help="in any case; without it all names are listed")
    _output(explain)
    return program


def _verb(
    verbs: argparse._SubParsersAction[terminal.Parser], name: str, meaning: str, *, connected: bool = True
) -> argparse.ArgumentParser:
    verb = verbs.add_parser(name, help=meaning, description=meaning[0].upper() + meaning[1:] + ".", epilog=_EXIT_CODES)
    if connected:
        _connection(verb, groups="as_group_after")
    return verb


def _output(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("-o", "--output", choices=("text", "json", "yaml"), default="text", help="default: %(default)s")


def _connection(either: argparse.ArgumentParser, groups: str) -> None:
    """Flags that may stand on either side of the verb, so they have no default here that would replace the other."""
    group = either.add_argument_group("connection")

    def flag(name: str, text: str, **options: Any) -> None:
        group.add_argument(name, help=text, default=argparse.SUPPRESS, **options)

    flag("--kubeconfig", "default: KUBECONFIG, ~/.kube/config, the service account of this pod", metavar="F")
    flag("--context", "context of the kubeconfig", metavar="NAME")
    timeout = f"how long one request may take; default: {DEFAULT_REQUEST_TIMEOUT:g}s"
    flag("--request-timeout", timeout, type=duration, metavar="D")
    flag("--insecure-skip-tls-verify", "do not check the certificate of the API server", action="store_true")
    as_user = "ask in the name of this user, which takes the right to impersonate"
    flag("--as", as_user, dest="as_user", type=_name, metavar="USER")
    as_group = "with --as: a group of that user; may be given more than once"
    flag("--as-group", as_group, dest=groups, action="append", type=_name, metavar="GROUP")
    flag("--as-uid", "with --as: its uid", type=_name, metavar="UID")
    flag("--operator-namespace", f"where the operator runs; default: {vocabulary.DEFAULT_NAMESPACE}", metavar="NS")
    own = "transition definitions, where the operator was given others than those that are built in"
    flag("--transitions-dir", own, type=pathlib.Path, metavar="D")


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    """Parse, or end with exit code 2 as argparse does."""
    program = parser()
    options = program.parse_args(words)
    if not options.request_timeout:
        # kubectl means "no bound" by 0; here every request has one.
        options.request_timeout = DEFAULT_REQUEST_TIMEOUT
    # A list on either side of the verb would replace the other one.
    options.as_group = [*options.as_group, *vars(options).pop("as_group_after", ())]
    if options.as_user is None and (options.as_group or options.as_uid is not None):
        program.error("--as-group and --as-uid are about the user of --as: name one")
    if options.verb == "plan" and options.filename is not None and options.target is not None:
        program.error("the manifest names TARGET: leave it out, or leave -f out")
    if options.verb == "set":
        if options.wait and not options.confirm:
            program.error("--wait needs --confirm: without it nothing is written that could be waited for")
        if options.timeout is not None and not options.wait:
            program.error("--timeout is for --wait")
    return options
