"""`python -m topology_deploy`: the same as the installed `cluster-topology-operator`."""

from __future__ import annotations

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
