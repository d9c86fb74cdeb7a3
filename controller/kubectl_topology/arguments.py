"""The command line of `kubectl-topology`: verbs, flags as kubectl spells them, and words that are understood.

Nothing heavy is imported here, so that `--help` and a usage error answer at once. Flags about the connection may stand
before the verb or after it; only the help of the program lists them. What is wrong with an argument is one line, in our
words, with where to read on: exit code 2. With --token no credential plugin runs.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import re
import shutil
import sys
import textwrap
import tomllib
import types
from typing import TYPE_CHECKING, Any, Final, NoReturn

from topology_api import vocabulary
from topology_api.vocabulary import EXTERNAL, Topology
from topology_controller import bindata, terminal
from topology_controller._version import __version__
from topology_controller.definitions import registry

from . import naming

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_ACCEPTABLE = [name.value for name in registry.ACCEPTABLE_CHECKS]
_SHORT = {
    "ha": Topology.HIGHLY_AVAILABLE, "sno": Topology.SINGLE_REPLICA, "tna": Topology.HIGHLY_AVAILABLE_ARBITER,
    "arbiter": Topology.HIGHLY_AVAILABLE_ARBITER, "tnf": Topology.DUAL_REPLICA, "single": Topology.SINGLE_REPLICA,
}  # fmt: skip
"""What people call topologies."""
FLEET_STATES = (
    "Done", "UnderWay", "NeedsAPerson", "Ready", "NotReady", "Silent", "NotForUs", "Unreachable", "Unreported",
)  # fmt: skip
"""What `fleet` counts; the first seven are `topology_deploy.fleet.meaning.State`."""
_WIDTH = 100  # of the help, in columns
_GROUPS = {
    "look": ("status", "plan", "wait", "audit", "graph", "fleet"),
    "change": ("set", "cancel", "accept"),
    "learn": ("explain", "options", "version", "help"),
}
REQUEST_TIMEOUT = 10.0
"""Seconds for one request, when --request-timeout is not given or 0."""
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|m|h)")
_OF_CLUSTER: Final = ("server", "certificate_authority", "tls_server_name")
_OF_USER: Final = ("token", "client_certificate", "client_key")


def target(text: str) -> str:
    """A legal request; what is none is refused with those that are, and the closest of them."""
    legal = [topology.value for topology in Topology]
    if text in legal:
        return text
    if text.lower() == EXTERNAL.lower():
        hosted = "a hosted control plane is created on the management cluster"
        raise argparse.ArgumentTypeError(f"{EXTERNAL} cannot be requested: {hosted}. Legal are {', '.join(legal)}")
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

    verbs: Mapping[str, argparse.ArgumentParser] = types.MappingProxyType({})
    """The parser of each verb; a verb has none."""

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
            what = f"unknown {'flag' if text.startswith('-') else 'word'} {text}"
            return f"{what}; did you mean {close}?" if close else what
        if missing := re.fullmatch(r"the following arguments are required: (.*)", message, re.DOTALL):
            return f"{missing[1]} is missing"
        if empty := re.fullmatch(r"argument (\S+): expected one argument", message):
            return f"{empty[1].rpartition('/')[2]} needs a value"
        return message.removeprefix("argument ")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            name = "/".join(action.option_strings) or action.metavar
            noun = "verb" if name == "VERB" else f"value for {name}:"
            close = [choice for choice in action.choices if noun != "verb" or choice not in _GROUPS["change"]]
            raise argparse.ArgumentError(None, str(_unknown(noun, value, "There are", action.choices, close)))

    def _flags(self) -> list[str]:
        """Every flag that may stand here, a verb's own ones too where the verb is not known any more."""
        return [name for known in (self, *self.verbs.values()) for name in flags(known)]


