"""The simulator as a process: a cluster that is kept, and ends in order when it is interrupted."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import sys

import pytest
import yaml
from test import polling, processes

from topology_simulator import client, kinds, kubeconfig, own_objects

MAKEFILE = pathlib.Path(__file__).parents[3] / "Makefile"


@contextlib.asynccontextmanager
async def process(*arguments, cwd):
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": str(cwd)}
    command = (sys.executable, "-m", "topology_simulator", *arguments)
    made = await processes.started(*command, env=environment, cwd=cwd, errors_too=True)
    async with processes.killed_after(made, processes.SECONDS * polling.PATIENCE):
        yield made


async def ended(made):
    output, _ = await made.communicate()
    return made.returncode, output.decode()


async def line_with(made, word):
    while line := (await made.stdout.readline()).decode():
        if word in line:
            return line
    return pytest.fail(f"it ended without saying {word}")


def child_of(made):
    (pid,) = pathlib.Path(f"/proc/{made.pid}/task/{made.pid}/children").read_text().split()
    return int(pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_cluster_is_kept_until_it_is_interrupted_and_writes_only_below_build(tmp_path, number):
    async with process("cluster", "--no-operator", "--pace", "fast", cwd=tmp_path) as made:
        line = await line_with(made, "export KUBECONFIG=")
        file = tmp_path / "build" / "cluster" / "kubeconfig"
        assert line.strip() == f"export KUBECONFIG={file}"
        async with client.Client(kubeconfig.load(file)) as api:
            assert await api.get(kinds.INFRASTRUCTURES, "cluster")
        made.send_signal(number)
        code, output = await ended(made)
    assert (code, "Traceback" in output) == (130, False), output
    assert [one.name for one in tmp_path.iterdir()] == ["build"]


async def test_a_second_cluster_takes_a_folder_of_its_own_and_says_so(tmp_path):
    build = tmp_path / "build"
    async with process("cluster", "--no-operator", "--pace", "fast", cwd=tmp_path) as first:
        await line_with(first, "export KUBECONFIG=")
        kept = (build / "cluster" / "kubeconfig").read_text()
        async with process("cluster", "--no-operator", "--pace", "fast", cwd=tmp_path) as second:
            told = await line_with(second, "in use")
            assert f"{build / 'cluster'} is in use by process {first.pid}; trying cluster-2 (NAME=" in told
            line = await line_with(second, "export KUBECONFIG=")
            assert line.strip() == f"export KUBECONFIG={build / 'cluster-2' / 'kubeconfig'}"
            assert (build / "cluster" / "kubeconfig").read_text() == kept
        named = ("cluster", "--no-operator", "--folder", str(build / "cluster"))
        async with process(*named, cwd=tmp_path) as third:
            code, output = await ended(third)
        told = f"{build / 'cluster'} is in use by process {first.pid}: choose another name, "
        assert (code, output) == (1, f"{told}e.g. make cluster NAME=second\n")
        assert (build / "cluster" / "kubeconfig").read_text() == kept


async def test_make_ends_a_cluster_without_an_error(tmp_path):
    """The recipe of `make cluster`, with the programs of these tests in place of those of .venv."""
    (tmp_path / "stamp").touch()
    (tmp_path / "venv").symlink_to(sys.prefix)  # whose path may have a space
    name = f"{'../' * len((MAKEFILE.parent / 'build').parts[1:])}{(tmp_path / 'kept').relative_to('/')}"
    given = (f"BIN={tmp_path / 'venv/bin'}", f"STAMP={tmp_path / 'stamp'}", f"NAME={name}")
    made = await processes.started(
        "make", "--no-print-directory", "-C", MAKEFILE.parent, "-o", tmp_path / "stamp", "cluster", *given,
        env={**os.environ, "PYTHONUNBUFFERED": "1"}, errors_too=True, alone=True,
    )  # fmt: skip
    async with processes.killed_after(made):
        await line_with(made, "Ctrl-C ends everything")
        os.killpg(made.pid, signal.SIGINT)
        _, output = await ended(made)
    assert "stopped" in output
    assert "***" not in output


async def test_a_kept_cluster_repairs_nothing_and_outlives_its_operator(tmp_path):
    async with process("cluster", "--scenario", "stuck", "--pace", "fast", cwd=tmp_path) as made:
        await line_with(made, "Repair it, when you have seen enough")
        repair = (await line_with(made, "kubectl annotate")).strip()
        assert repair == "kubectl annotate clusteroperator console topology-simulator/reacts-"
        async with client.Client(kubeconfig.load(tmp_path / "build" / "cluster" / "kubeconfig")) as api:

            async def held():
                obj = await api.get(kinds.CLUSTER_OPERATORS, "console")
                return "topology-simulator/reacts" in (obj["metadata"].get("annotations") or {})

            async def replicas():
                return (await api.get(kinds.DEPLOYMENTS, "console", "openshift-console"))["spec"]["replicas"]

            async def pods():
                listed = await api.list(kinds.PODS, own_objects.NAMESPACE)
                return {pod["metadata"]["name"]: pod.get("status", {}).get("phase") for pod in listed}

            await polling.until("the console is held", held)
            await polling.until("the operator runs", pods, holds=lambda found: list(found.values()) == ["Running"])
            await api.patch(kinds.INFRASTRUCTURES, "cluster", {"spec": {"desiredTopology": "HighlyAvailable"}})
            await line_with(made, "openshift-console/console")
            assert await replicas() == 1, "a person repairs it, or nothing does"
            (first,) = await pods()
            os.kill(child_of(made), signal.SIGKILL)
            await polling.until("the pod has failed", pods, holds=lambda found: found == {first: "Failed"})
            await api.delete(kinds.PODS, first, own_objects.NAMESPACE)
            await polling.until("another one runs", pods, holds=lambda found: "Running" in found.values())
            change = {"metadata": {"annotations": {"topology-simulator/reacts": None}}}
            await api.patch(kinds.CLUSTER_OPERATORS, "console", change)
            await polling.until("the console follows", replicas, holds=lambda found: found == 2)
        made.send_signal(signal.SIGINT)
        assert (await ended(made))[0] == 130


async def test_a_story_that_goes_another_way_fails_with_the_reason_and_keeps_the_log(tmp_path):
    story = {
        "name": "vain",
        "summary": "nobody joins",
        "steps": [{"wait-for": {"voters": 3, "within": 0.5}}],
        "expect": {"phase": "Completed", "topology": "HighlyAvailable/HighlyAvailable", "conditions": {}},
    }
    (tmp_path / "vain.yaml").write_text(yaml.safe_dump(story))
    async with process("demo", "--scenario", "vain.yaml", "--pace", "fast", cwd=tmp_path) as made:
        code, output = await ended(made)
    assert (code, "Traceback" in output) == (1, False), output
    assert "step 1 of vain: after 3 s: wanted voters 3, found 1" in output
    assert [one.name for one in tmp_path.glob("topology-demo-*/operator.log")] == ["operator.log"]


async def test_the_happy_path_is_proven_by_the_real_operator_and_leaves_no_file(tmp_path):
    async with process("demo", "--pace", "fast", cwd=tmp_path) as made:
        code, output = await ended(made)
    assert (code, "phase Completed, topology HighlyAvailable/HighlyAvailable" in output) == (0, True), output
    left = output.partition("\nRecommended: 3\n")[2].splitlines()
    names = ("TopologyReadAtStart:", "EtcdBackupOutdated:", "LoadBalancerBackendsUnconfirmed:")
    assert [line.split()[:2] for line in left[:6:2]] == [["!", name] for name in names]
    assert all(line.startswith("    $ oc ") for line in left[1:6:2]), left
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["demo", "--scenario", "sad-path"], 2, "no scenario 'sad-path'; there are"),
        (["cluster", "--scenario", ""], 2, "happy-path               Two machines join"),
        (["drill"], 0, "TopologyFleetSilent"),
        (["drill", "Nope"], 2, "no alert 'Nope'"),
        (["demo", "--pace", "slow"], 2, "invalid choice"),
    ],
)
async def test_bad_usage_is_told_in_a_line(tmp_path, arguments, code, told):
    async with process(*arguments, cwd=tmp_path) as made:
        found, output = await ended(made)
    assert (found, told in output, "Traceback" in output) == (code, True, False), output
