"""`kubectl-topology`: from the command line to an exit code, and one line for whatever goes wrong.

The line of flow is short: arguments, a connection, facts that are read live, an answer, text or JSON. What is heavy is
imported by the command that needs it, after the arguments were understood. Exit codes: 0 done or possible, 1 error,
2 usage, 3 blocked, 4 unsupported, 5 timed out, 130 interrupted (Ctrl-C and SIGTERM alike).
"""

# ruff: noqa: PLC0415 - imported once the arguments are understood, so that a mistake in them is told at once

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from . import arguments, errors, interruption

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from ..transitions import load
    from . import connection

FAILED, USAGE, INTERRUPTED = 1, 2, 130
_JUDGING = frozenset({"plan", "set", "graph", "status"})
"""Verbs that say what the operator would say: they ask as it is configured to ask."""
_BROKEN_PIPE = 141
"""What a shell says of a program that was ended by SIGPIPE: the reader has gone."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    left = interruption.Interruption()
    try:
        return _run(words, left)
    except (KeyboardInterrupt, asyncio.CancelledError):
        if sys.stderr.isatty():
            # The terminal has written ^C where the cursor was.
            sys.stderr.write("\n")
        _complain(f"interrupted; {left.said}")
        return INTERRUPTED
    except errors.PluginError as error:
        _complain(error)
        return FAILED
    except BrokenPipeError:
        # Whatever is still buffered has no reader; the interpreter would complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(words: Sequence[str] | None, left: interruption.Interruption) -> int:
    options = arguments.parse(words)
    left.begin(options.verb)
    for stream in (sys.stdout, sys.stderr):
        _never_fail_to_print(stream)
    import logging

    # Whatever the rooms below have to say is a fact by now, or an error.
    logging.getLogger().addHandler(logging.NullHandler())
    # What is imported stays for good, and most verbs end at once: looking for garbage only costs time. `wait` lasts.
    gc.disable()
    try:
        transitions = _transitions(options)
        if transitions is None:
            return USAGE
        if wrong := _manifests(options):
            return wrong
        code = asyncio.run(_verb(options, transitions, left))
    finally:
        gc.enable()
    sys.stdout.flush()
    return code


def _never_fail_to_print(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _transitions(options: argparse.Namespace) -> load.Transitions | None:
    """The definitions; None when those that were given are no good, which was said then."""
    from .. import bindata
    from ..transitions import load

    try:
        return load.load(options.transitions_dir or bindata.root() / "transitions")
    except load.DefinitionError as error:
        for line in str(error).splitlines():
            _complain(line)
        return None
    except bindata.BindataMissingError as error:
        raise errors.PluginError(str(error)) from error


def _manifests(options: argparse.Namespace) -> int:
    """Put what --manifests asks for in the place of the folder; or say why not, and return the exit code for that."""
    folder = getattr(options, "manifests", None)
    if folder is None:
        return 0
    from . import manifest

    if str(folder) != manifest.STANDARD_INPUT and not folder.exists():
        _complain(f"--manifests: {folder} does not exist")
        return USAGE
    try:
        options.manifests = manifest.wanted(folder)
    except manifest.ManifestError as error:
        for line in str(error).splitlines():
            _complain(line)
        return FAILED
    return 0


async def _verb(options: argparse.Namespace, transitions: load.Transitions, left: interruption.Interruption) -> int:
    from . import connection

    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    if task is not None:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
    access = connection.Access(
        options.kubeconfig,
        options.context,
        options.request_timeout,
        options.insecure_skip_tls_verify,
        connection.Acting.of(options.as_user, options.as_group, options.as_uid),
    )
    async with connection.opened(access, left) as made:
        verbs = {
            "plan": _plan,
            "set": _set,
            "cancel": _cancel,
            "status": _status,
            "wait": _wait,
            "graph": _graph,
            "audit": _audit,
            "accept": _accept,
        }
        if options.verb in _JUDGING:
            from . import configured

            # What keeps everything from being asked is told alone, in one line.
            await connection.infrastructure(made)
            transitions = await configured.transitions(made, options.operator_namespace, transitions, _complain)
        return await verbs[options.verb](made, options, transitions)


async def _plan(made: connection.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    from . import document, plan, printing, reading

    sheet = document.Document.of(sys.stdout)
    if options.target is None and options.manifests is None:
        seen = await reading.overview(made, transitions, options.operator_namespace)
        ways, verdict = plan.overview(seen, transitions)
        printing.overview(sheet, ways)
        _print(options, ways, sheet)
    else:
        seen = await reading.everything(made, transitions, options.operator_namespace)
        found, verdict = (
            plan.target(seen, transitions, options.target)
            if options.manifests is None
            else plan.manifest(seen, transitions, options.manifests)
        )
        printing.plan(sheet, found)
        _print(options, found, sheet)
    return verdict.exit_code


async def _set(made: connection.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    from . import document, judging, printing, setting

    asked = setting.Asked(options.target, options.confirm, options.allow_pending)
    found, code = await setting.wish(made, transitions, options.operator_namespace, asked, ask_back=not options.wait)
    sheet = document.Document.of(sys.stdout)
    printing.wish(sheet, found)
    _print(options, found, sheet)
    # Without a wish there is nothing to wait for: the cluster is what was asked for.
    if not options.wait or code != judging.DONE or (found["result"] == "Unchanged" and found["wish"] is None):
        return code
    sys.stdout.flush()
    return await _waited(made, options.timeout, sys.stdout if options.output == "text" else sys.stderr)


async def _cancel(made: connection.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    from . import cancelling, document, printing

    found, code = await cancelling.cancel(made, transitions, options.operator_namespace)
    sheet = document.Document.of(sys.stdout)
    printing.cancel(sheet, found)
    _print(options, found, sheet)
    return code


async def _status(made: connection.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    from . import document, printing, reading, status

    if options.watch:
        await _follow(made, options, transitions)
    seen = await reading.present(made, transitions, options.operator_namespace)
    found = status.status(seen, transitions)
    sheet = document.Document.of(sys.stdout)
    printing.status(sheet, found)
    _print(options, found, sheet)
    return 0


async def _follow(made: connection.Connection, options: argparse.Namespace, transitions: load.Transitions) -> NoReturn:
    from . import live, live_lines

    gc.freeze()
    gc.enable()
    made.interruption.now("nothing was written. Watch on with: oc topology status --watch")
    draws = options.output == "text" and live_lines.can_draw(sys.stdout, os.environ)
    following = live.Following(made, transitions, options.operator_namespace, draws=draws)
    if draws:
        from . import live_screen

        await following.show(live_screen.taken(sys.stdout))
    lines = live_lines.Lines(sys.stdout, sys.stderr, options.output)
    await following.show(contextlib.nullcontext(lines.show))


async def _wait(made: connection.Connection, options: argparse.Namespace, _: load.Transitions) -> int:
    return await _waited(made, options.timeout, sys.stdout)


async def _accept(made: connection.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    from . import accepting, asking, document, judging, printing

    async def consent(found: accepting.Offer) -> accepting.Ended | None:
        sheet = document.Document.of(sys.stderr)
        printing.offer(sheet, found)
        sys.stderr.write(sheet.text())
        sys.stderr.flush()
        if options.yes:
            return None
        if not sys.stdin.isatty():
            return accepting.Ended("there is no terminal to ask at: --yes accepts without being asked", USAGE)
        typed = await asking.line(f"\nType {options.check} to accept that: ", sys.stdin, sys.stderr)
        if typed.strip() == options.check:
            return None
        return accepting.Ended("not accepted; nothing was written", FAILED)

    asked = accepting.Asked(options.check, options.reason, options.timeout)
    found = await accepting.accept(made, transitions, options.operator_namespace, asked, consent)
    if found.code == judging.DONE:
        sys.stdout.write(f"{document.plain(found.said)}\n")
    else:
        _complain(document.plain(found.said))
    return found.code


async def _waited(made: connection.Connection, seconds: float | None, out: TextIO) -> int:
    from . import document, judging, wait

    gc.freeze()
    gc.enable()

    def tell(text: str) -> None:
        sys.stderr.write(f"{document.plain(text)}\n")
        sys.stderr.flush()

    found = await wait.wait(made, seconds, tell)
    if found.code == judging.DONE:
        out.write(f"{document.plain(found.said)}\n")
        return judging.DONE
    _complain(document.plain(found.said))
    return judging.FAILED if found.code is None else found.code


async def _graph(made: connection.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    from ..decide import records
    from . import graph, judging, reading, svg

    seen = await reading.overview(made, transitions, options.operator_namespace)
    here = records.pair(seen.infrastructure)
    ways, none = judging.ways(seen.known, transitions, seen.now)
    edges = graph.edges(transitions, here, ways)
    if options.output == "svg":
        sys.stdout.write(svg.svg(edges, here, graph.caption(seen.infrastructure, none)))
    else:
        draw = graph.mermaid if options.output == "mermaid" else graph.dot
        sys.stdout.write(draw(edges, here))
    return judging.DONE


async def _audit(made: connection.Connection, options: argparse.Namespace, _: load.Transitions) -> int:
    from . import audit, document, printing, reading

    seen = await reading.census(made, options.operator_namespace)
    found, code = audit.audit(seen)
    sheet = document.Document.of(sys.stdout)
    printing.audit(sheet, found)
    _print(options, found, sheet)
    return code


def _print(options: argparse.Namespace, found: Mapping[str, Any], sheet: Any) -> None:
    form = options.output
    if form == "json":
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    elif form == "yaml":
        import yaml

        sys.stdout.write(yaml.safe_dump(found, sort_keys=False, width=120))
    else:
        sys.stdout.write(sheet.text())


def _complain(text: object) -> None:
    from ..kube import logged

    sys.stderr.write(f"{arguments.PROGRAM}: {logged.redacted(str(text))}\n")
