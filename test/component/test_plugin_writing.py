"""A request that is made and cancelled with the installed command, and without the right to.

What the API server has no part in runs on our own; rights and impersonation are asked of a real one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from test import polling, sentences
from test.component import backend, cluster, plugin
from test.component import world as worlds
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import real
    from test.component.world import World

DESIRED = worlds.DESIRED
CONFIRMED = ("set", DESIRED, "--confirm")
_RBAC = "rbac.authorization.k8s.io"
_ROLES = kinds.Kind(_RBAC, "clusterroles", "ClusterRole")
_BINDINGS = kinds.Kind(_RBAC, "clusterrolebindings", "ClusterRoleBinding")


@pytest.fixture
async def here(tmp_path: pathlib.Path) -> AsyncIterator[World]:
    async with worlds.opened(backend.Place(), tmp_path) as made:
        yield made


@pytest.fixture
def command(here: World, tmp_path: pathlib.Path) -> plugin.Plugin:
    return plugin.Plugin(tmp_path, here.server.kubeconfig())


@pytest.fixture
async def there(real_server: real.Session, tmp_path: pathlib.Path) -> AsyncIterator[World]:
    async with worlds.opened(backend.Place(real_server), tmp_path) as made:
        yield made


async def requested(world: World) -> str | None:
    found: str | None = (await world.infrastructure())["spec"].get("desiredTopology")
    return found


async def test_a_request_is_refused_then_made_then_cancelled_then_carried_out(
    here: World, command: plugin.Plugin
) -> None:
    await here.idle_operator()
    await cluster.set_ready(here.api, "master-2", ready=False)
    mark = here.server.mark()
    refused = await command.run(*CONFIRMED)
    assert refused.code == plugin.BLOCKED
    assert "Refused  Nothing was written." in refused.printed
    code, dry = await command.json("set", DESIRED, "--allow-pending")
    assert (code, dry["result"], here.server.changes(plugin.PROGRAM, mark)) == (plugin.DONE, "WouldWrite", 0)

    code, made = await command.json(*CONFIRMED, "--allow-pending")
    assert (code, made["result"], made["desired"], await requested(here)) == (plugin.DONE, "Written", None, DESIRED)
    assert made["operatorSays"].startswith("Pending 9/10: waiting for ControlPlaneNodes")
    code, again = await command.json(*CONFIRMED)
    assert (code, again["result"], again["patch"]) == (plugin.DONE, "Unchanged", None)
    code, cancelled = await command.json("cancel")
    assert (code, cancelled["result"], cancelled["phase"]) == (plugin.DONE, "Written", "Idle")
    assert cancelled["requestedBy"] == plugin.PROGRAM
    assert here.server.changes(plugin.PROGRAM, mark) == 2

    await cluster.set_ready(here.api, "master-2", ready=True)
    carried = await command.run(*CONFIRMED, "--wait", "--timeout", "50s")
    assert carried.code == plugin.DONE, carried
    assert carried.printed.endswith(f"{sentences.COMPLETED}. 3 actions required, see: oc topology status\n")
    removed = await command.run("cancel")
    assert removed.code == plugin.DONE
    text = " ".join(removed.printed.split())
    assert "The fulfilled request HighlyAvailable is removed; the cluster stays HighlyAvailable/HighlyAvailable" in text
    assert f"Request none; before: {DESIRED}, made by {plugin.PROGRAM}" in text
    assert "Phase Idle" in text
    assert await requested(here) is None
    code, ways = await command.json("plan")
    assert (code, ways["verdict"]) == (plugin.DONE, "NothingToDo")


async def test_rights_are_those_of_whom_one_acts_as(
    there: World, real_server: real.Session, tmp_path: pathlib.Path
) -> None:
    command = plugin.Plugin(tmp_path, real_server.server.kubeconfig())
    acting = ("--as", "jane", "--as-group", "growers", "--as-uid", "u-7")
    # On a busy machine some evidence may be too old by now: rights are the question here.
    asking = (*CONFIRMED, "--allow-pending")
    stranger = await command.run(*asking, *acting)
    assert stranger.code == plugin.FAILED
    assert stranger.reason.startswith(
        "forbidden: jane needs permission to get infrastructures.config.openshift.io/cluster"
    )

    everything: dict[str, Any] = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    requesting = {
        **everything,
        "apiGroups": ["config.openshift.io"],
        "resources": ["infrastructures"],
        "verbs": ["patch"],
    }
    for name, rule in (("growers-read", everything), ("growers-request", requesting)):
        await there.api.create(_ROLES, _ROLES.new(name, rules=[rule]))
    try:
        await _bind(there, "growers-read")
        await polling.until("a group may read", lambda: _ends(command, plugin.DONE, "status", *acting), 60.0)
        reader = await command.run(*asking, *acting)
        assert reader.code == plugin.FAILED
        assert reader.reason.startswith(
            "forbidden: jane needs permission to patch infrastructures.config.openshift.io/cluster"
        )
        assert "oc adm policy add-cluster-role-to-user topology-requester jane" in reader.reason
        assert await requested(there) is None

        await _bind(there, "growers-request")
        said: list[plugin.Ended] = []

        async def requests() -> bool:
            said.append(await command.run(*asking, *acting))
            return said[-1].code == plugin.DONE

        try:
            await polling.until("a group may request", requests, 20.0)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{said[0]}\n{said[-1]}") from None
        assert await requested(there) == DESIRED
        code, found = await command.json("cancel", *acting)
        assert (code, found["result"], await requested(there)) == (plugin.DONE, "Written", None)
        assert "--as=jane --as-group=growers --as-uid=u-7 -p" in found["patch"]["command"]
    finally:
        for kind in (_BINDINGS, _ROLES):
            for name in ("growers-read", "growers-request"):
                if await there.api.find(kind, name) is not None:
                    await there.api.delete(kind, name)


async def _bind(world: World, role: str) -> None:
    subject = {"apiGroup": _RBAC, "kind": "Group", "name": "growers"}
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role}
    await world.api.create(_BINDINGS, _BINDINGS.new(role, subjects=[subject], roleRef=reference))


async def _ends(command: plugin.Plugin, code: int, *words: str) -> bool:
    return (await command.run(*words)).code == code


async def test_who_may_not_act_as_somebody_else_is_told_so(real_server: real.Session, tmp_path: pathlib.Path) -> None:
    command = plugin.Plugin(tmp_path, real_server.server.kubeconfig("operator-a"))
    for words in (("status",), CONFIRMED):
        ended = await command.run(*words, "--as", "system:admin")
        assert ended.code == plugin.FAILED
        assert ended.reason.startswith("you may not act as system:admin: ")
        assert "cannot impersonate" in ended.reason
