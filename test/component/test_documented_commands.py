"""What the documentation tells a reader to type works: each command, against a cluster in four states.

Reading commands must succeed in one of the states at least, and print something if they have a jsonpath: a wrong path
prints nothing and is no error. Writing ones are judged by the API server and not executed (--dry-run=server).
"""

from __future__ import annotations

import asyncio
import os
import pathlib
import re
import shlex
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling, processes
from test.component import documented, world
from topology_api import vocabulary
from topology_simulator import cluster as simulated
from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from test.component import backend, real

REPOSITORY = pathlib.Path(__file__).parents[2]
RECORDED = REPOSITORY / "docs" / "development" / "sessions"
"""Nobody wrote these: they are what the program says, and test_recorded_sessions looks at them."""
PAGES = [
    REPOSITORY / "README.md",
    *(one for one in sorted((REPOSITORY / "docs").rglob("*.md")) if not one.is_relative_to(RECORDED)),
]
DEPLOYMENT = REPOSITORY / "bindata" / "manifests" / "0000_30_topology-operator_07_deployment.yaml"
REQUEST = """kubectl patch infrastructure cluster --type merge -p '{"spec":{"desiredTopology":"HighlyAvailable"}}'"""
TRAP = ("wait", "--for=condition=Progressing=False", "clusteroperator/topology", "--timeout=1s")
COLUMNS = ["NAME", "DESIRED", "CONTROL-PLANE", "INFRASTRUCTURE", "PHASE", "PROBLEM", "PROGRESS", "AGE"]
_AT_ONCE = 3
_OVERRIDE = {"kind": "X", "group": "example.com", "namespace": "", "name": "x", "unmanaged": True}
NOT_HERE = {
    "get secret etcd-client": "the cluster of a test has no Secrets",
    "get csr": "no node asks for a certificate there, and our own server has no such kind",
    "get pods": "neither the operator nor etcd is a pod there",
    "get machines.machine.openshift.io": "platform None has no Machines",
    "get service,servicemonitor,networkpolicy": "not applied there: test_installing_and_leaving has these",
    "get role,rolebinding prometheus-k8s": "the same",
    "-n open-cluster-management-observability": "it is asked on the hub of a fleet",
    "--context edge-1": "it takes two clusters, which test_elsewhere has",
    "managedcluster": "it is asked on the hub of a fleet",
    "role topology-": "not applied there: test_installing_and_leaving has these",
    "configmap topology-accepted-checks": "the same",
    "configmap cluster-topology-operator-config": "the same",
    "consoleclidownload": "no such kind there, as of the next ones",
    "imagebasedupgrade": "an optional operator's",
    "clusterapis": "only where Cluster API is installed",
    "machineconfig 50-master-dnsmasq": "such a cluster has none, nor the next ones",
    "unsupportedConfigOverrides": "none is set",
    "spec.controlPlaneTopology": "where the native controller can be enabled",
}
NOT_SERVED = (" scale ", "endpoints", " csr")
"""What our own API server does not serve; the real one is asked."""
REFUSED = {"DualReplica": "cannot be reached from status.controlPlaneTopology"}
"""Commands that a page shows because they are refused, and how."""


def commands(*sorts: documented.Sort) -> list[documented.Command]:
    found = [one for page in PAGES for one in (*documented.of(page), *documented.spans(page))]
    return [one for one in (*found, *documented.explained()) if one.sort in sorts]


@dataclass
class Trial:
    """One command in all states: what it printed where it succeeded, what it complained about where it did not."""

    command: documented.Command
    printed: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def fault(self) -> str:
        """What is wrong with it; empty when nothing is."""
        refusals = [text for sign, text in REFUSED.items() if sign in self.command.text]
        if refusals:
            return "" if any(refusals[0] in said for said in self.complaints) else f"{self.command.at}: was not refused"
        if not self.printed:
            return f"{self.command.at}: {self.command.text}\n    failed: {self.complaints[-1:]}"
        prints = "jsonpath" in self.command.text and "wait" not in self.command.arguments
        if prints and not any(text.strip() for text in self.printed):
            return f"{self.command.at}: {self.command.text}\n    printed nothing in any state"
        return ""


