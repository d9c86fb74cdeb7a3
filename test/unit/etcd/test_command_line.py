"""The flags, and that nothing of the room is there when they are not given."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest
from test import processes

from topology_api import vocabulary
from topology_controller import cli, logs, process

if TYPE_CHECKING:
    from topology_controller.definitions import load

ADDRESS = ("--bind-address", "127.0.0.1:0")


def test_endpoints_without_certificates_are_bad_usage(capsys):
    assert cli.main(["run", *ADDRESS, "--etcd-endpoints", "https://192.0.2.1:2379"]) == cli.USAGE
    assert "--etcd-endpoints goes with --etcd-cert-dir" in capsys.readouterr().err


@pytest.mark.parametrize("urls", ["http://192.0.2.1:2379", "192.0.2.1", "https://a:1,,https://b:1", ""])
def test_an_endpoint_that_is_none_is_bad_usage(capsys, urls):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["run", *ADDRESS, "--etcd-cert-dir", "x", "--etcd-endpoints", urls])
    assert stopped.value.code == cli.USAGE
    assert "https://HOST:PORT" in capsys.readouterr().err


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What an operator process would have been started with."""
    found: list[Any] = []

    async def run(options: process.Options, transitions: load.Transitions) -> None:
        found.extend(
            (
                options.etcd_certificates,
                options.etcd_endpoints,
                transitions.asks(vocabulary.CheckName.ETCD_MEMBERS_DIRECT),
            )
        )

    monkeypatch.setattr(process, "run", run)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(logs, "set_up", lambda *_: None)
    return found


def test_a_certificate_folder_makes_the_definitions_ask(started, tmp_path):
    assert cli.main(["run", *ADDRESS]) == cli.OK
    assert started == [None, (), False]
    started.clear()
    flags = ["--etcd-cert-dir", str(tmp_path), "--etcd-endpoints", "https://A:1,https://192.0.2.1,https://a:1"]
    assert cli.main(["run", *ADDRESS, *flags]) == cli.OK
    assert started == [tmp_path, ("https://a:1", "https://192.0.2.1:2379"), True]


@pytest.mark.parametrize("imported", ["topology_controller.process", "topology_controller.checks.catalog"])
def test_the_room_stays_closed_where_nobody_needs_it(imported):
    """Memory is promised; most clusters never give certificates."""
    asked = (
        f"import sys, {imported}; "
        "print([name for name in sys.modules if name.startswith(('topology_controller.etcd', "
        "'topology_controller.observe.members'))])"
    )
    assert processes.python("-c", asked) == (0, "[]\n", "")
