"""`kubectl-topology`: from the command line to an exit code, and one line for whatever goes wrong.

The line of flow is short: arguments, a connection, facts that are read live, an answer, text or JSON. What is heavy is
imported by the command that needs it, after the arguments were understood. Exit codes: 0 done or possible, 1 error,
2 usage, 3 blocked, 4 unsupported, 5 timed out, 130 interrupted (Ctrl-C and SIGTERM alike).
"""

# ruff: noqa: PLC0415 - imported once the arguments are understood, so that a mistake in them is told at once

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, TextIO

from . import arguments, errors

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from ..transitions import load
    from . import connection

FAILED, USAGE, INTERRUPTED = 1, 2, 130
_BROKEN_PIPE = 141
"""What a shell says of a program that was ended by SIGPIPE: the reader has gone."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _run(words)
    except (KeyboardInterrupt, asyncio.CancelledError):
        _complain("interrupted; nothing was written. The same command goes on from where the cluster is")
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


def _run(words: Sequence[str] | None) -> int:
    options = arguments.parse(words)
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
        code = asyncio.run(_verb(options, transitions))
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


async def _verb(options: argparse.Namespace, transitions: load.Transitions) -> int:
    from . import connection

    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    if task is not None:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
    access = connection.Access(
        options.kubeconfig, options.context, options.request_timeout, options.insecure_skip_tls_verify
    )
    async with connection.opened(access) as made:
        verbs = {"plan": _plan, "status": _status, "wait": _wait, "graph": _graph}
        return await verbs[options.verb](made, options, transitions)


async def _plan(made: connection.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    from . import paper, plan, printing, reading

    sheet = paper.Paper.of(sys.stdout)
    if options.target is None:
        seen = await reading.overview(made, transitions, options.operator_namespace)
        ways, verdict = plan.overview(seen, transitions)
        printing.overview(sheet, ways)
        _print(options.output, ways, sheet)
    else:
        seen = await reading.everything(made, transitions, options.operator_namespace)
        found, verdict = plan.target(seen, transitions, options.target)
        printing.plan(sheet, found)
        _print(options.output, found, sheet)
    return verdict.exit_code


async def _status(made: connection.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    from . import paper, printing, reading, status

    seen = await reading.present(made, transitions, options.operator_namespace)
    found = status.status(seen, transitions)
    sheet = paper.Paper.of(sys.stdout)
    printing.status(sheet, found)
    _print(options.output, found, sheet)
    return 0


async def _wait(made: connection.Connection, options: argparse.Namespace, _: load.Transitions) -> int:
    from . import judging, paper, wait

    gc.freeze()
    gc.enable()

    def tell(text: str) -> None:
        sys.stderr.write(f"{paper.plain(text)}\n")
        sys.stderr.flush()

    found = await wait.wait(made, options.timeout, tell)
    if found.code == judging.DONE:
        sys.stdout.write(f"{paper.plain(found.said)}\n")
        return judging.DONE
    _complain(paper.plain(found.said))
    return judging.FAILED if found.code is None else found.code


async def _graph(made: connection.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    from ..decide import records
    from . import graph, judging, reading

    seen = await reading.overview(made, transitions, options.operator_namespace)
    here = records.pair(seen.infrastructure)
    ways, _ = judging.ways(seen.known, transitions, seen.now)
    draw = graph.mermaid if options.output == "mermaid" else graph.dot
    sys.stdout.write(draw(graph.edges(transitions, here, ways), here))
    return judging.DONE


def _print(form: str, found: Mapping[str, Any], sheet: Any) -> None:
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
