"""The types of every expression are right, as the cluster's own controller judges them and writes into the policy.

That controller lives in kube-controller-manager, which no other test needs and `hack/envtest` does not build: it is
taken from the folder of the other binaries or from PATH, and without it this is skipped. It says more than the API
server, which lets an expression pass whose fields do not exist.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test.component import polling
from test.component.admission import ground as grounds
from topology_simulator import client as clients
from topology_simulator.envtest import binaries

if TYPE_CHECKING:
    import pathlib
    from collections.abc import AsyncIterator

_PROGRAM = "kube-controller-manager"
_CONTROLLER = "validatingadmissionpolicy-status-controller"
_JUDGED_SECONDS = 60.0
MISTAKEN = "mistaken"


@pytest.fixture
async def controller(ground: grounds.Ground, tmp_path: pathlib.Path) -> AsyncIterator[None]:
    program = shutil.which(_PROGRAM, path=str(binaries.folder())) or shutil.which(_PROGRAM)
    if program is None:
        pytest.skip(f"no {_PROGRAM} in {binaries.folder()} or PATH; go build k8s.io/kubernetes/cmd/{_PROGRAM}")
    place = tmp_path / "kubeconfig"
    place.write_text(yaml.safe_dump(ground.session.server.kubeconfig()))
    with (tmp_path / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            program,
            f"--kubeconfig={place}",
            f"--controllers={_CONTROLLER}",
            "--leader-elect=false",
            "--secure-port=0",
            stdout=log,
            stderr=log,
        )
        try:
            yield
        finally:
            process.terminate()
            try:
                async with asyncio.timeout(10):
                    await process.wait()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()


@pytest.mark.usefixtures("controller")
async def test_no_expression_has_a_warning(ground: grounds.Ground) -> None:
    mistaken = copy.deepcopy(grounds.shipped()[grounds.WISH_POLICY])
    mistaken["metadata"] = {"name": MISTAKEN}
    mistaken["spec"]["validations"] = [{"expression": "object.status.notThere == 'x'"}]
    await ground.api.create(grounds.POLICIES, mistaken)
    try:
        warnings = {name: await _judged(ground, name) for name in (*grounds.shipped(), MISTAKEN)}
    finally:
        with contextlib.suppress(clients.ApiError):
            await ground.api.delete(grounds.POLICIES, MISTAKEN)
    (warning,) = warnings.pop(MISTAKEN)
    assert "undefined field 'notThere'" in warning["warning"], "a mistake would be seen"
    assert len(warnings) == 2
    assert not any(warnings.values()), warnings


async def _judged(ground: grounds.Ground, name: str) -> list[dict[str, Any]]:
    async def status() -> dict[str, Any] | None:
        found = await ground.api.get(grounds.POLICIES, name)
        judged: dict[str, Any] = found.get("status") or {}
        is_current = judged.get("observedGeneration") == found["metadata"]["generation"]
        return judged if is_current and "typeChecking" in judged else None

    judged = await polling.until(f"policy {name} is judged", status, _JUDGED_SECONDS)
    assert judged is not None
    return list(judged["typeChecking"].get("expressionWarnings") or [])
