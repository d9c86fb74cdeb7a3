"""`python -m topology_simulator`: demo, cluster, drill, scenarios. Argument parsing and wiring only.

    demo      [--scenario S] [--pace P] [--apiserver A] [--etcd E]                        play it and prove its end
    cluster   [--scenario S] [--pace P] [--apiserver A] [--etcd E] [--no-operator] [--folder D]             it, kept
    drill     [ALERT] [--apiserver A]                           an alert fires until you end it; without ALERT: which
    scenarios                                                   what there is

A scenario is a name or a file *.yaml. Exit codes: 0 done, 1 failed, 2 bad usage, 130 interrupted.
"""

import argparse
import pathlib
import sys

from . import SimulatorError, box, demo, drill, pace, scenario


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="topology_simulator", description="a cluster in a box")
    commands = parser.add_subparsers(dest="command", required=True)
    plays = argparse.ArgumentParser(add_help=False)
    plays.add_argument("--scenario", default="happy-path", help="a name (see scenarios) or a file *.yaml")
    paced = argparse.ArgumentParser(add_help=False)
    paced.add_argument("--pace", choices=sorted(pace.PACES), default="demo", help="how fast the cluster lives")
    served = argparse.ArgumentParser(add_help=False)
    served.add_argument(
        "--apiserver", choices=box.API_SERVERS, default="embedded",
        help="ours, in memory; or a real kube-apiserver with etcd (see hack/envtest); default: %(default)s",
    )  # fmt: skip
    served.add_argument(
        "--etcd", choices=box.ETCDS, default="pretended",
        help="of the cluster: members that the simulator pretends, or real ones; default: %(default)s",
    )  # fmt: skip

    commands.add_parser("demo", parents=[plays, paced, served], help="play a scenario and prove its end")
    two = commands.add_parser("cluster", parents=[plays, paced, served], help="the same cluster, kept running")
    two.add_argument("--no-operator", action="store_true", help="without the operator")
    two.add_argument("--folder", type=pathlib.Path, help="for kubeconfig and log; default: a free build/cluster")
    rehearsal = commands.add_parser(
        "drill", parents=[served], help="let an alert fire until you end it; without an alert, list them",
        description="Set up a cluster in a box in which the alert is true and nothing repairs itself, print what a "
        "pager shows, wait for your cure, and print how long it took. The cure is in docs/runbooks. Needs promtool.",
    )  # fmt: skip
    rehearsal.add_argument("alert", nargs="?", default="", help="its name, such as TopologyTransitionStuck")
    commands.add_parser("scenarios", help="list the scenarios")
    return parser.parse_args(argv)


def _scenarios() -> str:
    return "\n".join(f"{name:<24} {scenario.load(name).summary}" for name in scenario.names())


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command == "scenarios":
        print(_scenarios())
        return 0
    if arguments.command == "drill":
        if not arguments.alert:
            print(drill.listed())
            return 0
        return demo.run(drill.run(arguments.alert, arguments.apiserver))
    if not arguments.scenario.endswith((".yaml", ".yml")) and arguments.scenario not in scenario.names():
        raise scenario.ScenarioError(
            f"no scenario {arguments.scenario!r}; there are, besides a file *.yaml:\n{_scenarios()}"
        )
    played, speeds = scenario.load(arguments.scenario), pace.PACES[arguments.pace]
    servers = {"apiserver": arguments.apiserver, "etcd": arguments.etcd}
    if arguments.command == "demo":
        seconds = 90.0 * max(1.0, speeds.scale) * speeds.patience + 60.0 * (played.deadline_minutes or 0)
        return demo.run(demo.demo(played, speeds, timeout_seconds=seconds, **servers))
    with demo.claimed(arguments.folder) as folder:
        return demo.run(demo.cluster(played, speeds, operator=not arguments.no_operator, folder=folder, **servers))


def main(argv: list[str] | None = None) -> int:
    """Run one command; return the exit code."""
    arguments = _arguments(argv)
    try:
        return _run(arguments)
    except scenario.ScenarioError as error:
        print(error, file=sys.stderr)
        return 2
    except (SimulatorError, OSError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
