"""The log of a real process: what each verbosity adds, in both formats, and that no credential is ever in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test.component import cluster, process, real

if TYPE_CHECKING:
    import pathlib

    from test.component.world import World

_TOKEN = real.OPAQUE_TOKEN
_FIELDS = {"ts", "level", "logger", "msg"}


def _lines(operator: process.Operator) -> list[dict[str, Any]]:
    return [json.loads(line) for line in operator.words().splitlines()]


async def _with_token(world: World, folder: pathlib.Path, *flags: str) -> process.Operator:
    """Start an operator whose token looks like nothing."""
    access = world.server.kubeconfig()
    file = folder / "kubeconfig-of-a-token"
    users = [{"name": one["name"], "user": {"token": _TOKEN}} for one in access["users"]]
    file.write_text(yaml.safe_dump({**access, "users": users}))
    log = folder / "token.log"
    started = await process.start("operator-t", file, log, settle=0, lease=process.LEASE, flags=flags)
    world.operators.append(started)
    return started


@pytest.mark.parametrize("form", ["text", "json"])
async def test_a_server_that_repeats_our_credentials_does_not_bring_them_into_the_log(
    world: World, tmp_path: pathlib.Path, form: str
) -> None:
    echo = f"you sent\nAuthorization: Bearer {_TOKEN}\nCookie: a={_TOKEN}\nand {_TOKEN} it was, https://u:{_TOKEN}@p/"
    for verb, resource, code in (("create", "events", 403), ("list", "nodes", 422), ("watch", "etcds", 400)):
        world.server.fault("status", verb=verb, resource=resource, code=code, message=echo)
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.ask_for()
    operator = await _with_token(world, tmp_path, "-v", "6", "--log-format", form)
    await operator.said("was not sent")
    await operator.said("cannot watch etcds")
    words = operator.words()
    assert _TOKEN not in words
    assert _TOKEN[4:] not in words
    assert "(removed)" in words
    assert "POST /apis/events.k8s.io/v1/namespaces/default/events: 403 after" in words


async def test_every_line_of_json_is_an_object_with_the_facts_of_the_text(world: World) -> None:
    operator = await world.operator("operator-a", "--log-format", "json", "--v=4")
    await cluster.set_ready(world.api, "master-2", ready=False)
    await world.ask_for()
    await world.until_phase("Pending")
    await operator.said("check ControlPlaneNodes")
    await operator.stop()
    lines = _lines(operator)
    assert all(set(one) >= _FIELDS for one in lines)
    checks = {one["check"]: one for one in lines if "check" in one}
    told = checks["ControlPlaneNodes"]
    assert told["status"] == "Unmet"
    assert told["msg"] == f"check ControlPlaneNodes is Unmet: {told['message']}"
    phases = [one for one in lines if one.get("phase") == "Pending" and one["level"] == "info"]
    assert phases[0]["definition"] == "sno-to-ha-compact"
    assert phases[0]["generation"] >= 2
    spoken = {one["logger"].removeprefix("topology_controller.") for one in lines}
    assert {"process", "kube.lease", "kube.watch", "observe.watches", "report.log"} <= spoken
    assert any(one["msg"].startswith("the watch of") and one["level"] == "debug" for one in lines)
    assert not any("path" in one for one in lines), "requests come with 6"


async def test_at_0_a_calm_operator_says_nothing(world: World) -> None:
    """But for a request that moves and ends: nothing of that is a warning."""
    started = await world.operator("operator-a", "-v", "0", wait=False)
    await world.ask_for()
    await world.until_phase("Completed", seconds=20.0)
    assert await started.stop() == 0
    assert started.words() == ""
