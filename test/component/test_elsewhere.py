"""The operator acts on a cluster that it does not run in: the lease is in one cluster, everything else in the other.

Whatever happens to either, nothing is written to the site without the lease, and nothing to the other cluster but the
lease (`elsewhere.Pair` asks at each write). The topology changes once, and the end is the same.
"""

from __future__ import annotations

import base64
import json
import pathlib
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test.component import backend, documented, elsewhere, installing, metrics_clients
from test.component import world as worlds
from test.component.rights import pod
from topology_simulator import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from test.component.elsewhere import Management, Pair, Site

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "elsewhere.md"
OWN_LEASE = "leases.coordination.k8s.io/cluster-topology-operator in namespace openshift-topology-operator"


@pytest.fixture(scope="module")
def site(real_binaries: None) -> Iterator[Site]:
    with elsewhere.Site() as session:
        yield session


@pytest.fixture(scope="module")
def management(real_binaries: None) -> Iterator[Management]:
    with elsewhere.Management() as session:
        yield session


@pytest.fixture(params=["embedded"])
async def pair(here: worlds.World, tmp_path: pathlib.Path) -> AsyncIterator[Pair]:
    async with elsewhere.opened(here, None, tmp_path) as made:
        yield made


@pytest.fixture
async def real_pair(site: Site, management: Management, tmp_path: pathlib.Path) -> AsyncIterator[Pair]:
    """For what the embedded servers do not know: rights and tokens."""
    async with (
        worlds.opened(backend.Place(site), tmp_path) as world,
        elsewhere.opened(world, management, tmp_path) as made,
    ):
        yield made


async def test_lease_here_record_events_and_report_there(pair: Pair) -> None:
    world = pair.world
    operator = await pair.operator(lease=())
    await pair.held_by("operator-a")
    await world.ask_for()
    await world.completed_once()

    assert {one.who for one in world.server.writes} == {"operator-a"}
    assert await world.holder() == "", "nothing of the site's own lease"
    asked = {(one.resource, one.name) for one in pair.local.asked() if one.resource != "leases"}
    assert asked == {("namespaces", "kube-system")}
    # The site was a single node, and is none now: its shape is not that of the cluster of the lease.
    assert (await pair.lease())["leaseDurationSeconds"] == 137
    assert await operator.metric("leader_election_master_status") == 1
    assert await operator.stop() == 0
    assert await pair.holder() == ""


async def test_scrapers_are_known_where_it_runs(
    real_pair: Pair, management: Management, tmp_path: pathlib.Path
) -> None:
    pair = real_pair
    given = serving.Serving(tmp_path / "tls", management.server.client_authority)
    operator = await metrics_clients.serving_tls(pair.operator, given)
    async with (
        metrics_clients.account(pair.api, "scraper", metrics_clients.METRICS_ROLE) as known,
        metrics_clients.account(pair.world.api, "scraper") as stranger,
    ):
        for token, code in ((known, 200), (stranger, 401)):
            assert (await operator.ask("/metrics", headers={"Authorization": f"Bearer {token}"}))[0] == code
    site = {one.resource for one in pair.world.server.asked()}
    assert not site & {"tokenreviews", "subjectaccessreviews", "apiservers"}


async def test_an_operator_of_the_site_goes_before_and_comes_back(pair: Pair) -> None:
    world = pair.world
    own = await world.idle_operator("operator-b")
    operator = await pair.operator("operator-a", wait=False)
    await pair.not_ready(operator, "its own operator holds", OWN_LEASE, "as operator-b")
    assert await pair.lease() == {}
    assert await own.stop() == 0

    # Its lease is released, so it is free at once.
    await operator.ready(30.0)
    await pair.held_by("operator-a")
    own = await world.operator("operator-b")
    await pair.not_ready(operator, "its own operator holds")
    before = pair.writes("operator-a")
    await world.ask_for()
    await world.completed_once()
    assert pair.writes("operator-a") == before
    assert {one.who for one in world.server.topology_changes} == {"operator-b"}
    assert await operator.metric("topology_transition_phase", phase="Completed") == 0, "it shows nothing of its own"

    assert await own.stop() == 0
    await operator.ready(30.0)
    await world.ask_for(None)
    await world.until_phase("Idle")
    assert pair.writes("operator-a") > before


