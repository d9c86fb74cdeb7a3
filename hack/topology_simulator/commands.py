"""Does what an `oc` command says that the operator has printed, without oc: the demo runs on a machine that has none.

What is understood is what the operator's advisories and messages use: `patch --type merge`, `delete` by name or by
label, `annotate` and `label`, joined with `&&`. Anything else (a shell's substitution, `oc debug`) is refused: a
command that is done by halves would prove nothing.
"""

import argparse
import json
import re
import shlex

from . import client, kinds

_IN_A_MESSAGE = re.compile(r"""\boc (?:'[^']*'|"[^"]*"|(?!\.\s)[^'"])*""")
_NOTES = {"annotate": "annotations", "label": "labels"}
_PARSER = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
for _names in (("-n", "--namespace"), ("--type",), ("-p", "--patch"), ("-l", "--selector"), ("--subresource",)):
    _PARSER.add_argument(*_names, default="")
_PARSER.add_argument("--overwrite", action="store_true")
_PARSER.add_argument("words", nargs="*")


class CommandError(Exception):
    """A command that cannot be done here; the message says why."""


def within(message: str) -> str:
    """Return the first command that a message has, up to the end of its sentence; empty when there is none."""
    match = _IN_A_MESSAGE.search(message)
    return match.group().strip().removesuffix(".") if match else ""


async def run(api: client.Client, text: str) -> None:
    """Do every command of a line, in order. Raises CommandError, ClientError."""
    if "$(" in text or "`" in text:
        raise CommandError(f"{text}: needs a shell")
    try:
        words = shlex.split(text)
        for command in " ".join(map(shlex.quote, words)).split(" '&&' "):
            program, *rest = shlex.split(command) or [""]
            if program not in ("oc", "kubectl"):
                raise CommandError(f"{text}: only oc commands are understood here")
            await _run(api, rest)
    except (ValueError, LookupError, argparse.ArgumentError) as error:
        raise CommandError(f"{text}: {error}") from error


async def _run(api: client.Client, given: list[str]) -> None:
    """Do one command. Raises ValueError, LookupError for what is not understood."""
    flags, unknown = _PARSER.parse_known_intermixed_args(given)
    given_words: list[str] = flags.words
    verb, what, *words = [*given_words, "", ""]
    if unknown or verb not in ("patch", "delete", *_NOTES):
        raise ValueError("is not understood here")
    name, _, word = what.partition("/")
    kind = kinds.named(name)
    pairs = [each for each in words if each]
    name = word or ("" if flags.selector or not pairs else pairs.pop(0))
    if not name and not flags.selector:
        raise ValueError("names no object")
    if verb == "delete":
        key, _, value = flags.selector.partition("=")
        listed = [] if name else await api.list(kind, flags.namespace)
        marked = [obj for obj in listed if (obj["metadata"].get("labels") or {}).get(key) == value]
        for each in [name] if name else [obj["metadata"]["name"] for obj in marked]:
            await api.delete(kind, each, flags.namespace)
        return
    if verb == "patch":
        if flags.type != "merge":
            raise ValueError("only --type merge is understood here")
        try:
            change = json.loads(flags.patch)
        except ValueError as error:
            raise ValueError(f"the patch is no JSON: {error}") from error
    elif not pairs or not all("=" in pair for pair in pairs):
        raise ValueError("wants key=value")
    else:
        change = {"metadata": {_NOTES[verb]: dict(pair.split("=", 1) for pair in pairs)}}
    await api.patch(kind, name, change, flags.namespace, flags.subresource)
