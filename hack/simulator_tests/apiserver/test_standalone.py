"""The server as a process of its own."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import urllib.request

import pytest
import yaml

DEADLINE = 20.0


class Process:
    def __init__(self, process, kubeconfig, url):
        self.process, self.kubeconfig, self.url = process, kubeconfig, url


async def launch(folder):
    kubeconfig = folder / "kubeconfig"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "topology_simulator.apiserver", "--kubeconfig-out", str(kubeconfig)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    return process, kubeconfig


@pytest.fixture
async def standalone(tmp_path):
    process, kubeconfig = await launch(tmp_path)
    async with asyncio.timeout(DEADLINE):
        line = (await process.stdout.readline()).decode()
    assert line.startswith("serving on http://127.0.0.1:"), (await process.stderr.read()).decode()
    yield Process(process, kubeconfig, line.split()[-1])
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(DEADLINE):
        await process.communicate()


def fetch(url, data=None):
    request = urllib.request.Request(url, data=data)  # noqa: S310  # a loopback address of our own
    with urllib.request.urlopen(request, timeout=DEADLINE) as response:  # noqa: S310  # as above
        return json.loads(response.read())


async def test_serves_writes_a_kubeconfig_and_ends_on_sigterm(standalone):
    config = yaml.safe_load(standalone.kubeconfig.read_text())
    assert config["clusters"][0]["cluster"]["server"] == standalone.url
    listed = await asyncio.to_thread(fetch, f"{standalone.url}/api/v1/nodes")
    assert listed["items"] == []
    await asyncio.to_thread(fetch, f"{standalone.url}/simulator/faults", b'[{"action": "drop", "resource": "x"}]')
    standalone.process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(DEADLINE):
        _, errors = await standalone.process.communicate()
    assert (standalone.process.returncode, errors.decode()) == (0, "")
