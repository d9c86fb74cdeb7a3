"""What somebody wrote wrongly is named, with what is allowed, before the cluster hears of it.

And a cluster that cannot be reached, or does not let us in: named once in the log, told by readyz, tried again with
patience, and forgotten when it is over.
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import pytest
import yaml

from test import polling, sentences
from test.component import cluster, forked
from test.component import world as worlds
from test.unit.configuration.files import HEAD, Volume
from topology_simulator import kinds
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


async def test_a_faulty_transition_file_stops_the_start_before_anything_is_contacted(tmp_path: pathlib.Path) -> None:
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


# -- the configuration of a running operator: followed as kubelet swaps it, in the middle of a transition


async def until_lease(world: World, seconds: int) -> None:
    """Wait until others see that they have to wait for the holder for so long."""
    await polling.until(
        f"the lease says {seconds} s",
        lambda: world.api.get(kinds.LEASES, cluster.OWN_LEASE, cluster.OWN_NAMESPACE),
        holds=lambda found: found["spec"]["leaseDurationSeconds"] == seconds,
    )


async def test_it_is_followed_through_a_transition_and_a_bad_one_is_told_by_its_line(
    here: World, tmp_path: pathlib.Path
) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    volume = Volume(folder)
    flags = ("--config", str(volume.file))
    # Without flags for the lease its figures follow the topology, as on a real cluster.
    operator = await here.idle_operator("operator-a", *flags, settle=None, lease=())
    await until_lease(here, 270)  # a single node may be rebooting

    volume.swap(f"{HEAD}logLevel: debug\nsettleSeconds: 3600\nminimumNodeResources: {{cpu: 512}}\n")
    words = await operator.said("is in force")
    assert "the log level is debug now" in words
    await here.ask_for()
    found = await here.until_check("ControlPlaneNodes", "Unmet")
    assert "of 512 CPUs" in found["message"]

    volume.swap(f"{HEAD}logLevel: debug\nsettleSeconds: 3600\n")
    await here.until_phase("Converging")
    await until_lease(here, 137)
    await here.until_condition("Progressing", "True", "TransitionConverging")

    volume.swap(f"{HEAD}logLevel: debug\nsettleSeconds: a moment\n")
    degraded = await here.until_condition("Degraded", "True", "ConfigurationInvalid")
    assert f"{volume.file}:4: settleSeconds is 'a moment'" in degraded["message"]
    assert (await here.record())["phase"] == "Converging"

    volume.swap(f"{HEAD}logLevel: warning\nsettleSeconds: 1\n")
    await here.until_condition("Degraded", "False", "AsExpected")
    await here.completed_once()
    assert await here.moves() == [worlds.MOVED]
    assert await operator.metric("leader_election_master_status") == 1
    assert "the log level is warning now" in operator.words()
    said = operator.words()
    assert await operator.stop() == 0
    assert operator.words() == said, "warnings only: nothing to say about an end that was asked for"
    assert await here.holder() == ""


async def test_without_an_election_the_one_that_works_counts_as_the_leader(here: World) -> None:
    operator = await here.operator("operator-a", "--no-leader-elect", lease=())
    await here.until_phase("Idle")
    assert await operator.metric("leader_election_master_status") == 1
    assert await operator.metric("topology_transition_phase", phase="Idle") == 1
