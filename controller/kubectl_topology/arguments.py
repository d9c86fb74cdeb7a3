"""The command line of `kubectl-topology`: verbs, flags as kubectl spells them, and words that are understood.

Nothing heavy is imported here, so that `--help` and a usage error answer at once. Flags about the connection may stand
before the verb or after it; only the help of the program lists them. What is wrong with an argument is one line, in our
words, with where to read on: exit code 2.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import re
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from topology_api import vocabulary
from topology_api.vocabulary import EXTERNAL, Topology
from topology_controller import terminal
from topology_controller._version import __version__
from topology_controller.definitions import registry

from . import kubeconfig, naming

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    _Verbs: TypeAlias = "argparse._SubParsersAction[_Parser]"  # noqa: SLF001 - its public name is what add_subparsers returns

DEFAULT_REQUEST_TIMEOUT = 10.0
"""Seconds for one request, when --request-timeout is not given or 0."""
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|m|h)")
_PLAIN = re.compile(r"[0-9]{1,9}\Z")
_ACCEPTABLE = [name.value for name in registry.ACCEPTABLE_CHECKS]
_SURVEYS = "topology-fleet"
_DEFAULTS: dict[str, Any] = {
    "kubeconfig": None, "context": None, "request_timeout": DEFAULT_REQUEST_TIMEOUT, "insecure_skip_tls_verify": False,
    "as_user": None, "as_group": [], "as_uid": None, "operator_namespace": vocabulary.DEFAULT_NAMESPACE,
    "transitions_dir": None, "namespace": _SURVEYS, "must_gather": None, "archive": None,
    **dict.fromkeys(kubeconfig.FLAGS),
}  # fmt: skip
_SHORT = {
    "ha": Topology.HIGHLY_AVAILABLE, "sno": Topology.SINGLE_REPLICA, "tna": Topology.HIGHLY_AVAILABLE_ARBITER,
    "arbiter": Topology.HIGHLY_AVAILABLE_ARBITER, "tnf": Topology.DUAL_REPLICA, "single": Topology.SINGLE_REPLICA,
}  # fmt: skip
"""What people call topologies."""
FLEET_STATES = (
    "Done", "UnderWay", "NeedsAPerson", "Ready", "NotReady", "Silent", "NotForUs", "Unreachable", "Unreported",
)  # fmt: skip
"""What `fleet` counts; the first seven are `topology_deploy.fleet.meaning.State`."""
_WIDTH = 100
"""Of the help, in columns."""
_CONNECTION = "connection"
_GROUPS = {
    "look": ("status", "plan", "wait", "audit", "graph", "fleet"),
    "change": ("set", "cancel", "accept"),
    "learn": ("explain", "options", "version", "help"),
}
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


def _unknown(
    noun: str, text: str, are: str, words: Iterable[str], proposed: Iterable[str] | None = None
) -> argparse.ArgumentTypeError:
    """Without `proposed` each of the words may be proposed."""
    names = list(words)
    close = (_SHORT.get(text.lower()) if noun == "target" else None) or closest(text, proposed or names)
    meant = f"; did you mean {close}?" if close else "."
    return argparse.ArgumentTypeError(f"unknown {noun} {text!r}{meant} {are} {', '.join(names)}")


def closest(text: str, words: Iterable[str], cutoff: float = 0.65) -> str | None:
    """The word that this one is a slip of; None when it is like none of them."""
    import difflib  # noqa: PLC0415 - only a wrong word needs it

    by_lower = {word.lower(): word for word in words}
    close = difflib.get_close_matches(text.lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[close[0]] if close else None


class _Parser(terminal.Parser):
    """Says what is wrong in one line of our words. As with kubectl a flag is written in full."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where to read on, and end with exit code 2."""
        program = naming.caller().program
        text = terminal.plain(self._in_our_words(message))
        sys.stderr.write(f"{program}: {text}{'' if text.endswith(('?', '.')) else '.'} See: {self.prog} --help\n")
        sys.exit(2)

    def _in_our_words(self, message: str) -> str:
        """What argparse says, as a person would: its sentences name `argument X`."""
        if unknown := re.fullmatch(r"unrecognized arguments: (.*)", message, re.DOTALL):
            text = unknown[1].split(" ", 1)[0]
            close = closest(text.partition("=")[0], self._flags(), 0.7) if text.startswith("--") else None
            return f"unknown {'flag' if text.startswith('-') else 'word'} {text}" + (
                f"; did you mean {close}?" if close else ""
            )
        if missing := re.fullmatch(r"the following arguments are required: (.*)", message, re.DOTALL):
            return f"{missing[1]} is missing"
        if empty := re.fullmatch(r"argument (\S+): expected one argument", message):
            return f"{empty[1].rpartition('/')[2]} needs a value"
        return message.removeprefix("argument ")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is none of the choices, with the closest of them."""
        if action.choices is not None and value not in action.choices:
            name = "/".join(action.option_strings) or action.metavar
            noun = "verb" if name == "VERB" else f"value for {name}:"
            close = [choice for choice in action.choices if noun != "verb" or choice not in _GROUPS["change"]]
            raise argparse.ArgumentError(None, str(_unknown(noun, value, "There are", action.choices, close)))

    def _flags(self) -> list[str]:
        """Every flag that may stand here, a verb's own ones too where the verb is not known any more."""
        parsers = [self, *_verbs(self).values()]
        return [name for known in parsers for action in known._actions for name in action.option_strings]  # noqa: SLF001 - as in `_verbs`


