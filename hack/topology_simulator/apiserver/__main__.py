"""`python -m topology_simulator.apiserver`: the embedded API server as a process of its own.

Serves until SIGTERM or SIGINT, on loopback only. `--kubeconfig-out` is written when the port is open, so
a client that waits for that file can connect.
"""

import argparse
import asyncio
import pathlib
import signal
import sys

import yaml

from . import server


async def serve(arguments: argparse.Namespace) -> int:
    """Run until a signal; return the exit code."""
    api = server.ApiServer(history=arguments.history)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    url = await api.start()
    if arguments.kubeconfig_out:
        partial = arguments.kubeconfig_out.with_name(arguments.kubeconfig_out.name + ".partial")
        partial.write_text(yaml.safe_dump(api.kubeconfig()))
        partial.replace(arguments.kubeconfig_out)
    print(f"serving on {url}", flush=True)
    await stopped.wait()
    await api.stop()
    return 0


def main(argv: list[str] | None = None) -> int:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(prog="topology_simulator.apiserver", description="an embedded API server")
    parser.add_argument("--kubeconfig-out", type=pathlib.Path, help="where to write a kubeconfig")
    parser.add_argument("--history", type=int, default=4096, help="how many changes the log keeps")
    return asyncio.run(serve(parser.parse_args(argv)))


if __name__ == "__main__":
    sys.exit(main())
