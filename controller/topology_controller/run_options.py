"""What the flags of `run` say, together: which go with which, and what could never work. `cli` has the flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import logs, process
from .kube import lease
from .serve import server

if TYPE_CHECKING:
    import argparse


def parse(options: argparse.Namespace) -> process.Options:
    """What the flags of `run` say. Raises ValueError, which names the flag."""
    timing = _lease_timing(options)
    try:
        address = server.Address.parse(options.bind_address)
    except ValueError as error:
        raise ValueError(f"--bind-address: {error}") from None
    server.refuse_open_http(address, options.serving_cert_dir)
    page = _page_address(options)
    return process.Options(
        kubeconfig=options.kubeconfig,
        context=options.context,
        namespace=options.namespace,
        address=address,
        page=page,
        certificates=options.serving_cert_dir,
        leader_elect=options.leader_elect,
        lease=timing,
        settle_seconds=options.settle_seconds,
        etcd_certificates=options.etcd_cert_dir,
        etcd_endpoints=options.etcd_endpoints,
        configuration=options.config,
        log_level=logs.follow if options.log_level is None and options.v is None else None,
        elsewhere=_elsewhere(options),
    )


def _elsewhere(options: argparse.Namespace) -> process.Elsewhere | None:
    if not options.lease_kubeconfig:
        if options.lease_namespace:
            raise ValueError(
                "--lease-namespace goes with --lease-kubeconfig; without it --namespace is that of the lease"
            )
        return None
    if not options.lease_namespace:
        raise ValueError("--lease-kubeconfig goes with --lease-namespace, a namespace of its own for each target")
    if not options.leader_elect:
        raise ValueError(
            "--lease-kubeconfig does not go with --no-leader-elect: without a lease there is none to place"
        )
    if options.kubeconfig is None:
        raise ValueError("--lease-kubeconfig goes with --kubeconfig, which leads to the cluster that is acted on")
    return process.Elsewhere(options.lease_kubeconfig, options.lease_namespace)


def _page_address(options: argparse.Namespace) -> server.Address | None:
    if not options.page_address:
        return None
    try:
        address = server.Address.parse(options.page_address)
    except ValueError as error:
        raise ValueError(f"--page-address: {error}") from None
    if options.serving_cert_dir is None:
        raise ValueError("--page-address goes with --serving-cert-dir: without it the page is at --bind-address")
    if not address.loopback:
        raise ValueError(
            f"--page-address {address} is not a loopback address: the page asks for no credentials, "
            "and is reached by port-forward"
        )
    return address


def _lease_timing(options: argparse.Namespace) -> lease.LeaseTiming | None:
    figures = (options.lease_duration, options.renew_deadline, options.retry_period)
    if all(figure is None for figure in figures):
        return None
    if any(figure is None for figure in figures):
        raise ValueError("--lease-duration, --renew-deadline and --retry-period go together")
    try:
        return lease.LeaseTiming(*figures)
    except ValueError as error:
        raise ValueError(f"--lease-duration, --renew-deadline and --retry-period: {error}") from None
