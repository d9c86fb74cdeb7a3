"""docs/growing.md and docs/machines.md: what they tell an administrator to type leads to two machines more.

Commands of the hub go to a server with the kinds of a hub; what stands there then is what would make nodes: agents that
are approved, BareMetalHosts, replicas. What needs a machine, a file or a login is not run; `_TALK` lists it.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import processes
from test.component import documented, hub, test_kubectl
from topology_simulator import client as clients
from topology_simulator import kinds, kubeconfig
from topology_simulator.apiserver import server
from topology_simulator.envtest import binaries

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


_DOCS = pathlib.Path(__file__).parents[2] / "docs"
_GROWING, _MACHINES = _DOCS / "growing.md", _DOCS / "machines.md"
SITE = "edge"
NEW = ("master-1", "master-2")
_TALK = {"oc debug", "oc extract", "oc adm", "oc get csr"}
_FENCED = re.compile(r"(?m)^```yaml\n(.*?)^```$", re.DOTALL)


def _manifests(page: pathlib.Path) -> list[dict[str, Any]]:
    """Return the objects that a page shows."""
    blocks = _FENCED.findall(page.read_text(encoding="utf-8"))
    return [obj for block in blocks for obj in yaml.safe_load_all(block)]


@dataclass
class Administrator:
    """Who types what the page shows: kubectl for `oc`, with a context for the hub."""

    kubectl: str
    home: pathlib.Path
    hub: clients.Client
    printed: dict[str, str] = field(default_factory=dict)

    async def run(self, *words: str, given: str = "", code: int = 0) -> str:
        """Run kubectl, which must end so; return what it prints."""
        environment = {"KUBECONFIG": str(self.home / "kubeconfig-hub"), "HOME": str(self.home), "PATH": os.defpath}
        ended = await processes.run(self.kubectl, *words, given=given, env=environment)
        assert ended.code == code, f"kubectl {' '.join(words)}: {ended}"
        return ended.printed

    async def type(self, heading: str, **replaced: tuple[str, ...]) -> list[str]:
        """Type every command below a heading, one with a placeholder of `replaced` once for each of its values.

        Return the commands that were run.
        """
        typed = []
        for command in documented.below(_GROWING, heading):
            if any(command.text.startswith(one) for one in _TALK) or "oc topology" in command.text:
                continue
            text = command.text.replace("SITE", SITE)
            name = next((one for one in replaced if one in text), "")
            for value in replaced.get(name, ("",)):
                whole = text.replace(name, value) if name else text
                assert not re.search(r"\b[A-Z]{3,}\b", whole), whole
                self.printed[whole] = await self.run(*shlex.split(whole)[1:])
                typed.append(whole)
        assert typed, heading
        return typed


@pytest.fixture
async def administrator(tmp_path: pathlib.Path) -> AsyncIterator[Administrator]:
    above = server.ApiServer()
    await above.start()
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(above.stop)
        access = above.kubeconfig()
        api = await stack.enter_async_context(clients.Client(kubeconfig.access(access, tmp_path), "hub"))
        await hub.define(api, *hub.DEFINITIONS, namespace=SITE)
        (context,) = access["contexts"]
        (tmp_path / "kubeconfig-hub").write_text(yaml.safe_dump({**access, "contexts": [{**context, "name": "hub"}]}))
        yield Administrator(test_kubectl.needed(), tmp_path, api)


async def test_two_machines_that_were_booted_from_an_iso(administrator: Administrator) -> None:
    """Agents register when a person has booted the machines; those that are approved with role master are installed."""
    url = "https://hub.example.com/images/discovery.iso"
    await administrator.hub.create(hub.INFRA_ENVS, hub.INFRA_ENVS.new(SITE, SITE, spec={"clusterRef": {"name": SITE}}))
    await administrator.hub.patch_status(hub.INFRA_ENVS, SITE, {"isoDownloadURL": url}, SITE)
    agents = {f"0000000{number}-aaaa": name for number, name in enumerate(NEW)}
    for name, hostname in agents.items():
        spec = {"approved": False, "role": "auto-assign", "hostname": hostname}
        await administrator.hub.create(hub.AGENTS, hub.AGENTS.new(name, SITE, spec=spec))

    typed = await administrator.type("## By hand", AGENT=tuple(agents))

    assert url in administrator.printed.values()
    for name in agents:
        role, approval = (
            next(n for n, one in enumerate(typed) if name in one and sign in one) for sign in ("role", "approved")
        )
        assert role < approval, "an agent that is approved first becomes a worker"

    specs = [agent["spec"] for agent in await administrator.hub.list(hub.AGENTS, SITE)]
    assert [spec["hostname"] for spec in specs if spec["approved"] and spec["role"] == "master"] == [*NEW]


async def test_two_hosts_of_a_hub(administrator: Administrator) -> None:
    """Beside a ClusterInstance of type SNO they are BareMetalHosts of their own, as the page shows one."""
    spec = {"clusterName": SITE, "nodes": [{"hostName": "master-0", "role": "master"}], "clusterType": "SNO"}
    await administrator.hub.create(hub.CLUSTER_INSTANCES, hub.CLUSTER_INSTANCES.new(SITE, SITE, spec=spec))
    await administrator.hub.create(hub.INFRA_ENVS, hub.INFRA_ENVS.new(SITE, SITE, spec={"clusterRef": {"name": SITE}}))
    (shown,) = _manifests(_GROWING)
    text = yaml.safe_dump(shown).replace("SITE", SITE)
    for name in NEW:
        given = text.replace("master-1", name)
        await administrator.run("--context", "hub", "create", "--validate=strict", "-f", "-", given=given)
    typed = await administrator.type("## From a hub, with siteconfig")
    assert administrator.printed[typed[0]] == "SNO"
    environments = {one["metadata"]["name"] for one in await administrator.hub.list(hub.INFRA_ENVS, SITE)}
    metas = [host["metadata"] for host in await administrator.hub.list(hub.HOSTS, SITE)]
    prefix = "bmac.agent-install.openshift.io/"
    assert [*NEW] == [
        meta["annotations"][prefix + "hostname"]
        for meta in metas
        if meta["labels"]["infraenvs.agent-install.openshift.io"] in environments
        and meta["annotations"][prefix + "role"] == "master"
    ]


async def test_a_control_plane_that_is_scaled(administrator: Administrator) -> None:
    """In one request from one to three, which refuses any other start."""
    api, spec = administrator.hub, {"distributionVersion": "4.21.7", "replicas": 1}
    await api.create(hub.CONTROL_PLANES, hub.CONTROL_PLANES.new(SITE, SITE, spec=spec))
    await administrator.type("## From a hub, with Cluster API")
    once = await api.get(hub.CONTROL_PLANES, SITE, SITE)
    assert (once["spec"]["replicas"], once["metadata"]["generation"]) == (3, 2), "each write of spec counts"


async def test_the_machine_that_is_shown_is_one(tmp_path: pathlib.Path) -> None:
    """OpenShift's own definition of Machine takes it, without an unknown field; a typing error would be refused."""
    kubectl = test_kubectl.needed()
    (definition,) = (
        obj
        for path in sorted((binaries.definitions() / "machine").rglob("*_machines-Default.crd.yaml"))
        for obj in yaml.safe_load_all(path.read_text())
    )
    for version in definition["spec"]["versions"]:
        del version["additionalPrinterColumns"]  # whose paths have brackets, which our server does not know
    above = server.ApiServer()
    await above.start()
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(above.stop)
        api = await stack.enter_async_context(clients.Client(kubeconfig.access(above.kubeconfig(), tmp_path), "hub"))
        await api.create(kinds.DEFINITIONS, definition)
        await hub.define(api, hub.HOSTS, namespace="openshift-machine-api")
        config = tmp_path / "kubeconfig-site"
        config.write_text(yaml.safe_dump(above.kubeconfig()))
        environment = {"KUBECONFIG": str(config), "HOME": str(tmp_path), "PATH": os.defpath}
        host, machine = _manifests(_MACHINES)
        wrong = {**machine, "metadata": {**machine["metadata"], "name": "wrong"}, "spec": {"providerSpecs": {}}}
        codes = []
        for obj in (host, machine, wrong):
            words = ("create", "--validate=strict", "-f", "-")
            ended = await processes.run(kubectl, *words, given=yaml.safe_dump(obj), env=environment)
            codes.append(ended.code)
        assert codes == [0, 0, 1], ended

    namespace, name = machine["metadata"]["annotations"]["metal3.io/BareMetalHost"].split("/")
    assert (namespace, name) == (host["metadata"]["namespace"], host["metadata"]["name"])
    consumer = host["spec"]["consumerRef"]
    assert (consumer["kind"], consumer["name"]) == (machine["kind"], machine["metadata"]["name"])
    details = yaml.safe_load(host["metadata"]["annotations"]["inspect.metal3.io/hardwaredetails"])
    assert details["nics"][0]["mac"] == host["spec"]["bootMACAddress"]


def test_what_is_not_run_is_what_needs_a_machine_or_a_login():
    talks = [one for one in documented.of(_GROWING) if one.sort is documented.Sort.TALK and "topology" not in one.text]
    assert {" ".join(one.text.split()[:2]) for one in talks} <= _TALK
