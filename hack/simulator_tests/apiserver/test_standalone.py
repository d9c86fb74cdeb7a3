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


WIDGET = """
apiVersion: example.com/v1
kind: Widget
metadata: {name: one, namespace: default}
spec: {size: %d}
"""


async def test_kubectl_lives_with_a_custom_resource(standalone):
    run = standalone.kubectl
    assert (await run("create", "-f", "-", stdin=WIDGET % 3))[:2] == (0, "widget.example.com/one created\n")
    _, out, error = await run("get", "wd")
    assert out.splitlines()[0].split() == ["NAME", "SIZE", "READY"], error
    assert out.splitlines()[1].split() == ["one", "3"]
    assert (await run("patch", "wd", "one", "--type", "merge", "-p", '{"spec":{"size":4}}'))[0] == 0
    status = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
    assert (await run("patch", "wd", "one", "--type", "merge", "--subresource=status", "-p", status))[0] == 0
    waited = await run("wait", "--for=condition=Ready", "wd/one", "--timeout=5s")
    assert waited[:2] == (0, "widget.example.com/one condition met\n")
    applied = await run("apply", "-f", "-", stdin=WIDGET % 5)
    assert applied[:2] == (0, "widget.example.com/one configured\n"), applied
    code, _, error = await run("create", "-f", "-", stdin=(WIDGET % 1).replace("size", "sizes"))
    assert code == 1
    assert 'strict decoding error: unknown field "spec.sizes"' in error
    _, out, _ = await run("explain", "widget.spec")
    assert "mode\t<string>" in out
    code, _, error = await run("patch", "wd", "one", "--type", "merge", "-p", '{"spec":{"size":11}}')
    assert code == 1
    assert error.strip() == (
        'The Widget "one" is invalid: '
        "spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10"
    )
    code, printed, _ = await run("delete", "wd", "one")
    # Newer ones add from where.
    assert (code, printed.startswith('widget.example.com "one" deleted')) == (0, True)


async def test_kubectl_knows_the_kinds_and_prints_nodes(standalone):
    run = standalone.kubectl
    _, out, error = await run("api-resources", "--api-group=example.com")
    assert out.splitlines()[1].split() == ["widgets", "wd", "example.com/v1", "true", "Widget"], error
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    assert (await run("create", "-f", "-", stdin=json.dumps(node)))[0] == 0
    _, out, _ = await run("get", "nodes")
    assert out.splitlines()[1].split()[:3] == ["n1", "Ready", "<none>"]
    _, out, _ = await run("get", "ns", "-o", "name")
    assert "namespace/kube-system" in out.split()
    assert (await run("get", "wd"))[2] == "No resources found in default namespace.\n"


async def test_kubectl_watches(standalone):
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(standalone.kubeconfig.parent),
        "KUBECONFIG": str(standalone.kubeconfig),
    }
    await standalone.kubectl("create", "-f", "-", stdin=WIDGET % 1)
    watching = await asyncio.create_subprocess_exec(
        binaries.folder() / "kubectl", "get", "wd", "-w", env=environment, stdout=asyncio.subprocess.PIPE
    )
    assert watching.stdout is not None
    try:
        async with asyncio.timeout(DEADLINE):
            assert (await watching.stdout.readline()).split()[:2] == [b"NAME", b"SIZE"]
            assert (await watching.stdout.readline()).split() == [b"one", b"1"]
            await standalone.kubectl("patch", "wd", "one", "--type", "merge", "-p", '{"spec":{"size":2}}')
            assert (await watching.stdout.readline()).split() == [b"one", b"2"]
    finally:
        watching.terminate()
        await watching.communicate()