@pytest.fixture
async def pinned(apiserver: backend.Place, tmp_path: pathlib.Path) -> AsyncIterator[world.World]:
    """A grown cluster with something to advise, with overrides and with the operator's Deployment."""
    shape = simulated.Shape(masters=3, router_replicas=1)
    async with world.opened(apiserver, tmp_path, shape) as made:
        deployment = yaml.safe_load(DEPLOYMENT.read_text())
        space = deployment["metadata"]["namespace"]
        # On a cluster the service CA operator puts this into every namespace.
        authority = kinds.CONFIG_MAPS.new("openshift-service-ca.crt", space, data={"service-ca.crt": "certificate"})
        for kind, wanted in (
            (kinds.NAMESPACES, kinds.NAMESPACES.new(space)),
            (kinds.DEPLOYMENTS, deployment),
            (kinds.CONFIG_MAPS, authority),
        ):
            if await made.api.find(kind, wanted["metadata"]["name"], wanted["metadata"].get("namespace", "")) is None:
                await made.api.create(kind, wanted)
        await made.api.patch(kinds.CLUSTER_VERSIONS, "version", {"spec": {"overrides": [_OVERRIDE]}})
        yield made


async def _try(trial: Trial, kubectl: str, environment: dict[str, str]) -> None:
    arguments = list(trial.command.arguments)
    if trial.command.sort is documented.Sort.WRITE:
        arguments.append("--dry-run=server")
    if "wait" in arguments:
        arguments = [one for one in arguments if not one.startswith("--timeout")] + ["--timeout=1s"]
    ended = await processes.run(kubectl, *arguments, env=environment)
    if ended.code:
        trial.complaints.append(ended.complaint.strip())
    else:
        trial.printed.append(ended.printed)


async def _try_all(trials: list[Trial], kubectl: str, environment: dict[str, str]) -> None:
    """Try in this state what has not worked in an earlier one."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(trial: Trial) -> None:
        async with room:
            await _try(trial, kubectl, environment)

    await asyncio.gather(*(one(trial) for trial in trials if trial.fault))


@pytest.fixture
def access(pinned: world.World, apiserver: backend.Place, request: pytest.FixtureRequest) -> dict[str, Any]:
    """A reader's kubeconfig; to a real server around the proxy, because kubectl sends no token over HTTP."""
    if not apiserver.is_real:
        return pinned.server.kubeconfig()
    session: real.Session = request.getfixturevalue("real_server")
    return session.server.kubeconfig()