def flags(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Every flag of a parser, by each of its names."""
    return {name: action for action in parser._actions for name in action.option_strings}  # noqa: SLF001 - argparse has no other way to tell what it understands


def duration(text: str) -> float:
    """Seconds of 90m, 1h30m, 45s, 250ms, or a plain number of seconds."""
    if re.fullmatch("[0-9]{1,9}", text):
        return float(text)
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 90m, 1h30m or 45s")
    return math.fsum(float(number) * units[unit] for number, unit in parts)


def _plain(text: str) -> str:
    """The name of a user or a group, as it may stand in a header."""
    if text and text.isprintable() and text == text.strip():
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is no name")


_FURTHER: dict[str, dict[str, Any]] = {
    "TARGET": {"type": target},
    "[TARGET]": {"type": target},
    "--timeout D": {"type": duration},
    "--check NAME": {"type": check, "required": True},
    "--reason T": {"type": reason, "default": ""},
    "--name NAME": {"default": "topology"},
    "--list STATE": {"choices": FLEET_STATES},
    "--wave-label KEY": {"default": vocabulary.WAVE_LABEL},
    "--request-timeout D": {"type": duration, "default": REQUEST_TIMEOUT},
    "--as USER": {"dest": "as_user", "type": _plain},
    "--as-group GROUP": {"dest": "as_group", "type": _plain, "action": "append", "default": []},
    "--as-uid UID": {"type": _plain},
    "-n --namespace NS": {"default": "topology-fleet"},
    "--operator-namespace NS": {"default": vocabulary.DEFAULT_NAMESPACE},
    "--transitions-dir D": {"type": pathlib.Path},
}
"""What the words of a flag do not say themselves."""


class _Program(_Parser):
    """Its help has the verbs in groups, and the flags of the connection apart, since every verb takes them."""

    connection: argparse._ArgumentGroup
    listed: Sequence[argparse.Action] = ()
    """The verbs as the help lists them."""

    def format_help(self) -> str:
        """The help of the program."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        known = {verb.dest: verb for verb in self.listed}
        for title, names in _GROUPS.items():
            formatter.start_section(title)
            formatter.add_arguments([known[name] for name in names])
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def format_options(self) -> str:
        """The flags of the connection."""
        formatter = self._get_formatter()
        formatter.start_section("flags of the connection, before the verb or after it")
        formatter.add_arguments(self.connection._group_actions)  # noqa: SLF001 - argparse prints a group only with all others
        formatter.end_section()
        return formatter.format_help()


def parser() -> _Program:
    """The whole command line. Raises BindataMissingError when the installation is damaged."""
    # What each verb is for, its examples, and its words and flags (`terminal.add`), each with its help.
    table = tomllib.loads((bindata.root() / "commands" / "kubectl-topology.toml").read_text(encoding="utf-8"))
    connection, called = table["connection"], naming.caller().program
    listed = {"@TOPOLOGIES@": [*Topology], "@ACCEPTABLE@": _ACCEPTABLE, "@FLEET_STATES@": FLEET_STATES}
    more = f"flags of the connection, such as --context and --as: {called} options\n{table['exit-codes']}"

    def epilog(examples: Iterable[str]) -> str:
        return f"examples:\n{''.join(f'  {called} {example}' + chr(10) for example in examples)}\n{more}"

    program = _Program(
        prog=called,
        usage="%(prog)s VERB [TARGET] [flags]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=textwrap.fill(table["description"], min(_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns)),
        epilog=epilog(("status", "plan HighlyAvailable")),
    )
    program.add_argument("--version", action="version", version=f"{naming.PROGRAM} {__version__}")
    program.connection = program.add_argument_group("connection")
    for words, text in connection.items():
        _add(program.connection, words, text)
    program.set_defaults(must_gather=None, archive=None)
    added = program.add_subparsers(dest="verb", metavar="VERB", title="verbs", prog=program.prog, parser_class=_Parser)
    for name, item in table["verbs"].items():
        meaning, flags = item["meaning"], item.get("flags", {})
        verb = added.add_parser(name, help=meaning)
        if "examples" not in item:
            continue
        verb.description = textwrap.fill(f"{meaning[0].upper()}{meaning[1:]}.", _WIDTH)
        verb.epilog, verb.formatter_class = epilog(item["examples"]), argparse.RawDescriptionHelpFormatter
        group = verb.add_argument_group("connection")
        for words in (words for words in connection if words not in flags):
            # Either side of the verb: a default here, or a second list of groups, would replace what stands before it.
            options = {"dest": "as_group_after"} if words == "--as-group GROUP" else {}
            _add(group, words, argparse.SUPPRESS, default=argparse.SUPPRESS, **options)
        for words, own in flags.items():
            text = own or table["shared"][words]
            for mark, names in listed.items():
                text = text.replace(mark, ", ".join(names))
            _add(verb, words, text, **({"default": argparse.SUPPRESS} if words in connection else {}))
    added.choices["accept"].set_defaults(timeout=30.0)
    program.verbs, program.listed = added.choices, added._choices_actions  # noqa: SLF001 - where argparse keeps the help of each verb
    added.choices["help"].add_argument("about", nargs="?", choices=sorted(added.choices), metavar="VERB")
    return program


def _add(where: argparse._ActionsContainer, words: str, text: str, **options: Any) -> None:
    terminal.add(where, words, text, **{**_FURTHER.get(words, {}), **options})


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    """Parse, or end with exit code 2. The verb `help`, also of an empty command line, has its `text`."""
    program = parser()
    options = program.parse_args(words)
    if options.verb == "options":
        options.text = program.format_options()
        return options
    if options.verb in {None, "help"}:
        options.text = program.verbs.get(getattr(options, "about", None) or "", program).format_help()
        options.verb = "help"
        return options
    if not options.request_timeout:
        # kubectl means "no bound" by 0; here every request has one.
        options.request_timeout = REQUEST_TIMEOUT
    # A list on either side of the verb would replace the other one.
    options.as_group = [*options.as_group, *vars(options).pop("as_group_after", ())]
    if options.as_user is None and (options.as_group or options.as_uid is not None):
        program.error("--as-group and --as-uid are about the user of --as: name one")
    if (problem := _contradiction(options)) is not None:
        program.error(problem)
    return options


def _contradiction(options: argparse.Namespace) -> str | None:
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


def overriding(options: argparse.Namespace) -> Callable[[dict[str, Any], str], None] | None:
    """What puts flags in place of parts of a context; None without flags. It raises ConfigError for a missing entry."""
    replacing = ("cluster", "user", *_OF_CLUSTER, *_OF_USER)
    given = {name: value for name in replacing if (value := getattr(options, name)) is not None}
    for name in {"certificate_authority", "client_certificate", "client_key"} & given.keys():
        # An entry's relative file is looked for beside the kubeconfig, that of a flag in the working directory.
        given[name] = str(pathlib.Path(given[name]).expanduser().absolute())
    if not given:
        return None

    def override(content: dict[str, Any], context: str) -> None:
        parts = _entry(content, "context", context).setdefault("context", {})
        for part, names in (("cluster", _OF_CLUSTER), ("user", _OF_USER)):
            if part in given:
                parts[part] = given[part]
            changes = {name.replace("_", "-"): given[name] for name in names if name in given}
            if part in given or changes:
                entry = _entry(content, part, parts.get(part))
                entry[part] = _replaced(entry.get(part) or {}, changes)

    return override


def _entry(content: dict[str, Any], part: str, name: Any) -> dict[str, Any]:
    entries: list[dict[str, Any]] = content[f"{part}s"]
    for entry in entries:
        if entry.get("name") == name:
            return entry
    from topology_controller.kube import config  # noqa: PLC0415 - the flags themselves need no client

    there = ", ".join(str(entry.get("name")) for entry in entries) or "none"
    raise config.ConfigError("the kubeconfig", f"{part} {name!r} does not exist; {part}s there: {there}")


def _replaced(section: dict[str, Any], changes: dict[str, str]) -> dict[str, Any]:
    """A cluster or user with other values: of a user who has another credential nothing else is one."""
    if not changes.keys().isdisjoint({"token", "client-certificate"}):
        return changes
    return {name: value for name, value in section.items() if name.removesuffix("-data") not in changes} | changes
