"""What somebody wrote wrongly is named, with what is allowed, before the cluster hears of it.

And a cluster that cannot be reached, or does not let us in: named once in the log, told by readyz, tried again with
patience, and forgotten when it is over.
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import pytest

from test import polling, sentences
from test.component import cluster, forked
from test.unit.configuration.files import HEAD, Volume
from topology_simulator import kinds

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


async def test_a_faulty_transition_file_stops_the_start_before_anything_is_contacted(tmp_path: pathlib.Path) -> None:
    """Nor is the kubeconfig opened, which is not there."""
    text, right = _BUILT_IN.read_text(), "summary: Single"
    line = text.count("\n", 0, text.index(right)) + 1
    file = tmp_path / _BUILT_IN.name
    file.write_text(text.replace(right, f"sumary: once more\n{right}", 1))
    nowhere = ("--kubeconfig", tmp_path / "never-opened", "--bind-address", "127.0.0.1:0")
    reason = a_reason(await command("run", "--transitions-dir", tmp_path, *nowhere), USAGE)
    assert reason.startswith(f"{file}:{line}: "), reason
    for word in ("unknown key 'sumary'", "allowed: ", "did you mean 'summary'?"):
        assert word in reason


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


# -- flags of an operator at work


async def test_a_configuration_is_followed_and_the_lease_has_the_figures_of_the_topology(
    here: World, tmp_path: pathlib.Path
) -> None:
    volume = Volume(tmp_path)
    operator = await here.idle_operator("operator-a", "--config", str(volume.file), settle=None, lease=())

    async def seconds() -> int:
        found = await here.api.get(kinds.LEASES, cluster.OWN_LEASE, cluster.OWN_NAMESPACE)
        return int(found["spec"]["leaseDurationSeconds"])

    assert await seconds() == 270, "a single node may be rebooting"
    volume.swap(f"{HEAD}logLevel: warning\nsettleSeconds: 1\n")
    await operator.said("the log level is warning now")
    await here.ask_for()
    await here.completed_once()
    await polling.until("the lease follows the topology", seconds, holds=lambda found: found == 137)
    said = operator.words()
    assert await operator.stop() == 0
    assert operator.words() == said, "warnings only: nothing to say about an end that was asked for"


async def test_without_an_election_the_one_that_works_counts_as_the_leader(here: World) -> None:
    operator = await here.operator("operator-a", "--no-leader-elect", lease=())
    await here.until_phase("Idle")
    assert await operator.metric("leader_election_master_status") == 1
    assert await operator.metric("topology_transition_phase", phase="Idle") == 1