async def test_what_a_reader_types_works(pinned: world.World, access: dict[str, Any], tmp_path: pathlib.Path) -> None:
    kubectl = documented.kubectl()
    place = tmp_path / "kubeconfig-reader"
    place.write_text(yaml.safe_dump(access))
    environment = {"KUBECONFIG": str(place), "HOME": str(tmp_path), "PATH": os.defpath}
    asked = {one.text: one for one in commands(documented.Sort.READ, documented.Sort.WRITE)}
    left_out = [*NOT_HERE, *(() if pinned.server.is_real else NOT_SERVED)]
    trials = [
        Trial(one)
        for one in asked.values()
        if not documented.has_placeholder(one) and not any(sign in one.text for sign in left_out)
    ]
    assert len(trials) > 20

    await pinned.idle_operator()
    await _try_all(trials, kubectl, environment)
    too_soon = await processes.run(kubectl, *TRAP, env=environment)
    assert too_soon.code == 0, "nothing was requested yet: a page warns of it"
    asking = await processes.run(kubectl, *shlex.split(REQUEST)[1:], env=environment)
    assert (asking.code, REQUEST in PAGES[0].read_text()) == (0, True), asking
    await pinned.until_phase("Converging")
    await _try_all(trials, kubectl, environment)
    await pinned.api.patch(kinds.INGRESS_CONTROLLERS, "default", {"spec": {"replicas": 2}}, simulated.INGRESS_NAMESPACE)
    await pinned.operands.go_on()
    await pinned.until_phase("Completed", seconds=30.0)
    await _try_all(trials, kubectl, environment)
    shown = await processes.run(kubectl, "get", "infrastructures", env=environment)
    assert shown.rows[0] == COLUMNS
    assert shown.rows[1][:-1] == ["cluster", *[world.DESIRED] * 3, "Completed", "20/20"]
    await pinned.until_told("TransitionCompleted")
    described = await processes.run(kubectl, "describe", "infrastructure", "cluster", env=environment)
    told = re.findall(r"^  (?:Normal|Warning) +(\w+)", described.printed, re.MULTILINE)
    assert (told[0], told[-1]) == ("TransitionRequested", "TransitionCompleted"), "in their order"
    paused = {"metadata": {"annotations": {vocabulary.PAUSED_ANNOTATION: "true"}}}
    await pinned.api.patch(kinds.CLUSTER_OPERATORS, "topology", paused)
    await _try_all(trials, kubectl, environment)
    faults = [one.fault for one in trials if one.fault]
    assert not faults, "\n".join(faults)


# -- first-hour.md: as a newcomer types it, in its order, beside what `make cluster` runs

HOUR = REPOSITORY / "docs" / "first-hour.md"
SECTIONS = re.findall(r"(?ms)^(## (?!See|Next).+?)\n(.*?)(?=^## )", HOUR.read_text(encoding="utf-8"))
SETTLED = {
    "power=off": ("kubectl topology plan HighlyAvailable", "3 of 11 preflight checks not met"),
    "power-": ("kubectl topology plan HighlyAvailable", "All 11 preflight checks are met"),
    "--watch": ("kubectl get infrastructure cluster", "19/20"),
}
"""The end of a command, and what is printed a few seconds later, before the page continues."""


def quoted(section: str) -> set[str]:
    """Sentences and figures that a section says are printed: in spans, or lines of a block that are no commands."""
    spans = {span for span in re.findall(r"`([^`]+)`", section) if span.count(" ") > 1 or "/" in span}
    lines = {line.strip() for line in section.splitlines() if line.startswith("    ")}
    return {text for text in spans | lines if not text.startswith(("kubectl ", "hack/"))}


@pytest.mark.nightly
async def test_each_section_prints_what_it_quotes(tmp_path: pathlib.Path) -> None:
    folder, log = tmp_path / "box", tmp_path / "log"
    kubectl, python = pathlib.Path(documented.kubectl()), pathlib.Path(sys.executable)
    path = f"{kubectl.parent}:{python.parent}:{os.defpath}"
    environment = {"PATH": path, "HOME": str(tmp_path), "KUBECONFIG": f"{folder}/kubeconfig", "COLUMNS": "400"}
    box = (sys.executable, "-m", "topology_simulator", "cluster", "--folder", folder)

    async def typed(text: str) -> str:
        ended = await processes.run(*shlex.split(text), env=environment)
        return ended.printed + ended.complaint

    async def until(question: str, end: str) -> None:
        await polling.until(end, lambda: typed(question), holds=lambda printed: end in printed)

    async with processes.killed_after(await processes.logged(*box, log=log, env=environment)) as cluster:
        await polling.until("it runs", log.read_text, holds=lambda text: "etcd is stable again" in text)
        for heading, section in SECTIONS:
            printed = ""
            for command in documented.below(HOUR, heading):
                printed += "" if command.text.endswith("--watch") else await typed(command.text)
                for settled in (end for sign, end in SETTLED.items() if command.text.endswith(sign)):
                    await until(*settled)
            assert not {text for text in quoted(section) if text not in printed}, f"{heading}\n{printed}"
        cluster.terminate()
        await cluster.wait()
