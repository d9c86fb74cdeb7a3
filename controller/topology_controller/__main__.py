"""`python -m topology_controller`: the program of the image, which has the operator alone."""

from __future__ import annotations

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
