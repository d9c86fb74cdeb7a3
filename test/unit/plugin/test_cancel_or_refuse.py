"""`cancel`: what can be cancelled, what cannot any more, and what comes in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from topology_api.vocabulary import Phase
from topology_controller.kube import errors as kube
from topology_controller.plugin import document, errors, printing
from topology_controller.plugin.commands import cancel

from ..core import worlds
from . import replies
from .infrastructure_api import Api, elsewhere, fails, lost

if TYPE_CHECKING:
    from topology_controller.observe import facts

PENDING = {"phase": "Pending", "observedGeneration": 1}
HA = {"controlPlane": "HighlyAvailable", "infrastructure": "HighlyAvailable"}
MOVED = {
    "controlPlaneTopology": "HighlyAvailable",
    "infrastructureTopology": "HighlyAvailable",
    "topologyTransition": {"phase": "Converging", "observedGeneration": 1, "target": HA},
}
INFRASTRUCTURE_ONLY = worlds.with_infrastructure(
    worlds.healthy(), control_plane="HighlyAvailable", infrastructure="SingleReplica"
)


def judged(known: facts.Facts) -> tuple[dict[str, Any], int]:
    found, code = cancel.judged(replies.seen(known), worlds.TRANSITIONS, "oc")
    return replies.through_json(found), code


@pytest.mark.parametrize(
    ("known", "result", "code", "words"),
    [
        pytest.param(replies.in_phase(Phase.PENDING), "WouldWrite", 0, "can be cancelled", id="pending"),
        pytest.param(replies.in_phase(Phase.ADMITTING), "WouldWrite", 0, "can be cancelled", id="admitting"),
        pytest.param(replies.in_phase(Phase.UNSUPPORTED), "WouldWrite", 0, "DualReplica can be", id="unsupported"),
        pytest.param(worlds.healthy(), "WouldWrite", 0, "can be cancelled", id="nobody-has-seen-it-yet"),
        pytest.param(INFRASTRUCTURE_ONLY, "WouldWrite", 0, "can be cancelled", id="of-the-infrastructure-only"),
        pytest.param(replies.WITHOUT_REQUEST, "Unchanged", 0, "There is no request", id="no-request"),
        pytest.param(
            worlds.with_infrastructure(worlds.healthy(), desired="SingleReplica"), "WouldWrite", 0,
            "SingleReplica is fulfilled and can be removed", id="fulfilled-before-anybody-acted",
        ),
        pytest.param(replies.in_phase(Phase.CONVERGING), "Refused", 3, "cannot be cancelled any more", id="converging"),
        pytest.param(
            worlds.with_infrastructure(replies.in_phase(Phase.CONVERGING), desired=None), "Refused", 3,
            "a change back is not supported", id="converging-without-a-request",
        ),
        pytest.param(replies.in_phase(Phase.COMPLETED), "WouldWrite", 0, "can be removed", id="completed"),
        pytest.param(
            worlds.with_infrastructure(
                replies.in_phase(Phase.COMPLETED), control_plane="SingleReplica", infrastructure="SingleReplica"
            ), "WouldWrite", 0, "can be cancelled", id="overwritten",
        ),
        pytest.param(
            worlds.with_infrastructure(replies.in_phase(Phase.COMPLETED), desired="DualReplica"), "WouldWrite", 0,
            "DualReplica can be cancelled", id="another-request-after-one-that-was-completed",
        ),
    ],
)  # fmt: skip
def test_what_can_be_cancelled(known: facts.Facts, result: str, code: int, words: str) -> None:
    found, ended = judged(known)
    assert (found["result"], ended) == (result, code)
    assert words in found["message"]
    assert (found["patch"] is not None) == (result == "WouldWrite")
    if result == "Refused":
        assert [one["name"] for one in found["next"]] == ["Status", "Wait", "Accept"]


@pytest.mark.parametrize("width", [0, 40, 80])
def test_a_refusal_can_be_read_at_any_width(width: int) -> None:
    sheet = document.Document(width)
    found, _ = cancel.judged(replies.seen(replies.in_phase(Phase.CONVERGING)), worlds.TRANSITIONS, "oc")
    printing.cancel(sheet, found)
    text = " ".join(sheet.text().split())
    assert "HighlyAvailable, made by oc" in text
    assert "Nothing was written." in text
    assert "oc topology accept --check NAME" in text


async def cancelled(api: Api) -> tuple[Any, int]:
    made = api.made()
    made.interruption.begin("cancel")
    try:
        return await cancel.cancel(made, worlds.TRANSITIONS, "openshift-topology-operator")
    finally:
        api.left = made.interruption.text


def idle(api: Api) -> None:
    generation = api.raw["metadata"]["generation"]
    api.change("op", topologyTransition={"phase": "Idle", "observedGeneration": generation})


@pytest.mark.looptime
async def test_it_is_cancelled_and_the_operator_goes_back_to_idle(looptime: Any) -> None:
    api = Api("HighlyAvailable", PENDING)
    api.raw["metadata"]["managedFields"] = [
        {"manager": "argocd", "time": "2026-02-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:desiredTopology": {}}}}
    ]
    api.answers_as = idle
    found, code = await cancelled(api)
    assert (found["result"], found["phase"], found["requestedBy"], code) == ("Written", "Idle", "argocd", 0)
    assert api.written == [{"metadata": {"resourceVersion": "5"}, "spec": {"desiredTopology": None}}]
    assert looptime == 0.1
    assert api.left.startswith("the request HighlyAvailable was cancelled")


async def test_a_change_that_comes_in_between_wins_and_is_told() -> None:
    api = Api("HighlyAvailable", {"phase": "Admitting", "observedGeneration": 1})
    api.meets = [elsewhere("cluster-topology-operator", **MOVED)]
    found, code = await cancelled(api)
    assert (found["result"], code, api.written) == ("Refused", 3, [])
    assert found["message"].startswith(
        "Infrastructure changed while the request was being cancelled. The topology has changed"
    )


async def test_another_request_is_not_cancelled_unseen() -> None:
    api = Api("HighlyAvailable", PENDING)
    api.meets = [elsewhere("oc", desired="DualReplica")]
    with pytest.raises(errors.PluginError, match="oc has changed the request from HighlyAvailable to DualReplica"):
        await cancelled(api)
    assert api.written == []


async def test_the_server_has_the_last_word() -> None:
    api = Api("HighlyAvailable", PENDING)
    api.meets = [fails(kube.Invalid, 422, "Invalid", "spec.desiredTopology: Forbidden: the topology has moved")]
    found, code = await cancelled(api)
    assert (found["result"], code) == ("Refused", 3)
    assert found["message"] == "The API server refuses to cancel the request: the topology has moved"
    assert [one["name"] for one in found["next"]] == ["Status", "Wait", "Accept"]


async def test_a_lost_answer_is_looked_for() -> None:
    api = Api("HighlyAvailable", PENDING, runs=False)
    api.meets = [fails(kube.TimedOut, 0, "TimedOut", "no answer")]
    found, code = await cancelled(api)
    assert (found["result"], code) == ("Written", 0)
    assert "there it is" in found["warnings"][0]
    api = Api("HighlyAvailable", PENDING, runs=False)
    api.meets = [lost()]
    with pytest.raises(errors.PluginError, match="nothing was written"):
        await cancelled(api)
