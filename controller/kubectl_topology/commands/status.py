"""`status`: prints what `recorded` answers, once or at every change."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from .. import cluster, errors, progress, recorded
from . import show

if TYPE_CHECKING:
    import argparse

    from topology_controller.definitions import load


async def run(connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions) -> int:
    """Print how it stands; with --watch at every change, until it is interrupted."""
    if options.watch:
        await _follow(connection, options, transitions)
    snapshot = await cluster.present(connection, transitions, options.operator_namespace)
    show(options, recorded.status(snapshot, transitions), progress.add_status)
    return errors.ExitCode.DONE


async def _follow(
    connection: cluster.Connection, options: argparse.Namespace, transitions: load.Transitions
) -> NoReturn:
    from .. import display, live  # noqa: PLC0415 - only --watch needs what is imported here

    connection.interruption.text = "watch again with: oc topology status --watch"
    form = "text" if options.output == "wide" else options.output
    draws = form == "text" and display.can_draw(sys.stdout, os.environ)
    following = live.Following(connection, transitions, options.operator_namespace, draws=draws)
    if draws:
        await following.show(display.screen(sys.stdout, whole=options.output == "wide"))
    await following.show(contextlib.nullcontext(display.Lines(sys.stdout, sys.stderr, form).show))
