"""`kubectl-topology`: from the command line to an exit code, and one line for whatever goes wrong.

Arguments, definitions and a manifest are read before a cluster is asked, and the verb's module is imported after them,
so that a mistake is reported at once. SIGTERM interrupts like Ctrl-C.
"""

# ruff: noqa: PLC0415 - imported once the arguments are understood, so that a mistake in them is reported at once

from __future__ import annotations

import asyncio
import importlib
import os
import pathlib
import signal
import sys
from typing import TYPE_CHECKING

from topology_controller import bindata

from . import arguments, errors

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from topology_controller.definitions import load

_JUDGING = frozenset({"plan", "set", "graph", "status"})
"""Verbs that say what the operator would say: they ask as it is configured to ask."""
_ALSO_ALONE = frozenset({"explain", "version"})
"""Verbs that have something to print where no cluster can be read."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - closed with `>&-`
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    interrupted = errors.Interruption()
    try:
        return _run(words, interrupted)
    except (KeyboardInterrupt, asyncio.CancelledError):
        # A terminal has written ^C where the cursor was.
        sys.stderr.write("\n" * sys.stderr.isatty())
        errors.complain("; ".join(filter(None, ("interrupted", interrupted.text))))
        return errors.ExitCode.INTERRUPTED
    except errors.InputError as error:
        for problem in error.problems:
            errors.complain(problem)
        return error.code
    except OSError as error:
        # The interpreter would complain about what is still buffered. A shell has 141 for what was ended by SIGPIPE.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 141
        unwritten = f"the output cannot be written: {error.strerror or error}"
        errors.complain("; ".join(filter(None, (unwritten, interrupted.text))))
        return errors.ExitCode.FAILED
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(words: Sequence[str] | None, interrupted: errors.Interruption) -> int:
    try:
        options = arguments.parse(words)
    except (bindata.BindataMissingError, OSError) as error:
        raise errors.PluginError(str(error)) from error
    if options.verb in {"help", "options"}:
        sys.stdout.write(options.text)
        sys.stdout.flush()
        return errors.ExitCode.DONE
    interrupted.text = errors.BEGINNING.get(options.verb, "")
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
    import logging

    # What the packages below would log is a fact or an error by now.
    logging.getLogger().addHandler(logging.NullHandler())
    command = importlib.import_module(f".commands.{options.verb}", __package__) if options.verb in _ALSO_ALONE else None
    if command is not None and not command.concerns_a_cluster(options):
        code = int(command.alone(options))
    else:
        try:
            code = asyncio.run(_verb(options, _given(options), interrupted))
        except errors.PluginError as error:
            if command is None:
                raise
            code = int(command.alone(options, unread=str(error)))
    sys.stdout.flush()
    return code


def _given(options: argparse.Namespace) -> load.Transitions:
    """Read the definitions, and the manifest if one is given. Raises InputError."""
    from topology_controller.definitions import load

    try:
        transitions = load.load(options.transitions_dir or bindata.root() / "transitions")
    except load.DefinitionError as error:
        raise errors.InputError(str(error).splitlines(), errors.ExitCode.USAGE) from error
    if (filename := getattr(options, "filename", None)) is not None:
        from . import manifest

        if filename != manifest.STANDARD_INPUT and not pathlib.Path(filename).exists():
            raise errors.InputError([f"-f: {filename} does not exist"], errors.ExitCode.USAGE)
        options.manifest = manifest.read(filename)
    if options.must_gather is not None:
        from . import must_gather

        options.archive = must_gather.read(options.must_gather, transitions, options.operator_namespace)
        collected = f"{options.archive.time:%Y-%m-%dT%H:%M:%SZ} in {options.must_gather}"
        errors.complain(f"judged by what was collected at {collected}; no cluster is contacted")
    return transitions


async def _verb(options: argparse.Namespace, transitions: load.Transitions, interrupted: errors.Interruption) -> int:
    from . import cluster

    if (task := asyncio.current_task()) is not None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    async with cluster.opened(options, interrupted) as connection:
        if options.verb in _JUDGING:
            # What keeps everything from being asked is reported alone, in one line.
            connection.first = await cluster.infrastructure(connection)
            transitions = await cluster.configured(connection, transitions)
        name = ".live" if getattr(options, "watch", False) else f".commands.{options.verb}"
        code: int = await importlib.import_module(name, __package__).run(connection, options, transitions)
        for older in options.archive.older.values() if options.archive is not None else ():
            errors.complain(older)
        return code