class _Program(_Parser):
    """Its help has the verbs in groups, and the flags of the connection apart, since every verb takes them."""

    def format_help(self) -> str:
        """The help of the program."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        known = {verb.dest: verb for verbs in _subparsers(self) for verb in verbs._choices_actions}  # noqa: SLF001 - as in `_subparsers`
        for title, names in _GROUPS.items():
            formatter.start_section(title)
            formatter.add_arguments([known[name] for name in names])
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def format_options(self) -> str:
        """The flags of the connection."""
        formatter = self._get_formatter()
        (group,) = (group for group in self._action_groups if group.title == _CONNECTION)
        formatter.start_section(f"flags of the {_CONNECTION}, before the verb or after it")
        formatter.add_arguments(group._group_actions)  # noqa: SLF001 - argparse prints a group only with all others
        formatter.end_section()
        return formatter.format_help()


def parser() -> _Program:
    """The whole command line."""
    program = _Program(
        prog=naming.caller().program,
        usage="%(prog)s VERB [TARGET] [flags]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=textwrap.fill(
            "Shows the topology of a cluster, what it could be, and how far a change has come; requests another one, "
            "or cancels the request. Only set --confirm, cancel and accept write anything.",
            min(_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns),
        ),
        epilog=_examples("status", "plan HighlyAvailable")
        + f"flags of the connection, such as --context and --as: {naming.caller().program} options\n{_EXIT_CODES}",
    )
    program.add_argument("--version", action="version", version=f"{naming.PROGRAM} {__version__}")
    _connection(program, groups="as_group")
    program.set_defaults(**_DEFAULTS)
    verbs = program.add_subparsers(dest="verb", metavar="VERB", title="verbs", prog=program.prog, parser_class=_Parser)
    for add in (_request, _progress, _description, _accept, _explain, _fleet):
        add(verbs)
    verbs.add_parser("options", help="the flags of the connection, which every verb takes")
    version = _verb(
        verbs, "version", "the versions of this program and of the operator, and whether they fit", "version",
        "version --client -o json",
    )  # fmt: skip
    version.add_argument("--client", action="store_true", help="only of this program; no cluster is contacted")
    _output(version)
    help_ = verbs.add_parser("help", help="this text, or that of a verb")
    help_.add_argument("about", nargs="?", choices=sorted(verbs.choices), metavar="VERB")
    return program


def _request(verbs: _Verbs) -> None:
    plan = _verb(
        verbs, "plan",
        "what can be requested from here; with a target, everything that it takes. Nothing is written",
        "plan HighlyAvailable --probe", "plan -f clusters/edge/infrastructure.yaml",
    )  # fmt: skip
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
    plan.add_argument(
        "--probe", action="store_true",
        help="with TARGET: also ask, from this computer and without credentials, where api, api-int and *.apps lead, "
        "and whether each control-plane node answers; 5 s at most",
    )  # fmt: skip
    _must_gather(plan)
    _output(plan, "wide")
    set_ = _verb(
        verbs, "set",
        "make the request for another topology; without --confirm nothing is written, and what would be is shown",
        "set HighlyAvailable", "set HighlyAvailable --confirm --wait --timeout 150m",
    )  # fmt: skip
    set_.add_argument("target", type=target, metavar="TARGET", help=f"what {vocabulary.DESIRED} is set to; see plan")
    set_.add_argument(
        "--confirm", action="store_true", help="write it, if nothing has changed since the checks were answered"
    )
    set_.add_argument(
        "--allow-pending", action="store_true",
        help="also when checks are not met or no operator runs: the operator waits for the checks. None can be skipped",
    )  # fmt: skip
    set_.add_argument(
        "--yes",
        action="store_true",
        help="on a terminal: do not prompt before the point of no return",
    )
    set_.add_argument("--wait", action="store_true", help="go on as the verb wait does; needs --confirm")
    set_.add_argument(
        "--timeout", type=duration, metavar="D", help="with --wait: give up after so long, such as 150m; default: never"
    )
    _output(set_, "wide")
    cancel = _verb(
        verbs, "cancel",
        "cancel the request, as long as the topology has not changed; refused when anything changed since it was read",
        "cancel", "cancel -o json",
    )  # fmt: skip
    _output(cancel)


def _progress(verbs: _Verbs) -> None:
    status = _verb(
        verbs, "status", "how far it is, what is missing, and what is left to do; all of it with -o wide",
        "status -o wide", "status --watch",
    )  # fmt: skip
    _output(status, "wide")
    status.add_argument(
        "-w", "--watch", action="store_true",
        help="stay, and show every change, until Ctrl-C: drawn on a terminal, line by line anywhere else",
    )  # fmt: skip
    _must_gather(status)
    wait = _verb(
        verbs, "wait", "wait until the transition is completed; progress goes to standard error",
        "wait", "wait HighlyAvailable --timeout 150m",
    )  # fmt: skip
    wait.add_argument("target", nargs="?", type=target, metavar="TARGET", help="fail unless this is what is requested")
    wait.add_argument(
        "--timeout", type=duration, metavar="D", help="give up after that long, such as 150m; default: never"
    )


def _description(verbs: _Verbs) -> None:
    graph = _verb(
        verbs, "graph", "the transitions that exist, where this cluster is, and what blocks the way on",
        "graph > topology.dot", "graph -o mermaid",
    )  # fmt: skip
    graph.add_argument("-o", "--output", choices=("dot", "mermaid"), default="dot", help="default: %(default)s")
    audit = _verb(
        verbs, "audit", "which kind of cluster this is, and where status, scheduler and nodes disagree",
        "audit -o json", "audit --capi",
    )  # fmt: skip
    audit.add_argument(
        "--capi", action="store_true",
        help="instead: who owns each Cluster API definition (*.cluster.x-k8s.io) of a management cluster, and known "
        "dead ends",
    )  # fmt: skip
    _must_gather(audit)
    _output(audit)


def _accept(verbs: _Verbs) -> None:
    accept = _verb(
        verbs, "accept",
        "accept that a check of a stuck transition will not be met, so that the transition completes without it; past "
        "the deadline, for workloads only, and final",
        "accept --check RouterReplicas --reason 'one router is enough here'", "accept --check ConsoleReplicas --yes",
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


def _explain(verbs: _Verbs) -> None:
    explain = _verb(
        verbs, "explain",
        "what a check, phase, reason, advisory, alert, event or metric means, what to look at and do, and what this "
        "cluster says of it; without a cluster, too",
        "explain RouterReplicas", "explain Stuck",
    )  # fmt: skip
    explain.add_argument("name", nargs="?", metavar="NAME", help="in any case; without it all names are listed")
    _must_gather(explain)
    _output(explain)


def _fleet(verbs: _Verbs) -> None:
    fleet = _verb(
        verbs, "fleet",
        "on the hub of a fleet: how many clusters are done, under way, ready, not ready and why, and which need a "
        "person",
        "fleet -o wide", "fleet --list Ready",
    )  # fmt: skip
    fleet.add_argument(
        "-n", "--namespace", default=argparse.SUPPRESS, metavar="NS", help=f"where the survey is; default: {_SURVEYS}"
    )
    fleet.add_argument(
        "--name", default="topology", metavar="NAME", help="name of the roll-out's objects; default: %(default)s"
    )
    fleet.add_argument(
        "--list", choices=FLEET_STATES, metavar="STATE",
        help=f"only the names of the clusters in this state, one a line: {', '.join(FLEET_STATES)}",
    )  # fmt: skip
    fleet.add_argument(
        "--wave-label", default=vocabulary.WAVE_LABEL, metavar="KEY",
        help="label of the roll-out's waves, for -o wide; default: %(default)s",
    )  # fmt: skip
    _output(fleet, "wide")


def _verb(verbs: _Verbs, name: str, meaning: str, *examples: str, connected: bool = True) -> argparse.ArgumentParser:
    more = (
        f"flags of the connection, such as --context and --as: {naming.caller().program} options\n" if connected else ""
    )
    verb = verbs.add_parser(
        name,
        help=meaning,
        description=textwrap.fill(f"{meaning[0].upper()}{meaning[1:]}.", _WIDTH),
        epilog=_examples(*examples) + more + _EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if connected:
        _connection(verb, groups="as_group_after", listed=False, namespace=name != "fleet")
    return verb


def _examples(*words: str) -> str:
    program = naming.caller().program
    lines = "".join(f"  {program} {example}\n" for example in words)
    return f"examples:\n{lines}\n" if lines else ""


def _output(verb: argparse.ArgumentParser, *more: str) -> None:
    forms = ("text", *more, "json", "yaml")
    verb.add_argument("-o", "--output", choices=forms, default="text", help="default: %(default)s")


def _must_gather(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--must-gather", metavar="PATH",
        help="judge what oc adm must-gather has collected (a folder, .tar or .tar.gz), not a cluster; what is not in "
        "it is Unknown",
    )  # fmt: skip


def _connection(either: argparse.ArgumentParser, groups: str, *, listed: bool = True, namespace: bool = True) -> None:
    """Flags that may stand on either side of the verb, so they have no default here that would replace the other.

    Only `options` lists them. Without `namespace` the verb has a flag of that name itself.
    """
    group = either.add_argument_group(_CONNECTION)

    def flag(*names: str, text: str, **options: Any) -> None:
        group.add_argument(*names, help=text if listed else argparse.SUPPRESS, default=argparse.SUPPRESS, **options)

    flag("--kubeconfig", text="default: KUBECONFIG, ~/.kube/config, the service account of this pod", metavar="F")
    flag("--context", text="context of the kubeconfig", metavar="NAME")
    for name, text in kubeconfig.FLAGS.items():
        short = ["-s"] if name == "server" else []
        flag(*short, f"--{name.replace('_', '-')}", text=f"instead of the context's: {text}", metavar="X")
    timeout = f"how long one request may take; default: {DEFAULT_REQUEST_TIMEOUT:g}s"
    flag("--request-timeout", text=timeout, type=duration, metavar="D")
    flag("--insecure-skip-tls-verify", text="do not check the certificate of the API server", action="store_true")
    as_user = "act as this user, which takes the right to impersonate"
    flag("--as", text=as_user, dest="as_user", type=_name, metavar="USER")
    as_group = "with --as: a group of that user; may be given more than once"
    flag("--as-group", text=as_group, dest=groups, action="append", type=_name, metavar="GROUP")
    flag("--as-uid", text="with --as: its uid", type=_name, metavar="UID")
    if namespace:
        flag("-n", "--namespace", text="accepted and ignored: the topology is the cluster's", metavar="NS")
    flag("--operator-namespace", text=f"where the operator runs; default: {vocabulary.DEFAULT_NAMESPACE}", metavar="NS")
    own = "transition definitions, where the operator was given others than those that are built in"
    flag("--transitions-dir", text=own, type=pathlib.Path, metavar="D")


def _subparsers(program: argparse.ArgumentParser) -> list[_Verbs]:
    kind = argparse._SubParsersAction  # noqa: SLF001 - its public name is what add_subparsers returns
    return [action for action in program._actions if isinstance(action, kind)]  # noqa: SLF001 - argparse has no other way to tell what it understands


def _verbs(program: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parser of each verb."""
    return {name: verb for verbs in _subparsers(program) for name, verb in verbs.choices.items()}


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    """Parse, or end with exit code 2. The verb `help`, also of an empty command line, has its `text`."""
    program = parser()
    options = program.parse_args(words)
    if options.verb is None:
        options.verb, options.about = "help", None
    if options.verb == "options":
        options.text = program.format_options()
        return options
    if options.verb == "help":
        options.text = program.format_help()
        if options.about is not None:
            options.text = _verbs(program)[options.about].format_help()
        return options
    if not options.request_timeout:
        # kubectl means "no bound" by 0; here every request has one.
        options.request_timeout = DEFAULT_REQUEST_TIMEOUT
    # A list on either side of the verb would replace the other one.
    options.as_group = [*options.as_group, *vars(options).pop("as_group_after", ())]
    if options.as_user is None and (options.as_group or options.as_uid is not None):
        program.error("--as-group and --as-uid are about the user of --as: name one")
    if (problem := _contradiction(options)) is not None:
        program.error(problem)
    return options


def _contradiction(options: argparse.Namespace) -> str | None:
    """What of the words of a verb does not fit together, in a sentence."""
    live = [f"--{flag}" for flag in ("probe", "watch", "capi") if getattr(options, flag, False)]
    if live and options.must_gather is not None:
        return f"{live[0]} needs the cluster itself: leave it out, or leave --must-gather out"
    if (options.client_certificate is None) is not (options.client_key is None):
        return "--client-certificate and --client-key go together: give both"
    if options.verb == "plan":
        if options.probe and (options.target is None or options.filename is not None):
            return "--probe needs TARGET on the command line, and no -f"
        if options.filename is not None and options.target is not None:
            return "the manifest names TARGET: leave it out, or leave -f out"
    if options.verb == "set":
        if options.wait and not options.confirm:
            return "--wait needs --confirm; without it nothing is written that could be waited for"
        if options.timeout is not None and not options.wait:
            return "--timeout is for --wait"
    return None
