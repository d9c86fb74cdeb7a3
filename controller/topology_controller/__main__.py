"""`python -m topology_controller`: the same as the installed `cluster-topology-operator`."""

import sys

from topology_controller import cli

if __name__ == "__main__":
    sys.exit(cli.main())
