"""What a stranger can do to the port with connections and tokens: probes go on, and memory is bounded.

The attack is the one of a review. Each attacker is a process of its own, at an address of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
import re
import sys
import time
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import yaml

from test.component import metrics_clients
from topology_controller import bindata
from topology_simulator import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from test.component.process import Operator
    from test.component.world import World

KUBELET, STRANGER = "127.0.0.1", "127.0.0.2"
_PAGE = "the status page is on port "
_SECONDS = 5.0
_QUIET_SECONDS = 2.0


@pytest.fixture
async def operator(world: World, tmp_path: pathlib.Path) -> Operator:
    authority = await world.server.client_authority(world.api)
    given = serving.Serving(tmp_path / "tls", authority)
    folder = str(given.certificates)
    started = await world.operator("operator-a", "--serving-cert-dir", folder, "--page-address=127.0.0.1:0", wait=False)
    started.tls = metrics_clients.trusting(given)
    await started.ready()
    return started


@contextlib.asynccontextmanager
async def attack(operator: Operator, kind: str, rate: int, *, source: str = STRANGER) -> AsyncIterator[dict[str, Any]]:
    """Attack while this is entered; what is lent has `rate` and `codes` afterwards."""
    words = await operator.said("serves on port")
    port = words.partition("serves on port ")[2].split()[0]
    arguments = ["-m", "test.component.attacker", kind, port, str(rate), str(_SECONDS + 1.0), source]
    attacker = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    await asyncio.sleep(1.0)
    found: dict[str, Any] = {}
    try:
        yield found
    finally:
        printed, complaints = await attacker.communicate()
    assert attacker.returncode == 0, complaints.decode()
    found |= json.loads(printed)


async def probes(operator: Operator, seconds: float = _SECONDS) -> list[float]:
    """Ask as a kubelet does, four times a second by a new connection each; return how long each answer took."""
    limit = aiohttp.ClientTimeout(total=5.0)
    words = await operator.said("serves on port")
    url = f"https://127.0.0.1:{words.partition('serves on port ')[2].split()[0]}/healthz"
    took = []
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        began = time.monotonic()
        connector = aiohttp.TCPConnector(ssl=operator.tls or True, local_addr=(KUBELET, 0))
        async with aiohttp.ClientSession(connector=connector, timeout=limit) as kubelet, kubelet.get(url) as answer:
            assert answer.status == 200
        took.append(time.monotonic() - began)
        await asyncio.sleep(0.25)
    return took


def _patience() -> float:
    """Return how many seconds a kubelet waits for each of the Deployment's probes."""
    container = _container()
    return float(min(container[probe]["timeoutSeconds"] for probe in ("livenessProbe", "readinessProbe")))


def resident(operator: Operator, name: str = "VmRSS") -> float:
    """Return how much memory the process has, in MiB; VmHWM is the most that it ever had."""
    status = pathlib.Path(f"/proc/{operator.process.pid}/status").read_text(encoding="ascii")
    match = re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)
    assert match is not None
    return int(match[1]) / 1024


@pytest.mark.nightly
async def test_everything_at_once_fits_into_the_memory_of_the_pod(
    operator: Operator, world: World, figure: Callable[[str], None]
) -> None:
    """Converging with every watch open, as many streams of the page as there may be, a full house, and all attacks."""
    quiet = await probes(operator, _QUIET_SECONDS)
    port = int((await operator.said(_PAGE)).partition(_PAGE)[2].split()[0])
    world.operands.on = False
    await world.ask_for()
    await world.until_phase("Converging")
    async with contextlib.AsyncExitStack() as stack:
        readers = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        for _ in range(8):
            answer = await stack.enter_async_context(readers.get(f"http://127.0.0.1:{port}/events"))
            assert answer.status == 200
            stack.push_async_callback(_drain, asyncio.create_task(_read(answer)))
        for number, (kind, rate) in enumerate((*(("hellos", 500),) * 3, ("connects", 2_000), ("tokens", 0))):
            await stack.enter_async_context(attack(operator, kind, rate, source=f"127.0.0.{number + 2}"))
        took = await probes(operator)
    highest = resident(operator, "VmHWM")
    figure(f"{highest:.1f} MiB at most, {max(took) * 1000:.0f} ms for the slowest of {len(took)} probes")
    assert max(took) <= max(_patience(), 10 * max(quiet)), (took, quiet)
    assert 2 * highest <= limit_of_the_pod(), "a limit that is reached ends the operator"


def limit_of_the_pod() -> float:
    """Return the memory limit of the Deployment, in MiB."""
    return float(_container()["resources"]["limits"]["memory"].removesuffix("Mi"))


def _container() -> dict[str, Any]:
    (place,) = (bindata.root() / "manifests").glob("*_deployment.yaml")
    (container,) = yaml.safe_load(place.read_text(encoding="utf-8"))["spec"]["template"]["spec"]["containers"]
    return dict(container)


async def _read(answer: aiohttp.ClientResponse) -> None:
    async for _ in answer.content:
        pass


async def _drain(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
