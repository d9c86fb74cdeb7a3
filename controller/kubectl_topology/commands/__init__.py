"""The verbs, one module each: `run` takes the open connection, the command line and the definitions; returns the code.

What a verb answers is made by a function of the snapshot that `cluster` reads, so it is tested without a cluster.
`show` prints it, as text or as data. `main` imports the module of the verb that is asked for, and no other.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from .. import document, naming

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def show(options: argparse.Namespace, answer: Any, write: Callable[[document.Document, Any], None]) -> None:
    """Print an answer in the form that is asked for; `write` makes text of it."""
    if options.output == "json":
        sys.stdout.write(json.dumps(naming.caller().answered(answer), indent=2) + "\n")
    elif options.output == "yaml":
        import yaml  # noqa: PLC0415 - other forms do not need it

        sys.stdout.write(yaml.safe_dump(naming.caller().answered(answer), sort_keys=False, width=120))
    else:
        sheet = document.Document.for_stream(sys.stdout)
        sheet.whole = options.output == "wide"
        write(sheet, answer)
        sys.stdout.write(sheet.text())
