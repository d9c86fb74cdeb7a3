"""What the flags of `run` say, together: which go with which, and what could never work. `cli` has the flags."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .kube import client, lease
from .serve import server

if TYPE_CHECKING:
    import pathlib


class Options(argparse.Namespace):
    """The flags of `run`, by their names.

    Raises ValueError, which names the flag. `lease` is None when its figures follow the topology. `page` is the
    loopback address of the status page where others are served at `address`, None for no page.
    """

    kubeconfig: str | None
    context: str | None
    namespace: str
    lease_kubeconfig: str
    lease_namespace: str
    bind_address: str
    page_address: str
    serving_cert_dir: pathlib.Path | None
    leader_elect: bool
    lease_duration: float | None
    renew_deadline: float | None
    retry_period: float | None
    settle_seconds: int | None
    etcd_cert_dir: pathlib.Path | None
    etcd_endpoints: tuple[str, ...]
    config: pathlib.Path | None
    log_level: str | None
    v: int | None

    def __init__(self, **flags: object) -> None:
        super().__init__(**flags)
        self.lease = self._lease()
        self.address = _address("--bind-address", self.bind_address)
        server.refuse_open_http(self.address, self.serving_cert_dir)
        self.page = self._page() if self.page_address else None
        if not self.lease_kubeconfig:
            if self.lease_namespace:
                why = "goes with --lease-kubeconfig; without it --namespace is that of the lease"
                raise ValueError(f"--lease-namespace {why}")
        elif not self.lease_namespace:
            raise ValueError("--lease-kubeconfig goes with --lease-namespace, a namespace of its own for each target")
        elif not self.leader_elect:
            why = "does not go with --no-leader-elect: without a lease there is none to place"
            raise ValueError(f"--lease-kubeconfig {why}")
        elif self.kubeconfig is None:
            raise ValueError("--lease-kubeconfig goes with --kubeconfig, which leads to the cluster that is acted on")

    @property
    def request_timeout(self) -> float:
        """Seconds for one request: a write must end while the lease is ours, however short that was asked to be."""
        return client.REQUEST_TIMEOUT if self.lease is None else self.lease.request_timeout

    def _page(self) -> server.Address:
        address = _address("--page-address", self.page_address)
        if self.serving_cert_dir is None:
            raise ValueError("--page-address goes with --serving-cert-dir: without it the page is at --bind-address")
        if not address.loopback:
            raise ValueError(
                f"--page-address {address} is not a loopback address: the page asks for no credentials, "
                "and is reached by port-forward"
            )
        return address

    def _lease(self) -> lease.LeaseTiming | None:
        duration, deadline, period = self.lease_duration, self.renew_deadline, self.retry_period
        if duration is None and deadline is None and period is None:
            return None
        if duration is None or deadline is None or period is None:
            raise ValueError("--lease-duration, --renew-deadline and --retry-period go together")
        try:
            return lease.LeaseTiming(duration, deadline, period)
        except ValueError as error:
            raise ValueError(f"--lease-duration, --renew-deadline and --retry-period: {error}") from None


def _address(flag: str, text: str) -> server.Address:
    try:
        return server.Address.parse(text)
    except ValueError as error:
        raise ValueError(f"{flag}: {error}") from None
