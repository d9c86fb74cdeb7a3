"""The lines of docs/operations.md for one conversion and below "Uninstall", run in their order, leave nothing of ours.

The cluster is asked for everything that it has before the operator is installed and after it was taken away. What needs
the controllers of a whole cluster is done by hand: scaling to 0 stops the process, and what is in a namespace goes
with it. Kinds that our own API server does not serve (Service, NetworkPolicy, those of monitoring) are left out.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling
from test.component import backend, cluster, documented, installing, world
from topology_api import crd, crd_patch
from topology_controller import manifests
from topology_simulator import client as clients
from topology_simulator import conditions, kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "operations.md"
RIGHTS = [
    kinds.Kind("rbac.authorization.k8s.io", f"{kind.lower()}s", kind, namespaced=namespaced)
    for kind, namespaced in (
        ("Role", True),
        ("RoleBinding", True),
        ("ClusterRole", False),
        ("ClusterRoleBinding", False),
    )
]
ADMISSION = [
    kinds.Kind("admissionregistration.k8s.io", f"validatingadmission{plural}", f"ValidatingAdmission{kind}")
    for plural, kind in (("policies", "Policy"), ("policybindings", "PolicyBinding"))
]
KINDS = [*kinds.ALL, *RIGHTS, *ADMISSION, kinds.Kind("", "serviceaccounts", "ServiceAccount", namespaced=True)]


def converting() -> list[documented.Command]:
    """The commands of the recommended way, up to Completed."""
    return documented.below(PAGE, "### For one conversion")


def uninstalling() -> list[documented.Command]:
    """The commands of the section, up to where it begins to look."""
    found = documented.below(PAGE, "## Uninstall")
    return [one for one in found if "--ignore-not-found" not in one.text or one.sort is documented.Sort.PIPED][:-1]


def applied() -> list[dict[str, Any]]:
    """What is applied to a cluster, as far as our own server serves it."""
    text = manifests.render(manifests.Kind.OPERATOR, monitoring=False)
    served = {(one.api_version, one.kind) for one in KINDS}
    return [one for one in yaml.safe_load_all(text) if one and (one["apiVersion"], one["kind"]) in served]


@pytest.fixture
async def embedded(tmp_path: pathlib.Path) -> AsyncIterator[world.World]:
    async with world.opened(backend.Place(), tmp_path) as made:
        yield made


async def everything(api: clients.Client) -> dict[str, Any]:
    """All objects by kind and name, outside of our namespace; of Infrastructure also what it says."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        with contextlib.suppress(clients.ApiError):
            for one in await api.list(kind):
                meta = one["metadata"]
                if meta.get("namespace") != cluster.OWN_NAMESPACE:
                    said = {key: one.get(key) for key in ("spec", "status")} if kind is kinds.INFRASTRUCTURES else {}
                    found[f"{kind.plural}/{meta.get('namespace', '')}/{meta['name']}"] = said
    return found


def _name(obj: dict[str, Any]) -> str:
    kind = next(one for one in KINDS if (one.api_version, one.kind) == (obj["apiVersion"], obj["kind"]))
    return f"{kind.plural}/{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"


async def test_nothing_of_ours_is_left(embedded: world.World, tmp_path: pathlib.Path) -> None:
    api, terminal = embedded.api, installing.Administrator(embedded.server.kubeconfig(), tmp_path)
    served = await api.get(kinds.DEFINITIONS, crd.NAME)
    await terminal.oc("patch", "crd", crd.NAME, "--type", "json", "-p", json.dumps(crd_patch.remove(served)))
    bare = await api.get(kinds.DEFINITIONS, crd.NAME)
    before = await everything(api)
    *fields, _, ask, wait = converting()
    for command in fields:
        await terminal.types(command.text)
    with contextlib.suppress(clients.ApiError):
        await api.delete(kinds.NAMESPACES, cluster.OWN_NAMESPACE)
    await terminal.oc("create", "-f", "-", given=yaml.safe_dump_all(applied()))
    operator = await embedded.idle_operator()
    await terminal.types(ask.text)
    await embedded.completed_once()
    await terminal.types(wait.text)
    installed = await everything(api)

    for command in uninstalling():
        if " scale " in command.text:
            assert await operator.stop() == 0
        elif command.sort is documented.Sort.PIPED:
            await terminal.oc("delete", "--ignore-not-found", "-f", "-", given=yaml.safe_dump_all(applied()))
        else:
            await terminal.types(command.text)

    after = await everything(api)
    made = {_name(one) for one in applied() if one["metadata"].get("namespace") != cluster.OWN_NAMESPACE}
    assert len(made) > 20
    assert not made & set(after), "what was applied is gone"
    assert set(installed) - set(after) == made, "and nothing else: what others made of the topology stays"
    was, now = before["infrastructures//cluster"], after["infrastructures//cluster"]
    grown = {"controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable"}
    assert now["spec"] == was["spec"]
    assert now["status"] == {**was["status"], **grown}, "the topology stays, and nothing else"
    assert (await api.get(kinds.DEFINITIONS, crd.NAME))["spec"] == bare["spec"]
    assert "overrides" not in (await api.get(kinds.CLUSTER_VERSIONS, "version"))["spec"]

    async def forgotten() -> bool:
        return not conditions.of(await api.get(kinds.CLUSTER_VERSIONS, "version"), "Upgradeable")

    await polling.until("ClusterVersion holds nothing back any more", forgotten)


def test_the_page_has_the_lines_in_an_order_that_works():
    texts = [one.text for one in uninstalling()]
    signs = ['"desiredTopology":null', "=Idle", " scale ", "--for=delete", "-f -", '"topologyTransition":null', "sh "]
    places = [next(number for number, text in enumerate(texts) if sign in text) for sign in signs]
    assert places == sorted(places), json.dumps(texts, indent=1)
