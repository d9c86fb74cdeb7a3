"""What the flags of `run` say arrives where it is used."""

from __future__ import annotations

import pathlib

import pytest

from topology_api.vocabulary import Topology
from topology_controller import cli, process, run_options

FLAGS = {
    "--kubeconfig=k": ("kubeconfig", "k"),
    "--context=c": ("context", "c"),
    "--namespace=n": ("namespace", "n"),
    "--no-leader-elect": ("leader_elect", False),
    "--settle-seconds=7": ("settle_seconds", 7),
    "--serving-cert-dir=d": ("certificates", pathlib.Path("d")),
    "--etcd-cert-dir=e": ("etcd_certificates", pathlib.Path("e")),
    "--config=f": ("configuration", pathlib.Path("f")),
}


@pytest.mark.parametrize("flag", FLAGS)
def test_each_flag_sets_its_option(flag: str) -> None:
    name, value = FLAGS[flag]
    plain, with_flag = (
        run_options.parse(cli._parser().parse_args(["run", "--bind-address=127.0.0.1:0", *more]))
        for more in ([], [flag])
    )
    assert getattr(with_flag, name) == value
    assert getattr(plain, name) != value


def test_the_lease_has_the_figures_of_the_topology() -> None:
    assert process.timing_for(Topology.SINGLE_REPLICA).duration == 270
    assert process.timing_for(Topology.HIGHLY_AVAILABLE).duration == 137
