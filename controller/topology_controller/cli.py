"""`cluster-topology-operator`: argument parsing and wiring only.

Everything heavy is imported by the command that needs it, so that `version` and a usage error answer at once. Exit
codes: 0 stopped on request, 1 failed, 2 bad usage (also a bad transition file, before anything is contacted), 3 lost
the lease.
"""

# ruff: noqa: PLC0415 - what only one command needs is imported by that command

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import pathlib
import sys
from typing import TYPE_CHECKING

from topology_api import vocabulary

from . import logs, terminal
from ._version import __version__
from .fleet import command as fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LOG = logging.getLogger(__name__)
OK, FAILED, USAGE, LOST_LEASE = 0, 1, 2, 3


def _parser() -> argparse.ArgumentParser:
    parser = terminal.Parser(
        prog=vocabulary.OPERATOR_NAME,
        description="Lets an OpenShift cluster change its topology: watches Infrastructure.spec.desiredTopology, "
        "proves that the cluster can carry it, and changes status in one guarded write.",
    )
    parser.add_argument("--version", action="version", version=f"{vocabulary.OPERATOR_NAME} {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run the operator")
    run.add_argument("--kubeconfig", metavar="F", help="default: KUBECONFIG, in-cluster, ~/.kube/config")
    run.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    run.add_argument(
        "--namespace", default=vocabulary.DEFAULT_NAMESPACE, help="namespace of the lease; default: %(default)s"
    )
    run.add_argument(
        "--lease-kubeconfig", metavar="F", default="",
        help="placement elsewhere: the cluster where the lease is held and scrapers are authenticated, while "
        "--kubeconfig leads to the one that is acted on; in-cluster: that of this pod; default: the same cluster",
    )  # fmt: skip
    run.add_argument(
        "--lease-namespace", metavar="NS", default="", help="with --lease-kubeconfig: namespace of the lease"
    )
    run.add_argument(
        "--bind-address", default="0.0.0.0:8443", metavar="HOST:PORT",
        help="where probes and metrics are served; default: %(default)s",
    )  # fmt: skip
    run.add_argument(
        "--page-address", metavar="HOST:PORT", default="",
        help="with --serving-cert-dir: loopback address of the status page, to be reached by port-forward; default: no "
        "page. Without certificates it is at --bind-address",
    )  # fmt: skip
    run.add_argument(
        "--serving-cert-dir", type=pathlib.Path, metavar="D",
        help="folder with tls.crt and tls.key; without it plain HTTP is served, on loopback only",
    )  # fmt: skip
    run.add_argument(
        "--transitions-dir", type=pathlib.Path, metavar="D", help="transition definitions; default: built in"
    )
    run.add_argument(
        "--leader-elect", action=argparse.BooleanOptionalAction, default=True,
        help="hold a lease while working; default: yes",
    )  # fmt: skip
    for name, meaning in (
        ("lease-duration", "others wait so many seconds before they take over: more than the renew deadline"),
        ("renew-deadline", "give up leading after so many seconds without a renewal, 2 or more: a request gets half"),
        ("retry-period", "renew the lease every so many seconds: it and a request must fit into the renew deadline"),
    ):
        run.add_argument(
            f"--{name}", type=float, metavar="S",
            help=f"{meaning}; the three go together; default: 137/107/26, and 270/240/60 on a single node",
        )  # fmt: skip
    run.add_argument(
        "--settle-seconds", type=_natural(" of seconds"), metavar="S",
        help="overrides settleSeconds of the definitions, and how often new answers of checks are written to "
        "Infrastructure: every S seconds instead of once a minute (tests, demos)",
    )  # fmt: skip
    run.add_argument(
        "--etcd-cert-dir", type=pathlib.Path, metavar="D",
        help="folder with ca.crt, tls.crt and tls.key of an etcd client: before the change etcd's members are asked "
        "themselves (check EtcdMembersDirect)",
    )  # fmt: skip
    run.add_argument(
        "--etcd-endpoints", type=_endpoints, metavar="URL[,URL...]", default=(),
        help="where to ask etcd, https://HOST:PORT; default: what ConfigMap openshift-etcd/etcd-endpoints lists",
    )  # fmt: skip
    run.add_argument(
        "--config", type=pathlib.Path, metavar="F",
        help="configuration file, followed while the operator runs; --log-level, -v and --settle-seconds win over it",
    )  # fmt: skip
    run.add_argument("--log-level", choices=logs.LEVELS, help=f"what is logged; default: {logs.DEFAULT}")
    run.add_argument(
        "-v", "--v", type=_natural(), metavar="N",
        help="the same as a number: 0 warning, 2 info, 4 debug (conflicts, watches), 6 also every request",
    )  # fmt: skip
    run.add_argument("--log-format", choices=logs.FORMATS, default="text", help="text as klog has it; default: text")
    manifests = commands.add_parser("manifests", help="print what to apply to a cluster")
    form = manifests.add_mutually_exclusive_group()
    form.add_argument("--crd-only", action="store_true", help="only the whole CRD, for clusters that have none")
    form.add_argument(
        "--crd-patch", action="store_true",
        help="the script that adds our fields to the CRD that a cluster serves, and takes them out again",
    )  # fmt: skip
    form.add_argument(
        "--elsewhere", choices=("target", "management"),
        help="for an operator that runs in another cluster than the one it acts on: what to apply to one of the two",
    )  # fmt: skip
    manifests.add_argument("--crd", type=pathlib.Path, metavar="F", help="the served CRD, for --crd-patch")
    manifests.add_argument(
        "--without-monitoring", action="store_true",
        help="leave out ServiceMonitor, rules and dashboard, for clusters without monitoring.coreos.com",
    )  # fmt: skip
    manifests.add_argument(
        "--without-machine-api", action="store_true",
        help="leave out what belongs into openshift-machine-api, for clusters without capability MachineAPI",
    )  # fmt: skip
    manifests.add_argument(
        "--bare-metal-host-reader", action="store_true",
        help="let cluster-reader read BareMetalHosts, with addresses of management controllers, as oc topology does",
    )  # fmt: skip
    manifests.add_argument(
        "--console", metavar="URL",
        help="let the console offer kubectl-topology, whose archives are below URL; for clusters that have the console",
    )  # fmt: skip
    manifests.add_argument("--image", metavar="REF", help="image of the operator")
    manifests.add_argument(
        "--namespace", default=vocabulary.DEFAULT_NAMESPACE, help="namespace of the operator; default: %(default)s"
    )
    manifests.add_argument(
        "--runbooks", metavar="URL",
        help="https address of the folder docs/runbooks, which the alerts link; default: TOPOLOGY_RUNBOOKS_URL of the "
        "environment, or a placeholder that no server answers",
    )  # fmt: skip
    _add_render(commands)
    fleet.add(commands)
    commands.add_parser("version", help="print the version")
    return parser


