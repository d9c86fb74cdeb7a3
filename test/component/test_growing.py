"""docs/growing.md and docs/machines.md: what they tell an administrator to type leads to two machines more.

Commands of the hub go to a server with the kinds of a hub, most of which take anything; what stands there then is what
would make nodes: agents that are approved, BareMetalHosts, replicas. What needs a machine, a file or a login is not
run; `_TALK` lists it.
"""

from __future__ import annotations

import pathlib
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test.component import definitions, documented, installing
from topology_simulator import client as clients
from topology_simulator import install, kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from test.component import real

_DOCS = pathlib.Path(__file__).parents[2] / "docs"
_GROWING, _MACHINES = _DOCS / "growing.md", _DOCS / "machines.md"
SITE = "edge"
NEW = ("master-1", "master-2")
_TALK = {"oc debug", "oc extract", "oc adm", "oc get csr"}
_FENCED = re.compile(r"(?m)^```yaml\n(.*?)^```$", re.DOTALL)

_INSTALLER, _SITECONFIG = "agent-install.openshift.io", "siteconfig.open-cluster-management.io"
INFRA_ENVS = kinds.Kind(_INSTALLER, "infraenvs", "InfraEnv", namespaced=True, version="v1beta1")
AGENTS = kinds.Kind(_INSTALLER, "agents", "Agent", namespaced=True, version="v1beta1")
CLUSTERS = kinds.Kind(_SITECONFIG, "clusterinstances", "ClusterInstance", namespaced=True, version="v1alpha1")
CONTROL_PLANES = kinds.Kind(
    "controlplane.cluster.x-k8s.io", "openshiftassistedcontrolplanes", "OpenshiftAssistedControlPlane",
    namespaced=True, version="v1alpha3",
)  # fmt: skip
_SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


def manifests(page: pathlib.Path) -> list[dict[str, Any]]:
    """Return the objects that a page shows."""
    blocks = _FENCED.findall(page.read_text(encoding="utf-8"))
    return [obj for block in blocks for obj in yaml.safe_load_all(block)]


