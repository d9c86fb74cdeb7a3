"""The image without a container engine, and what is known about what is in it.

`builder` performs the lines of the Dockerfile, each in a `sandbox`, and renews its base; `layer_rules` is what has to
hold of the files, `running` what has to hold when they run, `check` all of it (`make image-check`). `locks` has the
locked files, licences and known vulnerabilities (`make audit`), `bom` what is in the layer (`make sbom`).
"""

import subprocess
from typing import Any


class ImageError(Exception):
    """What was wanted was not done; the message says why, `code` is the exit code of the program."""

    code = 1


def ran(command: list[str], seconds: float, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, without input, whatever it ends with. Raises OSError, TimeoutExpired."""
    return subprocess.run(  # noqa: S603 - words of our own, or of the Dockerfile
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=seconds, **more
    )