async def test_the_commands_of_the_page_lead_there(real_pair: Pair, tmp_path: pathlib.Path) -> None:
    """Both sets are applied, the kubeconfig is made and stored: the operator has all that it needs, and nothing more.

    Nothing of the administrator's credentials is stored or left behind, and the token can be taken back.
    """
    pair, desk = real_pair, tmp_path / "desk"
    desk.mkdir()
    administrator = installing.Administrator(two_contexts(pair), desk)
    watched(administrator)
    install, store = documented.blocks(PAGE, "## Commands")
    bare = "--namespace topology-edge-1"
    await administrator.types(f"set -e\n{install.replace(bare, f'{bare} --without-monitoring')}")
    await administrator.types(store)
    # The next time it is there already.
    await administrator.types(store)
    hub = ("--context", "hub", "-n", elsewhere.NAMESPACE)
    deployment = json.loads(await administrator.oc(*hub, "get", "deployment", installing.NAME, "-o", "json"))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    (folder,) = (one["mountPath"] for one in container["volumeMounts"] if one["name"] == "target")
    secret = json.loads(await administrator.oc(*hub, "get", "secret", "topology-target", "-o", "json"))
    stored = {name: base64.b64decode(content) for name, content in secret["data"].items()}
    for name, content in stored.items():
        (tmp_path / name).write_bytes(content)
    (user,) = yaml.safe_load(stored["kubeconfig"])["users"]
    assert set(user["user"]) == {"token"}
    assert "annotations" not in secret["metadata"], "the token is nowhere else"
    for name, access in (("edge-1", pair.world.server), ("hub", pair.local)):
        for value in access.kubeconfig()["users"][0]["user"].values():
            assert str(value).encode() not in stored["kubeconfig"], f"a credential of {name}'s administrator"
    claims = json.loads(base64.urlsafe_b64decode(user["user"]["token"].split(".")[1] + "=="))
    assert claims["kubernetes.io"]["secret"]["name"] == "topology-elsewhere"
    assert claims["exp"] - claims["iat"] == 90 * 24 * 3600
    assert not list(desk.glob("edge-1*")), "nothing is left"
    assert (desk / "modes").read_text().split() == ["600"] * 2
    assert user["user"]["token"] not in (desk / "typed").read_text(), "everybody on this computer sees the processes"
    pair.elsewhere[user["user"]["token"]] = "operator-pod"

    account = pod.ServiceAccount(tmp_path / "account", pair.local.kubeconfig())
    account.write((await administrator.oc(*hub, "create", "token", installing.NAME)).strip())
    flags = [flag.replace(folder, str(tmp_path)) for flag in container["args"] if "kubeconfig" in flag]
    flags.append(f"--lease-namespace={elsewhere.NAMESPACE}")
    port = int(pair.local.kubeconfig()["clusters"][0]["cluster"]["server"].rpartition(":")[2])
    operator = await pod.start(account, port, tmp_path / "pod.log", *flags)
    pair.world.operators.append(operator)
    await operator.ready()
    await pair.world.ask_for()
    await pair.world.completed_once()
    assert await pair.holder() == "operator-pod"
    assert {one.who for one in pair.world.server.writes} == {user["user"]["token"]}
    assert await operator.metric("topology_credential_expiry_timestamp_seconds") == claims["exp"]

    (take_back,) = documented.blocks(PAGE, "## Replacing the token")
    await administrator.types(take_back)
    await pair.not_ready(operator, "401 Unauthorized")


def watched(administrator: installing.Administrator) -> None:
    """Note what `oc` is called with, and who may read the kubeconfig that is made when it is stored."""
    oc = administrator.folder / "bin" / "oc"
    oc.unlink()
    oc.write_text(f"""#!/bin/sh
echo "$@" >> {administrator.folder}/typed
case "$*" in *--from-file=*) stat -c %a edge-1.kubeconfig >> {administrator.folder}/modes;; esac
exec {administrator.folder}/bin/kubectl "$@"
""")
    oc.chmod(0o755)


def two_contexts(pair: Pair) -> dict[str, Any]:
    """A kubeconfig of an administrator of both clusters."""
    made: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": "edge-1"}
    made |= {"clusters": [], "users": [], "contexts": []}
    for name, server in (("edge-1", pair.world.server), ("hub", pair.local)):
        access = server.kubeconfig()
        made["clusters"].append({"name": name, "cluster": access["clusters"][0]["cluster"]})
        made["users"].append({"name": name, "user": access["users"][0]["user"]})
        made["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
    return made
