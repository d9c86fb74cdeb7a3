"""Where the files are: in `bindata/` beside the source folders in a checkout, inside the package in the wheel.

 The image has what the operator reads: transitions, operands, the page, the flags of run. Nothing else knows which of
them it runs from.
"""

from __future__ import annotations

import pathlib


class BindataMissingError(Exception):
    """Neither place holds the files: the installation is damaged."""


def root() -> pathlib.Path:
    """Return the folder that holds transitions/, operands/ and the rest. Raises BindataMissingError."""
    package = pathlib.Path(__file__).resolve().parent
    places = (package / "bindata", package.parent.parent / "bindata")
    for place in places:
        if (place / "transitions").is_dir():
            return place
    raise BindataMissingError("no bindata/transitions in " + " or ".join(str(place) for place in places))
