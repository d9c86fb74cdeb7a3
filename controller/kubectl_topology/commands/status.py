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
    from .. import live, live_lines  # noqa: PLC0415 - most of what is imported here only --watch needs

    connection.interruption.text = "watch again with: oc topology status --watch"
    form = "text" if options.output == "wide" else options.output
    draws = form == "text" and live_lines.can_draw(sys.stdout, os.environ)
    following = live.Following(connection, transitions, options.operator_namespace, draws=draws)
    if draws:
        from .. import live_screen  # noqa: PLC0415 - only a terminal needs it

        await following.show(live_screen.screen(sys.stdout, whole=options.output == "wide"))
    lines = live_lines.Lines(sys.stdout, sys.stderr, form)
    await following.show(contextlib.nullcontext(lines.show))
