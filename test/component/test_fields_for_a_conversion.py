"""`crd-patch.sh`, which `manifests --crd-patch` prints, with kubectl as `oc` against a real API server.

It adds the fields and one override, and takes both away again; what it does in which case is said by
test/unit/manifests/test_crd_script.py. The commands that print and run it are those of docs/operations.md.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from test.component import backend, documented, installing, world
from topology_api import crd, crd_patch
from topology_api import served as served_fields
from topology_simulator import kinds

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

    from test.component import real

OTHER = {"kind": "Deployment", "group": "apps", "namespace": "x", "name": "y", "unmanaged": True}
REMOVE = "sh crd-patch.sh remove"


@pytest.fixture
async def there(real_server: real.Session, tmp_path: pathlib.Path) -> AsyncIterator[world.World]:
    """A cluster with an override of its own."""
    async with world.opened(backend.Place(real_server), tmp_path) as made:
        await made.api.patch(kinds.CLUSTER_VERSIONS, "version", {"spec": {"overrides": [OTHER]}})
        yield made


async def take_the_fields_out(world: world.World, administrator: installing.Administrator) -> dict[str, Any]:
    """Make the definition what a release has without us; return its spec."""
    served = await world.api.get(kinds.DEFINITIONS, crd.NAME)
    await administrator.oc("patch", "crd", crd.NAME, "--type", "json", "-p", json.dumps(crd_patch.remove(served)))
    return await spec(world, kinds.DEFINITIONS, crd.NAME)


async def install(administrator: installing.Administrator) -> str:
    """Type what the page says, up to the script; return what that said."""
    *printing, script = installing.converting()[:-3]
    assert script.sort is documented.Sort.SCRIPT
    for command in printing:
        await administrator.types(command.text)
    return await administrator.types(script.text)


async def spec(world: world.World, kind: kinds.Kind, name: str) -> dict[str, Any]:
    found: dict[str, Any] = (await world.api.get(kind, name))["spec"]
    return found


async def overrides(world: world.World) -> list[str]:
    found = (await spec(world, kinds.CLUSTER_VERSIONS, "version")).get("overrides") or []
    return [one["name"] for one in found]


async def test_the_fields_come_with_one_override_and_go_with_it(
    there: world.World, real_server: real.Session, tmp_path: pathlib.Path
) -> None:
    folder = tmp_path / "administrator"
    folder.mkdir()
    administrator = installing.Administrator(real_server.server.kubeconfig(), folder)
    bare = await take_the_fields_out(there, administrator)
    assert "OpenShift 4." in await install(administrator), "the price is said"
    assert await overrides(there) == ["y", crd.NAME]
    assert served_fields.serves_our_fields(await there.api.get(kinds.DEFINITIONS, crd.NAME)).ok
    for _ in range(2):
        await administrator.types(REMOVE)
        assert await overrides(there) == ["y"]
        assert await spec(there, kinds.DEFINITIONS, crd.NAME) == bare
