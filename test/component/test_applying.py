"""What `cluster-topology-operator manifests` prints is taken by an API server, whole, from kubectl and at once.

On both servers, so that the definitions of ServiceMonitor and PrometheusRule judge our objects: kubectl validates each
against what the server says its kind looks like, and an unknown field is an error.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import processes
from test.component import forked, test_kubectl
from topology_controller import manifests
from topology_simulator import client as clients
from topology_simulator import install, kinds, kubeconfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from test.component import backend


_ROOT = pathlib.Path(__file__).parents[2]
RUNBOOK = _ROOT / "docs" / "runbooks" / "TopologyOperatorNotWatching.md"


@dataclass(frozen=True, slots=True)
class Administrator:
    """Somebody with kubectl, and with a client that looks at what came of it."""

    binary: str
    environment: dict[str, str]
    api: clients.Client

    async def kubectl(self, *arguments: str, given: str = "") -> tuple[int, str, str]:
        """Run kubectl to its end; return its exit code, what it printed and what it complained about.

        Less the warnings about what was there before: the rights of operators, on the real server of a test run.
        """
        code, printed, said = await processes.run(self.binary, *arguments, given=given, env=self.environment)
        kept = [line for line in said.splitlines() if "is missing the kubectl.kubernetes.io/last-applied" not in line]
        return code, printed, "\n".join(kept)


async def printed_manifests(*flags: str) -> str:
    ended = await forked.run(forked.OPERATOR, "manifests", *flags)
    assert ended.code == 0, ended.complaint
    return ended.printed


@pytest.fixture
async def administrator(
    apiserver: backend.Place, tmp_path: pathlib.Path, request: pytest.FixtureRequest
) -> AsyncIterator[Administrator]:
    """An API server with the definitions of a cluster and the namespaces of others, without ours."""
    binary = test_kubectl.needed()
    objects = list(yaml.safe_load_all(await printed_manifests()))
    ours = {one["metadata"]["name"] for one in objects if one["kind"] == "Namespace"}
    async with apiserver.opened() as server:
        access = server.kubeconfig()
        place = tmp_path / "kubeconfig"
        place.write_text(yaml.safe_dump(access))
        async with clients.Client(kubeconfig.load(place), "administrator") as api:
            await install.define(api)
            for name in {one["metadata"].get("namespace", "default") for one in objects} - ours:
                if await api.find(kinds.NAMESPACES, name) is None:
                    await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(name))
            if apiserver.is_real:
                # Around the proxy: kubectl sends no token over HTTP.
                place.write_text(yaml.safe_dump(request.getfixturevalue("real_server").server.kubeconfig()))
            environment = {"KUBECONFIG": str(place), "HOME": str(tmp_path), "PATH": os.defpath}
            yield Administrator(binary, environment, api)


async def test_everything_is_applied_at_once_and_applying_it_again_changes_nothing(
    administrator: Administrator,
) -> None:
    text = await printed_manifests()
    count = len(list(yaml.safe_load_all(text)))
    code, said, complaint = await administrator.kubectl("apply", "-f", "-", given=text)
    assert (code, complaint) == (0, ""), complaint
    assert len(re.findall(r" (?:created|configured|unchanged)$", said, re.MULTILINE)) == count, said
    monitor = await administrator.api.get(
        kinds.SERVICE_MONITORS, "cluster-topology-operator", "openshift-topology-operator"
    )
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["tlsConfig"]["certFile"].endswith("/metrics-client-certs/tls.crt"), "a field was pruned"
    rules = await administrator.api.get(
        kinds.PROMETHEUS_RULES, "cluster-topology-operator", "openshift-topology-operator"
    )
    (printed,) = [one for one in yaml.safe_load_all(text) if one["kind"] == "PrometheusRule"]
    assert rules["spec"] == printed["spec"]
    code, said, complaint = await administrator.kubectl("apply", "-f", "-", given=text)
    assert (code, complaint) == (0, ""), complaint
    assert "created" not in said
    for kind in ("prometheusrule", "servicemonitor", "configmap", "role", "rolebinding"):
        lines = [line for line in said.splitlines() if line.startswith(kind)]
        assert lines, kind
        assert all(line.endswith(" unchanged") for line in lines), lines

    commands = re.findall(
        r"^ +oc (-n \S+ get (?:service,|role,).*|get namespace .*)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(commands) == 3, commands
    for command in commands:
        code, said, complaint = await administrator.kubectl(*command.split())
        assert (code, complaint, bool(said)) == (0, "", True), command


@pytest.mark.on_real
async def test_a_mistake_in_the_monitoring_is_refused(administrator: Administrator) -> None:
    old, why = "serverName: ", 'unknown field "spec.endpoints[0].tlsConfig.servername"'
    text = await printed_manifests()
    assert old in text
    code, _, complaint = await administrator.kubectl("apply", "-f", "-", given=text.replace(old, old.lower()))
    assert code == 1
    assert why in complaint


def built(folder: str) -> list[dict[str, Any]]:
    """What kubectl builds from a folder of the repository."""
    command = [test_kubectl.needed(), "kustomize", str(_ROOT / folder)]
    made = subprocess.run(command, capture_output=True, text=True, timeout=60.0, check=False)  # noqa: S603 - the kubectl of the tests
    assert (made.returncode, made.stderr) == (0, ""), made.stderr
    return list(yaml.safe_load_all(made.stdout))


def test_kubectl_builds_what_the_program_prints_and_for_older_releases_another_constraint() -> None:
    """People without a payload need one of the two. restricted-v3, and what it asks for, is there since 4.20."""
    printed = list(yaml.safe_load_all(manifests.render(manifests.Kind.OPERATOR)))
    assert built("bindata") == printed
    older = built("docs/examples/restricted-v2")
    ((old, new),) = [pair for pair in zip(older, printed, strict=True) if pair[0] != pair[1]]
    template = new["spec"]["template"]
    assert template["metadata"]["annotations"].pop("openshift.io/required-scc") == "restricted-v3"
    assert template["spec"].pop("hostUsers") is False
    assert old["spec"]["template"]["metadata"]["annotations"].pop("openshift.io/required-scc") == "restricted-v2"
    assert old == new
