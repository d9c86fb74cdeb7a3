"""docs/growing.md and docs/machines.md: what they tell an administrator to type leads to two machines more.

Commands of the hub go to a server with the kinds of a hub, as far as that page shows their fields; what stands there
then is what would make nodes: agents that are approved, BareMetalHosts, replicas. What needs a machine, a file or a
login is not run; `_TALK` lists it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling, processes
from test.component import documented
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

INFRA_ENVS = kinds.Kind("agent-install.openshift.io", "infraenvs", "InfraEnv", namespaced=True, version="v1beta1")
AGENTS = kinds.Kind("agent-install.openshift.io", "agents", "Agent", namespaced=True, version="v1beta1")
CLUSTER_INSTANCES = kinds.Kind(
    "siteconfig.open-cluster-management.io", "clusterinstances", "ClusterInstance", namespaced=True, version="v1alpha1"
)
HOSTS = kinds.Kind("metal3.io", "baremetalhosts", "BareMetalHost", namespaced=True, version="v1alpha1")
CONTROL_PLANES = kinds.Kind(
    "controlplane.cluster.x-k8s.io", "openshiftassistedcontrolplanes", "OpenshiftAssistedControlPlane",
    namespaced=True, version="v1alpha3",
)  # fmt: skip
_TEXT, _FLAG, _COUNT = {"type": "string"}, {"type": "boolean"}, {"type": "integer"}


def _fields(*required: str, **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, **({"required": [*required]} if required else {})}


_REFERENCE = _fields(apiVersion=_TEXT, kind=_TEXT, namespace=_TEXT, name=_TEXT)
SPECS = {
    INFRA_ENVS: _fields(clusterRef=_REFERENCE),
    AGENTS: _fields("approved", "role", approved=_FLAG, hostname=_TEXT, role={
        "type": "string", "enum": ["auto-assign", "master", "arbiter", "worker", "bootstrap"],
    }),
    CLUSTER_INSTANCES: _fields("clusterName", clusterName=_TEXT, clusterType=_TEXT),
    HOSTS: _fields(
        "online", online=_FLAG, externallyProvisioned=_FLAG, consumerRef=_REFERENCE,
        automatedCleaningMode={"type": "string", "enum": ["metadata", "disabled"]},
        bootMACAddress={"type": "string", "pattern": "[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}"},
        bmc=_fields("address", "credentialsName", address=_TEXT, credentialsName=_TEXT),
    ),
    CONTROL_PLANES: _fields("distributionVersion", distributionVersion=_TEXT, replicas=_COUNT),
}  # fmt: skip
"""The fields that the pages show, with the names and required fields of the real ones: openshift/assisted-service,
stolostron/siteconfig, metal3-io/baremetal-operator and openshift-assisted/cluster-api-provider-openshift-assisted."""
_SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


def definition(kind: kinds.Kind) -> dict[str, Any]:
    status = _fields(isoDownloadURL=_TEXT, replicas=_COUNT)
    schema = _fields(apiVersion=_TEXT, kind=_TEXT, metadata={"type": "object"}, spec=SPECS[kind], status=status)
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, **({"scale": _SCALE} if kind is CONTROL_PLANES else {})},
    }
    names = {"plural": kind.plural, "singular": kind.kind.lower(), "kind": kind.kind}
    spec = {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]}
    return kinds.DEFINITIONS.new(f"{kind.plural}.{kind.group}", spec=spec)


def manifests(page: pathlib.Path) -> list[dict[str, Any]]:
    """Return the objects that a page shows."""
    blocks = _FENCED.findall(page.read_text(encoding="utf-8"))
    return [obj for block in blocks for obj in yaml.safe_load_all(block)]


class Administrator:
    """Who types what the page shows: kubectl for `oc`, with a context for the hub, whose administrator is `api`."""

    def __init__(self, home: pathlib.Path, access: dict[str, Any], api: clients.Client) -> None:
        self.api = api
        self.printed: dict[str, str] = {}
        self._environment = {"KUBECONFIG": str(home / "kubeconfig-hub"), "HOME": str(home), "PATH": os.defpath}
        (context,) = access["contexts"]
        there = {**access, "contexts": [{**context, "name": "hub"}], "current-context": "hub"}
        (home / "kubeconfig-hub").write_text(yaml.safe_dump(there))

    async def define(self, namespace: str, *served: kinds.Kind) -> None:
        """Let the server serve these kinds of a hub, and make a namespace."""
        for kind in served:
            await self.api.create(kinds.DEFINITIONS, definition(kind))
        await self.api.create(kinds.NAMESPACES, kinds.NAMESPACES.new(namespace))
        for kind in served:
            await polling.until(f"{kind.plural} are served", functools.partial(self._is_served, kind), 20.0)

    async def _is_served(self, kind: kinds.Kind) -> bool:
        with contextlib.suppress(clients.ApiError):
            await self.api.list(kind)
            return True
        return False

    async def run(self, *words: str, given: str = "") -> processes.Ended:
        return await processes.run(documented.kubectl(), *words, given=given, env=self._environment)

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
                ended = await self.run(*shlex.split(whole)[1:])
                assert ended.code == 0, ended
                self.printed[whole] = ended.printed
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
        api = await stack.enter_async_context(clients.Client(kubeconfig.access(access), "hub"))
        yield Administrator(tmp_path, access, api)


async def test_agents_of_an_iso_hosts_of_a_hub_and_replicas_of_a_control_plane(administrator: Administrator) -> None:
    api = administrator.api
    await administrator.define(SITE, *SPECS)
    # Agents register when a person has booted the machines; those that are approved with role master are installed.
    url = "https://hub.example.com/images/discovery.iso"
    await api.create(INFRA_ENVS, INFRA_ENVS.new(SITE, SITE, spec={"clusterRef": {"name": SITE}}))
    await api.patch_status(INFRA_ENVS, SITE, {"isoDownloadURL": url}, SITE)
    agents = {f"0000000{number}-aaaa": name for number, name in enumerate(NEW)}
    for name, hostname in agents.items():
        spec = {"approved": False, "role": "auto-assign", "hostname": hostname}
        await api.create(AGENTS, AGENTS.new(name, SITE, spec=spec))
    typed = await administrator.type("## By hand", AGENT=tuple(agents))
    assert url in administrator.printed.values()
    for name in agents:
        role, approval = (
            next(n for n, one in enumerate(typed) if name in one and sign in one) for sign in ("role", "approved")
        )
        assert role < approval, "an agent that is approved first becomes a worker"
    specs = [agent["spec"] for agent in await api.list(AGENTS, SITE)]
    assert [spec["hostname"] for spec in specs if spec["approved"] and spec["role"] == "master"] == [*NEW]

    # Beside a ClusterInstance of type SNO they are BareMetalHosts of their own, as the page shows one.
    spec = {"clusterName": SITE, "clusterType": "SNO"}
    await api.create(CLUSTER_INSTANCES, CLUSTER_INSTANCES.new(SITE, SITE, spec=spec))
    (shown,) = manifests(_GROWING)
    text = yaml.safe_dump(shown).replace("SITE", SITE)
    for name in NEW:
        ended = await administrator.run("create", "--validate=strict", "-f", "-", given=text.replace("master-1", name))
        assert ended.code == 0, ended
    typed = await administrator.type("## From a hub, with siteconfig")
    assert administrator.printed[typed[0]] == "SNO"
    prefix = "bmac.agent-install.openshift.io/"
    metas = [host["metadata"] for host in await api.list(HOSTS, SITE)]
    assert {meta["labels"]["infraenvs.agent-install.openshift.io"] for meta in metas} == {SITE}
    named = [(meta["annotations"][prefix + "hostname"], meta["annotations"][prefix + "role"]) for meta in metas]
    assert named == [(name, "master") for name in NEW]

    # In one request from one to three, which refuses any other start.
    spec = {"distributionVersion": "4.21.7", "replicas": 1}
    await api.create(CONTROL_PLANES, CONTROL_PLANES.new(SITE, SITE, spec=spec))
    await administrator.type("## From a hub, with Cluster API")
    once = await api.get(CONTROL_PLANES, SITE, SITE)
    assert (once["spec"]["replicas"], once["metadata"]["generation"]) == (3, 2), "each write of spec counts"


async def test_the_machine_that_is_shown_is_one(administrator: Administrator) -> None:
    """OpenShift's own definition of Machine takes it, without an unknown field; a typing error would be refused."""
    (file,) = (binaries.definitions() / "machine").rglob("*_machines-Default.crd.yaml")
    served = yaml.safe_load(file.read_text())
    for version in served["spec"]["versions"]:
        del version["additionalPrinterColumns"]  # whose paths have brackets, which our server does not know
    await administrator.api.create(kinds.DEFINITIONS, served)
    await administrator.define("openshift-machine-api", HOSTS)
    host, machine = manifests(_MACHINES)
    wrong = {**machine, "metadata": {**machine["metadata"], "name": "wrong"}, "spec": {"providerSpecs": {}}}
    for obj, code in ((host, 0), (machine, 0), (wrong, 1)):
        ended = await administrator.run("create", "--validate=strict", "-f", "-", given=yaml.safe_dump(obj))
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