class Administrator(installing.Administrator):
    """Who types what the page shows, with a context for the hub, whose administrator is `api`."""

    def __init__(self, folder: pathlib.Path, access: dict[str, Any], api: clients.Client) -> None:
        (context,) = access["contexts"]
        super().__init__({**access, "contexts": [{**context, "name": "hub"}], "current-context": "hub"}, folder)
        self.api = api

    async def define(self, namespace: str, *served: kinds.Kind) -> None:
        """Let the server serve these kinds of a hub, and make a namespace."""
        for kind in served:
            scale = {"scale": _SCALE} if kind is CONTROL_PLANES else {}
            await self.api.create(kinds.DEFINITIONS, install.of_anything(kind, **scale))
        await self.api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(namespace))
        for kind in served:
            await definitions.until_served(self.api, kind)

    async def type(self, heading: str, **replaced: tuple[str, ...]) -> list[tuple[str, str]]:
        """Type every command below a heading, one with a placeholder of `replaced` once for each of its values.

        Return the commands that were run, each with what it printed.
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
                typed.append((whole, await self.types(whole)))
        assert typed, heading
        return typed


@pytest.fixture
async def administrator(real_server: real.Session, tmp_path: pathlib.Path) -> AsyncIterator[Administrator]:
    await real_server.furnish(None)
    async with clients.Client(real_server.access(), "hub") as api:
        yield Administrator(tmp_path, real_server.server.kubeconfig(), api)


async def test_agents_of_an_iso_hosts_of_a_hub_and_replicas_of_a_control_plane(administrator: Administrator) -> None:
    api = administrator.api
    await administrator.define(SITE, INFRA_ENVS, AGENTS, CLUSTERS, CONTROL_PLANES)
    # Agents register when a person has booted the machines; those that are approved with role master are installed.
    url = "https://hub.example.com/images/discovery.iso"
    await api.create(INFRA_ENVS, INFRA_ENVS.new(SITE, SITE, status={"isoDownloadURL": url}))
    agents = {f"0000000{number}-aaaa": name for number, name in enumerate(NEW)}
    for name, hostname in agents.items():
        spec = {"approved": False, "role": "auto-assign", "hostname": hostname}
        await api.create(AGENTS, AGENTS.new(name, SITE, spec=spec))
    typed = await administrator.type("## By hand", AGENT=tuple(agents))
    assert url in [printed for _, printed in typed]
    for name in agents:
        role, approval = (
            next(n for n, (one, _) in enumerate(typed) if name in one and sign in one) for sign in ("role", "approved")
        )
        assert role < approval, "an agent that is approved first becomes a worker"
    specs = [agent["spec"] for agent in await api.list(AGENTS, SITE)]
    assert [spec["hostname"] for spec in specs if spec["approved"] and spec["role"] == "master"] == [*NEW]

    # Beside a ClusterInstance of type SNO they are BareMetalHosts of their own, as the page shows one.
    await api.create(CLUSTERS, CLUSTERS.new(SITE, SITE, spec={"clusterName": SITE, "clusterType": "SNO"}))
    (shown,) = manifests(_GROWING)
    text = yaml.safe_dump(shown).replace("SITE", SITE)
    for name in NEW:
        await administrator.oc("create", "-f", "-", given=text.replace("master-1", name))
    ((_, printed), *_) = await administrator.type("## From a hub, with siteconfig")
    assert printed == "SNO"
    prefix = "bmac.agent-install.openshift.io/"
    metas = [host["metadata"] for host in await api.list(kinds.BARE_METAL_HOSTS, SITE)]
    assert {meta["labels"]["infraenvs.agent-install.openshift.io"] for meta in metas} == {SITE}
    named = [(meta["annotations"][prefix + "hostname"], meta["annotations"][prefix + "role"]) for meta in metas]
    assert named == [(name, "master") for name in NEW]

    # In one request from one to three, which refuses any other start.
    await api.create(CONTROL_PLANES, CONTROL_PLANES.new(SITE, SITE, spec={"replicas": 1}))
    await administrator.type("## From a hub, with Cluster API")
    once = await api.get(CONTROL_PLANES, SITE, SITE)
    assert (once["spec"]["replicas"], once["metadata"]["generation"]) == (3, 2), "each write of spec counts"


async def test_the_machine_that_is_shown_is_one(administrator: Administrator) -> None:
    """OpenShift's own definition of Machine takes it, without an unknown field; a typing error would be refused."""
    host, machine = manifests(_MACHINES)
    wrong = {**machine, "metadata": {**machine["metadata"], "name": "wrong"}, "spec": {"providerSpecs": {}}}
    for obj, code in ((host, 0), (machine, 0), (wrong, 1)):
        command = ("kubectl", "create", "--validate=strict", "-f", "-")
        ended = await administrator.tries(*command, given=yaml.safe_dump(obj))
        assert ended.code == code, ended

    namespace, name = machine["metadata"]["annotations"]["metal3.io/BareMetalHost"].split("/")
    assert (namespace, name) == (host["metadata"]["namespace"], host["metadata"]["name"])
    consumer = host["spec"]["consumerRef"]
    assert (consumer["kind"], consumer["name"]) == (machine["kind"], machine["metadata"]["name"])
    details = yaml.safe_load(host["metadata"]["annotations"]["inspect.metal3.io/hardwaredetails"])
    assert details["nics"][0]["mac"] == host["spec"]["bootMACAddress"]


def test_what_is_not_run_is_what_needs_a_machine_or_a_login():
    talks = [one for one in documented.of(_GROWING) if one.sort is documented.Sort.TALK and "topology" not in one.text]
    assert {" ".join(one.text.split()[:2]) for one in talks} <= _TALK
