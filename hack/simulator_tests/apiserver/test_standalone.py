"""The server as a process of its own, and kubectl against it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import urllib.request

import pytest
import yaml

from topology_simulator.envtest import binaries

DEADLINE = 20.0


class Process:
    def __init__(self, process, kubeconfig, url):
        self.process, self.kubeconfig, self.url = process, kubeconfig, url

    async def kubectl(self, *words, stdin=""):
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.kubeconfig.parent),
            "KUBECONFIG": str(self.kubeconfig),
        }
        pipe = asyncio.subprocess.PIPE
        made = await asyncio.create_subprocess_exec(
            binaries.folder() / "kubectl", *words, env=environment, stdin=pipe, stdout=pipe, stderr=pipe
        )
        async with asyncio.timeout(DEADLINE):
            out, error = await made.communicate(stdin.encode())
        return made.returncode, out.decode(), error.decode()


async def launch(folder, *more):
    kubeconfig = folder / "kubeconfig"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "topology_simulator.apiserver", "--kubeconfig-out", str(kubeconfig), *more),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    return process, kubeconfig


@pytest.fixture
async def standalone(tmp_path, samples):
    crds = tmp_path / "crds"
    crds.mkdir()
    (crds / "widgets.yaml").write_text(yaml.safe_dump(samples.widget_crd()))
    process, kubeconfig = await launch(tmp_path, "--crd-dir", str(crds))
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
    listed = await asyncio.to_thread(fetch, f"{standalone.url}/apis/example.com/v1/widgets")
    assert listed["items"] == []
    await asyncio.to_thread(fetch, f"{standalone.url}/simulator/faults", b'[{"action": "drop", "path": "/x"}]')
    standalone.process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(DEADLINE):
        _, errors = await standalone.process.communicate()
    assert (standalone.process.returncode, errors.decode()) == (0, "")


async def test_broken_definition_ends_it_with_file_and_reason(tmp_path):
    (tmp_path / "bad.yaml").write_text("apiVersion: v1\nkind: Nothing\nmetadata: {name: x}\n")
    process, _ = await launch(tmp_path, "--crd-dir", str(tmp_path))
    async with asyncio.timeout(DEADLINE):
        _, errors = await process.communicate()
    assert process.returncode == 1
    assert 'bad.yaml: no matches for kind "Nothing" in version "v1"' in errors.decode()
