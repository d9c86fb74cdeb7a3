"""Where the files are: the definition of the API, transitions, operands, manifests.

In a checkout they stand in `bindata/` beside the source folders; the wheel carries the same folder inside the package,
and the image of it what the operator reads: transitions, operands, the page, the flags of run.
Nothing else in the operator knows which of the two it runs from.
"""

from __future__ import annotations

import pathlib


class BindataMissingError(Exception):
    """Neither place holds the files: the installation is damaged."""


def root() -> pathlib.Path:
    """Return the folder that holds transitions/, operands/ and, where there are tools, what these print.

    Raises BindataMissingError when there is none.
    """
    package = pathlib.Path(__file__).resolve().parent
    places = (package / "bindata", package.parent.parent / "bindata")
    for place in places:
        if (place / "transitions").is_dir():
            return place
    raise BindataMissingError("no bindata/transitions in " + " or ".join(str(place) for place in places))