def _add_render(commands: argparse._SubParsersAction[terminal.Parser]) -> None:
    render = commands.add_parser(
        "render",
        help="print which topologies an install-config leads to",
        description="Print which topologies the installer makes of an install-config, and whether masters carry\n"
        "workloads: by the rule of released installers, by the rule that is proposed, and where they\n"
        "differ. Nothing is contacted and nothing is written.",
        epilog="Only numbers of machines matter: controlPlane.replicas, the sum over all compute pools, and\n"
        "arbiter.replicas. What is not given is not zero: without controlPlane.replicas there are 3\n"
        "control-plane nodes, and without compute, with an empty list, or with a pool worker without\n"
        "replicas, there are 3 workers. Only pool edge defaults to 0. For no workers say so:\n\n"
        "  compute: [{name: worker, replicas: 0}]\n\n"
        "Examples:\n\n"
        "  %(prog)s --install-config install-config.yaml\n"
        "  %(prog)s --install-config install-config.yaml --rule released -o json\n"
        "  oc -n kube-system get configmap cluster-config-v1 -o yaml | %(prog)s --install-config -\n\n"
        "Exit codes: 0 printed, 1 the file is no install-config or one that the installer refuses\n"
        "(each line names file, line, what was found and what is wanted), 2 bad usage.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    render.add_argument(
        "--install-config", required=True, metavar="F",
        help="install-config.yaml, or ConfigMap cluster-config-v1 of a cluster; - reads standard input",
    )  # fmt: skip
    render.add_argument("--rule", choices=("released", "proposed"), help="only this rule; default: both")
    render.add_argument("-o", "--output", choices=("text", "json", "yaml"), default="text", help="default: text")


def _natural(of: str = "") -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit():
            raise argparse.ArgumentTypeError(f"{text!r} is not a number{of}, 0 or more")
        return int(text)

    return parse


def _endpoints(text: str) -> tuple[str, ...]:
    from .etcd import client

    try:
        return tuple(dict.fromkeys(client.parse_endpoint(url) for url in text.split(",")))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


class _CommandError(Exception):
    """A command ends with this exit code; the text says why."""

    def __init__(self, code: int, why: object) -> None:
        super().__init__(str(why))
        self.code = code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = _parser().parse_args(arguments)
    perform = {"run": _run, "manifests": _manifests, "render": _render, "fleet": _fleet, "version": _version}
    try:
        perform[options.command](options)
    except _CommandError as error:
        logs.complain(vocabulary.OPERATOR_NAME, error)
        return error.code
    return OK


def _version(_: argparse.Namespace) -> None:
    sys.stdout.write(f"{vocabulary.OPERATOR_NAME} {__version__}\n")


