"""What somebody wrote wrongly is named, with what is allowed, before the cluster hears of it.

And a cluster that cannot be reached, or does not let us in: named once in the log, told by readyz, tried again with
patience, and forgotten when it is over.
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import pytest
import yaml

from test import sentences
from test.component import forked
from topology_simulator.apiserver import server

if TYPE_CHECKING:
    from test import processes
    from test.component.world import World

_BUILT_IN = pathlib.Path(__file__).parents[2] / "bindata" / "transitions" / "sno-to-ha-compact.yaml"
USAGE = 2


async def command(*arguments: object) -> processes.Ended:
    """Run the operator's command line to its end."""
    return await forked.run(forked.OPERATOR, *map(str, arguments))


def a_reason(ended: processes.Ended, code: int) -> str:
    """The one calm line that a failed command left, without the program's name."""
    assert ended.code == code, ended
    return ended.complaint_of("cluster-topology-operator")


async def test_a_faulty_transition_file_stops_the_start_before_anything_is_contacted(
    tmp_path: pathlib.Path,
) -> None:
    text, right, wrong = _BUILT_IN.read_text(), "summary: Single", "sumary: once more\nsummary: Single"
    assert right in text
    folder = tmp_path / "transitions"
    folder.mkdir()
    file = folder / _BUILT_IN.name
    faulty = text.replace(right, wrong, 1)
    file.write_text(faulty)
    pairs = zip(text.splitlines(), faulty.splitlines(), strict=False)
    line = next(number for number, (one, other) in enumerate(pairs, start=1) if one != other)
    api = server.ApiServer()
    await api.start()
    try:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(api.kubeconfig()))
        ended = await command(
            "run", "--transitions-dir", folder, "--kubeconfig", kubeconfig, "--bind-address", "127.0.0.1:0"
        )
        asked = list(api.requests)
    finally:
        await api.stop()
    reason = a_reason(ended, USAGE)
    assert reason.startswith(f"{file}:{line}: "), reason
    for word in ("unknown key 'sumary'", "allowed: ", "did you mean 'summary'?"):
        assert word in reason
    assert asked == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--lease-duration", "5", "--renew-deadline", "6", "--retry-period", "1"], ["lease duration 5 s", "6 s"]),
        (["--lease-duration", "nan", "--renew-deadline", "6", "--retry-period", "1"], ["nan s"]),
        (["--lease-duration", "9"], ["--lease-duration, --renew-deadline and --retry-period go together"]),
        (["--bind-address", "[::]:8443"], ["[::]:8443", "--serving-cert-dir", "loopback"]),
        ([], ["0.0.0.0:8443", "--serving-cert-dir"]),
        (["--bind-address", "nonsense"], ["'nonsense' is not HOST:PORT"]),
        (["--page-address", "127.0.0.1:8080"], ["--page-address goes with --serving-cert-dir"]),
        (["--serving-cert-dir", "D", "--page-address", ":8080"], ["--page-address :8080", "loopback"]),
        (["--serving-cert-dir", "D", "--page-address", "10.0.0.1:80"], ["--page-address 10.0.0.1:80", "loopback"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0].startswith("--") else None,
)
async def test_flags_that_contradict_or_expose_are_refused(
    tmp_path: pathlib.Path, arguments: list[str], words: list[str]
) -> None:
    address = [] if "--bind-address" in arguments or not arguments else ["--bind-address", "127.0.0.1:0"]
    ended = await command("run", "--kubeconfig", tmp_path / "never-opened", *address, *arguments)
    reason = a_reason(ended, USAGE)
    for word in words:
        assert word in reason


# -- the cluster cannot be reached, or does not let us in

_IDLE = (
    "infrastructures.config.openshift.io/cluster",
    "clusteroperators.config.openshift.io/topology",
    "featuregates.config.openshift.io/cluster",
    "configs.operator.openshift.io/cluster",
)


async def test_a_server_that_is_not_there_yet_is_waited_for(world: World) -> None:
    async with world.server.away():
        operator = await world.operator(wait=False)
        for what in _IDLE:
            await operator.said(f"cannot watch {what}: {sentences.UNREACHABLE}")
        status, text = await operator.ask("/readyz")
        assert status == 500
        assert text.splitlines() == [f"{what}: {sentences.UNREACHABLE}" for what in _IDLE]
        # Being blind is no reason to be restarted.
        assert await operator.ask("/healthz") == (200, "ok\n")
        assert operator.alive
    await operator.ready(seconds=20.0)
    await world.ask_for()
    await world.until_phase("Completed", seconds=20.0)


async def test_evidence_that_is_forbidden_is_unknown_and_never_met(world: World) -> None:
    operator = await world.idle_operator()
    active = world.server.fault("status", code=403, resource="nodes")
    await world.ask_for()
    found = await world.until_check("ControlPlaneNodes", "Unknown")
    assert "nodes" in found["message"]
    assert sentences.FORBIDDEN in found["message"]
    assert (await world.record())["phase"] == "Pending"
    status, text = await operator.ask("/readyz")
    assert status == 500
    assert "nodes" in text
    world.server.lift(active)
    await world.until_phase("Completed", seconds=20.0)
    assert len(world.server.topology_changes) == 1
