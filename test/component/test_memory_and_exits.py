"""How the operator ends, what it costs to keep it, and the commands that only print."""

from __future__ import annotations

import pathlib
import re
import signal
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from test import processes, skips
from test.component import cluster
from topology_api import crd
from topology_controller import _version
from topology_simulator import kinds

if TYPE_CHECKING:
    from test.component.world import World

OK, FAILED, USAGE, LOST_LEASE = 0, 1, 2, 3
_NOISE = ("Traceback", "Task was destroyed", "never retrieved", "never awaited", "ResourceWarning", "Unclosed")
_MEMORY_MIB = 64
"""DESIGN section 13: resident memory with everything on."""


async def _printed(*arguments: str) -> processes.Ended:
    return await processes.run(sys.executable, "-W", "error", "-m", "topology_controller", *arguments)


def _resident_mib(pid: int) -> float:
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None, status
    return int(found[1]) / 1024


@pytest.mark.nightly(but=("converging-SIGTERM", "idle-SIGINT"))
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("moment", ["idle", "pending", "converging"])
async def test_asked_to_stop_it_gives_back_the_lease_and_ends_with_0(
    world: World, number: signal.Signals, moment: str
) -> None:
    operator = await world.idle_operator()
    assert await world.holder() == operator.name
    world.operands.on = False
    if moment == "pending":
        world.echo.on = False
        await world.ask_for()
        await world.until_phase("Admitting")
    elif moment == "converging":
        await world.ask_for()
        await world.until_phase("Converging")
    operator.send(number)
    assert await operator.ended() == OK
    assert await world.holder() == ""
    for noise in _NOISE:
        assert noise not in operator.words()
    assert "asked to stop" in operator.words()
    assert operator.words().splitlines()[-1].endswith("is released")


async def test_asked_twice_it_leaves_at_once(world: World) -> None:
    operator = await world.idle_operator()
    # Nothing is answered any more, so giving back the lease takes as long as a request may.
    held = world.server.fault("silent")
    operator.send(signal.SIGTERM)
    await operator.said("asked to stop")
    assert operator.alive
    operator.send(signal.SIGTERM)
    assert await operator.ended(seconds=2.0) == FAILED
    assert "asked twice to stop: leaving at once" in operator.words()
    world.server.lift(held)


async def test_asked_once_with_a_silent_server_it_still_ends_in_time(world: World) -> None:
    operator = await world.idle_operator()
    held = world.server.fault("silent")
    assert await operator.stop(seconds=10.0) == OK
    world.server.lift(held)


async def test_a_lost_lease_ends_with_3_and_says_who_has_it(world: World) -> None:
    operator = await world.idle_operator(
        lease=("--lease-duration", "15", "--renew-deadline", "13", "--retry-period", "1")
    )
    change = {"spec": {"holderIdentity": "somebody-else"}}
    await world.api.patch(kinds.LEASES, cluster.OWN_LEASE, change, cluster.OWN_NAMESPACE)
    assert await operator.ended() == LOST_LEASE
    last = operator.words().splitlines()[-1]
    assert "lease" in last
    assert "somebody-else" in operator.words()
    assert (await world.api.get(kinds.LEASES, cluster.OWN_LEASE, cluster.OWN_NAMESPACE))["spec"][
        "holderIdentity"
    ] == "somebody-else"


async def test_version_is_one_line() -> None:
    code, printed, complaint = await _printed("version")
    assert (code, complaint) == (OK, "")
    assert printed == f"cluster-topology-operator {_version.__version__}\n"


async def test_the_crd_is_printed_as_it_is_committed() -> None:
    code, printed, complaint = await _printed("manifests", "--crd-only")
    assert (code, complaint) == (OK, "")
    documents = [one for one in yaml.safe_load_all(printed) if one]
    assert [(one["kind"], one["metadata"]["name"]) for one in documents] == [("CustomResourceDefinition", crd.NAME)]
    folder = pathlib.Path(__file__).parents[2] / "bindata" / "crd"
    assert documents[0] == yaml.safe_load(next(iter(folder.glob("*infrastructures*.yaml"))).read_text())


async def test_the_manifests_are_yaml_of_named_objects() -> None:
    code, printed, complaint = await _printed("manifests", "--image", "registry.example.com/operator:1")
    assert (code, complaint) == (OK, "")
    documents = [one for one in yaml.safe_load_all(printed) if one]
    assert {"Namespace", "Deployment", "ClusterOperator"} <= {one["kind"] for one in documents}
    assert all(one["metadata"]["name"] for one in documents)
    assert "registry.example.com/operator:1" in printed


@pytest.mark.parametrize("command", [["--help"], ["run", "--help"], ["manifests", "--help"]], ids=" ".join)
async def test_help_is_an_answer_and_no_mistake(command: list[str]) -> None:
    code, printed, complaint = await _printed(*command)
    assert (code, complaint) == (OK, "")
    assert printed.startswith("usage: cluster-topology-operator")


@pytest.mark.on_real
@pytest.mark.skipif(
    not pathlib.Path("/proc/self/status").exists(), reason=f"{skips.ELSEWHERE}needs /proc to read memory"
)
async def test_with_everything_watched_it_stays_within_its_memory(world: World) -> None:
    operator = await world.idle_operator()
    world.echo.on = False
    await world.ask_for()
    await world.until_phase("Admitting")
    mib = _resident_mib(operator.process.pid)
    assert mib <= _MEMORY_MIB, f"{mib:.1f} MiB resident, wanted at most {_MEMORY_MIB}"
