"""The command line of `kubectl-topology`: verbs, flags as kubectl spells them, and words that are understood.

Nothing heavy is imported here, so that `--help` and a usage error answer at once. Flags about the connection may stand
before the verb or after it. What is wrong with an argument is told by argparse: exit code 2.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import re
from typing import TYPE_CHECKING

from topology_api import vocabulary
from topology_api.vocabulary import EXTERNAL, Topology

from .._version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PROGRAM = "kubectl-topology"
DEFAULT_REQUEST_TIMEOUT = 10.0
"""Seconds for one request, when --request-timeout is not given or 0."""
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|m|h)")
_PLAIN = re.compile(r"[0-9]{1,9}\Z")
_EXIT_CODES = "exit codes: 0 done or possible, 1 error, 2 usage, 3 blocked, 4 unsupported, 5 timed out, 130 interrupted"


def duration(text: str) -> float:
    """Seconds of 90m, 1h30m, 45s, 250ms, or a plain number of seconds."""
    if _PLAIN.match(text):
        return float(text)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 90m, 1h30m or 45s")
    return math.fsum(float(number) * _UNITS[unit] for number, unit in parts)


def target(text: str) -> str:
    """A legal wish; what is none is refused with those that are, and the closest of them."""
    legal = [topology.value for topology in Topology]
    if text in legal:
        return text
    if text.lower() == EXTERNAL.lower():
        raise argparse.ArgumentTypeError(
            f"{EXTERNAL} is no wish: a hosted control plane is made on the management cluster. "
            f"Legal are {', '.join(legal)}"
        )
    closest = _closest(text, legal)
    meant = f"; did you mean {closest}?" if closest else "."
    raise argparse.ArgumentTypeError(f"unknown target {text!r}{meant} Legal are {', '.join(legal)}")


def _closest(text: str, words: Iterable[str]) -> str | None:
    import difflib  # noqa: PLC0415 - only a wrong word needs it

    by_lower = {word.lower(): word for word in words}
    found = difflib.get_close_matches(text.lower(), by_lower, n=1, cutoff=0.4)
    return by_lower[found[0]] if found else None


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    made = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Asks a cluster about its topology: what it is, what it could be, and how far a change has come. "
        "Nothing is written.",
        epilog=_EXIT_CODES,
    )
    made.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    _connection(made, default=True)
    verbs = made.add_subparsers(dest="verb", required=True, metavar="VERB")
    plan = _verb(
        verbs, "plan", "what could be asked for from here; with a target, everything that it takes. Nothing is written"
    )
    plan.add_argument(
        "target",
        nargs="?",
        type=target,
        metavar="TARGET",
        help=f"what {vocabulary.WISH} would be set to: {', '.join(topology.value for topology in Topology)}",
    )
    _output(plan)
    status = _verb(verbs, "status", "phase, progress, every check, who has followed, and what is left to do")
    _output(status)
    wait = _verb(verbs, "wait", "wait until the transition is completed; progress goes to standard error")
    wait.add_argument(
        "--timeout", type=duration, metavar="D", help="give up after that long, such as 90m; default: never"
    )
    graph = _verb(verbs, "graph", "the transitions that exist, where this cluster is, and what blocks the way on")
    graph.add_argument("-o", "--output", choices=("dot", "mermaid"), default="dot", help="default: %(default)s")
    return made


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    meaning: str,
) -> argparse.ArgumentParser:
    made = verbs.add_parser(name, help=meaning, description=meaning[0].upper() + meaning[1:] + ".", epilog=_EXIT_CODES)
    _connection(made, default=False)
    return made


def _output(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("-o", "--output", choices=("text", "json", "yaml"), default="text", help="default: %(default)s")


def _connection(made: argparse.ArgumentParser, *, default: bool) -> None:
    """Flags that may stand on either side of the verb: only those before it have a default to be overridden."""
    absent = argparse.SUPPRESS

    group = made.add_argument_group("connection")
    group.add_argument(
        "--kubeconfig", metavar="F", default=None if default else absent,
        help="default: KUBECONFIG, ~/.kube/config, the service account of this pod",
    )  # fmt: skip
    group.add_argument(
        "--context", metavar="NAME", default=None if default else absent, help="context of the kubeconfig"
    )
    group.add_argument(
        "--request-timeout", type=duration, metavar="D",
        default=DEFAULT_REQUEST_TIMEOUT if default else absent,
        help=f"how long one request may take; default: {DEFAULT_REQUEST_TIMEOUT:g}s",
    )  # fmt: skip
    group.add_argument(
        "--insecure-skip-tls-verify", action="store_true", default=False if default else absent,
        help="do not check the certificate of the API server",
    )  # fmt: skip
    group.add_argument(
        "--operator-namespace", metavar="NS", default=vocabulary.DEFAULT_NAMESPACE if default else absent,
        help=f"where the operator runs; default: {vocabulary.DEFAULT_NAMESPACE}",
    )  # fmt: skip
    group.add_argument(
        "--transitions-dir", type=pathlib.Path, metavar="D", default=None if default else absent,
        help="transition definitions, where the operator was given others than those that are built in",
    )  # fmt: skip


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    """Parse, or end with exit code 2 as argparse does."""
    found = parser().parse_args(words)
    if not found.request_timeout:
        # kubectl means "no bound" by 0; here every request has one.
        found.request_timeout = DEFAULT_REQUEST_TIMEOUT
    return found