def _manifests(options: argparse.Namespace) -> None:
    import yaml

    from . import bindata, manifests, manifests_elsewhere
    from .definitions import load

    only_definition = options.crd_only or options.crd_patch
    mistakes = (
        (options.crd is not None and not options.crd_patch, "--crd goes with --crd-patch"),
        (
            options.without_monitoring and only_definition,
            "--without-monitoring does not go with --crd-only or --crd-patch: these print no monitoring",
        ),
        (
            options.without_machine_api and (only_definition or options.elsewhere == "management"),
            "--without-machine-api does not go with --crd-only, --crd-patch or --elsewhere management",
        ),
        (
            options.bare_metal_host_reader and (only_definition or options.elsewhere == "management"),
            "--bare-metal-host-reader does not go with --crd-only, --crd-patch or --elsewhere management",
        ),
        (
            options.console is not None and (only_definition or options.elsewhere),
            "--console does not go with --crd-only, --crd-patch or --elsewhere: these print nothing for it",
        ),
        (
            options.runbooks is not None and (only_definition or options.without_monitoring),
            "--runbooks is for the alerts, which these manifests do not have",
        ),
    )
    for mistaken, why in mistakes:
        if mistaken:
            raise _CommandError(USAGE, why)
    runbooks = options.runbooks if options.runbooks is not None else os.environ.get(vocabulary.RUNBOOKS_VARIABLE)
    kind = manifests.Kind.CRD_PATCH if options.crd_patch else manifests.Kind.OPERATOR
    if options.crd_only:
        kind = manifests.Kind.CRD_ONLY
    try:
        served = None if options.crd is None else yaml.safe_load(options.crd.read_text(encoding="utf-8"))
        monitoring, machine_api = not options.without_monitoring, not options.without_machine_api
        if options.elsewhere:
            arguments = options.elsewhere, options.image, options.namespace
            text = manifests_elsewhere.render(*arguments, monitoring=monitoring, machine_api=machine_api)
        else:
            text = manifests.render(
                kind, options.image, options.namespace, served, monitoring=monitoring, machine_api=machine_api
            )
        chosen = [manifests.host_reader()] if options.bare_metal_host_reader else []
        chosen += [manifests.console(options.console)] if options.console is not None else []
        text = "---\n".join([text, *chosen])
        if runbooks and kind is manifests.Kind.OPERATOR and monitoring:
            text = manifests.linked(text, runbooks)
    except manifests.ManifestsError as error:
        raise _CommandError(USAGE, error) from error
    except (load.DefinitionError, bindata.BindataMissingError) as error:
        raise _CommandError(FAILED, error) from error
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise _CommandError(FAILED, f"{options.crd}: {error}") from error
    sys.stdout.write(text)


def _render(options: argparse.Namespace) -> None:
    from . import render

    try:
        text = render.command(options.install_config, options.rule, options.output)
    except render.InstallConfigError as error:
        raise _CommandError(FAILED, error) from error
    sys.stdout.write(text)


def _fleet(options: argparse.Namespace) -> None:
    from . import bindata
    from .definitions import load
    from .fleet import plan

    try:
        text, arithmetic = fleet.text(options, load.load(bindata.root() / "transitions"))
    except plan.PlanError as error:
        raise _CommandError(USAGE, error) from error
    except (load.DefinitionError, bindata.BindataMissingError) as error:
        raise _CommandError(FAILED, error) from error
    sys.stdout.write(text)
    sys.stderr.write(f"{arithmetic}\n")


def _run(options: argparse.Namespace) -> None:
    try:
        logs.set_up(logs.level(options.log_level, options.v), options.log_format)
    except ValueError as error:
        raise _CommandError(USAGE, error) from error
    if options.etcd_endpoints and options.etcd_cert_dir is None:
        raise _CommandError(USAGE, "--etcd-endpoints goes with --etcd-cert-dir")
    # What is imported stays for good: looking through it for garbage, now or later, costs a tenth of the start
    # (measured) and finds nothing.
    gc.disable()
    from . import bindata
    from .definitions import load
    from .kube import lease

    try:
        folder = options.transitions_dir or bindata.root() / "transitions"
        # The one place where the certificates become a question to etcd's members.
        transitions = load.load(folder, members_directly=options.etcd_cert_dir is not None)
    except load.DefinitionError as error:
        raise _CommandError(USAGE, error) from error
    except bindata.BindataMissingError as error:
        raise _CommandError(FAILED, error) from error
    from . import process, run_options
    from .kube import config, placement

    gc.enable()
    gc.freeze()
    try:
        settings = run_options.parse(options)
    except ValueError as error:
        raise _CommandError(USAGE, error) from error
    try:
        asyncio.run(process.run(settings, transitions))
    except placement.SameClusterError as error:
        raise _CommandError(USAGE, f"--kubeconfig and --lease-kubeconfig: {error}") from error
    except (config.ConfigError, placement.ReplacedError, OSError) as error:
        raise _CommandError(FAILED, error) from error
    except lease.LeaseLost as error:
        raise _CommandError(LOST_LEASE, error) from error
    except Exception as error:
        # Anything else is a bug: it is in the log, with its trace, and needs no other line.
        logs.bug(_LOG, error)
        raise _CommandError(FAILED, "") from error
