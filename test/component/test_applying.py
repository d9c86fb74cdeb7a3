"""What `cluster-topology-operator manifests` prints is taken by an API server, whole, from kubectl and at once.

On the real server the definitions of ServiceMonitor and PrometheusRule judge ours: kubectl validates each against
what the server says its kind looks like, and an unknown field is an error. What else is asked of an empty cluster:
`test_installing_and_leaving`.
"""

from __future__ import annotations

import os
import pathlib
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import processes
from test.component import documented
from topology_controller import manifests
from topology_simulator import client as clients
from topology_simulator import install, kinds, kubeconfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from test.component import backend

_ROOT = pathlib.Path(__file__).parents[2]
RUNBOOK = _ROOT / "docs" / "runbooks" / "TopologyOperatorNotWatching.md"
PRINTED = manifests.render(manifests.Kind.OPERATOR)
OBJECTS = list(yaml.safe_load_all(PRINTED))


@pytest.fixture
async def environment(
    apiserver: backend.Place, tmp_path: pathlib.Path, request: pytest.FixtureRequest
) -> AsyncIterator[dict[str, str]]:
    """An API server with the definitions of a cluster and the namespaces of others, without ours."""
    ours = {one["metadata"]["name"] for one in OBJECTS if one["kind"] == "Namespace"}
    async with apiserver.opened() as server:
        place = tmp_path / "kubeconfig"
        place.write_text(yaml.safe_dump(server.kubeconfig()))
        async with clients.Client(kubeconfig.load(place), "administrator") as api:
            await install.define(api)
            for name in {one["metadata"].get("namespace", "default") for one in OBJECTS} - ours:
                if await api.find(kinds.NAMESPACES, name) is None:
                    await api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(name))
        if apiserver.is_real:
            # Around the proxy: kubectl sends no token over HTTP.
            place.write_text(yaml.safe_dump(request.getfixturevalue("real_server").server.kubeconfig()))
        yield {"KUBECONFIG": str(place), "HOME": str(tmp_path), "PATH": os.defpath}


async def test_everything_is_applied_at_once_and_applying_it_again_changes_nothing(
    environment: dict[str, str],
) -> None:
    apply = (documented.kubectl(), "apply", "-f", "-")
    first = await processes.run(*apply, given=PRINTED, env=environment)
    assert (first.code, first.complaint) == (0, "")
    assert len(re.findall(r" created$", first.printed, re.MULTILINE)) == len(OBJECTS), first.printed
    again = await processes.run(*apply, given=PRINTED, env=environment)
    assert (again.code, again.complaint) == (0, "")
    changed = [line for line in again.printed.splitlines() if not line.endswith(" unchanged")]
    assert all(line.startswith(("namespace/", "clusteroperator.")) for line in changed), changed

    commands = re.findall(
        r"^ +oc (-n \S+ get (?:service,|role,).*|get namespace .*)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(commands) == 3, commands
    for command in commands:
        ended = await processes.run(documented.kubectl(), *command.split(), env=environment)
        assert (ended.code, ended.complaint, bool(ended.printed)) == (0, "", True), command


@pytest.mark.on_real
async def test_a_mistake_in_the_monitoring_is_refused(environment: dict[str, str]) -> None:
    wrong = PRINTED.replace("serverName: ", "servername: ")
    ended = await processes.run(documented.kubectl(), "apply", "-f", "-", given=wrong, env=environment)
    assert ended.code == 1
    assert 'unknown field "spec.endpoints[0].tlsConfig.servername"' in ended.complaint


async def test_kubectl_builds_what_is_printed_and_for_older_releases_another_constraint() -> None:
    """People without a payload need one of the two. restricted-v3, and what it asks for, is there since 4.20."""

    async def built(folder: str) -> list[dict[str, Any]]:
        ended = await processes.run(documented.kubectl(), "kustomize", _ROOT / folder)
        assert (ended.code, ended.complaint) == (0, ""), ended
        return list(yaml.safe_load_all(ended.printed))

    assert await built("bindata") == OBJECTS
    older = await built("docs/examples/restricted-v2")
    ((old, new),) = [pair for pair in zip(older, OBJECTS, strict=True) if pair[0] != pair[1]]
    for one, constraint in ((old, "restricted-v2"), (new, "restricted-v3")):
        assert one["spec"]["template"]["metadata"]["annotations"]["openshift.io/required-scc"] == constraint
    assert "hostUsers" not in old["spec"]["template"]["spec"]
    assert new["spec"]["template"]["spec"]["hostUsers"] is False
