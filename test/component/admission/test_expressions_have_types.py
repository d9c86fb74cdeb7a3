"""The types of every expression are right, as the cluster's own controller judges them and writes into the policy.

It says more than the API server, which lets an expression pass whose fields do not exist.
"""

from __future__ import annotations

import contextlib
import copy
from typing import TYPE_CHECKING, Any

import pytest

from test import polling
from test.component.admission import policy_server
from topology_simulator import client as clients

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_CONTROLLER = "validatingadmissionpolicy-status-controller"
_JUDGED_SECONDS = 60.0
MISTAKEN = "mistaken"


@pytest.fixture
async def controller(ground: policy_server.PolicyServer) -> AsyncIterator[None]:
    await ground.session.run(ground.session.server.start_controllers(_CONTROLLER))
    yield
    # One that ended by itself is an error here, with the last lines of its log.
    await ground.session.run(ground.session.server.stop_controllers())


@pytest.mark.usefixtures("controller")
async def test_no_expression_has_a_warning(ground: policy_server.PolicyServer) -> None:
    mistaken = copy.deepcopy(policy_server.shipped()[policy_server.REQUEST_POLICY])
    mistaken["metadata"] = {"name": MISTAKEN}
    mistaken["spec"]["validations"] = [{"expression": "object.status.notThere == 'x'"}]
    await ground.api.create(policy_server.POLICIES, mistaken)
    try:
        warnings = {name: await _judged(ground, name) for name in (*policy_server.shipped(), MISTAKEN)}
    finally:
        with contextlib.suppress(clients.ApiError):
            await ground.api.delete(policy_server.POLICIES, MISTAKEN)
    (warning,) = warnings.pop(MISTAKEN)
    assert "undefined field 'notThere'" in warning["warning"], "a mistake would be seen"
    assert len(warnings) == 3
    assert not any(warnings.values()), warnings


async def _judged(ground: policy_server.PolicyServer, name: str) -> list[dict[str, Any]]:
    async def status() -> dict[str, Any] | None:
        found = await ground.api.get(policy_server.POLICIES, name)
        judged: dict[str, Any] = found.get("status") or {}
        is_current = judged.get("observedGeneration") == found["metadata"]["generation"]
        return judged if is_current and "typeChecking" in judged else None

    judged = await polling.until(f"policy {name} is judged", status, _JUDGED_SECONDS)
    assert judged is not None
    return list(judged["typeChecking"].get("expressionWarnings") or [])
