"""`set --confirm` against others who write, servers that refuse, and answers that are lost: the truth is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from test import sentences

from topology_controller.kube import errors as kube
from topology_controller.plugin import cluster, errors
from topology_controller.plugin.commands import set as setting

from ..core import worlds
from .infrastructure_api import Api, elsewhere, error, fails, lost

DESIRED = "HighlyAvailable"
WAITING = {"phase": "Pending", "observedGeneration": 2}
REFUSAL = (
    'Infrastructure.config.openshift.io "cluster" is invalid: spec.desiredTopology: Invalid value: "object": '
    f"{sentences.NO_WAY_TO_DUAL_REPLICA}"
)
POLICY = (
    "infrastructures.config.openshift.io \"cluster\" is forbidden: ValidatingAdmissionPolicy 'topology' with binding "
    "'topology' denied request: ask the platform team"
)

pytestmark = pytest.mark.looptime


async def ask_for(api: Api, acting: cluster.Acting | None = None, **asked: Any) -> tuple[Any, int]:
    wanted = setting.Asked(DESIRED, **{"confirm": True, "allow_pending": True, **asked})
    made = api.made(acting)
    made.interruption.begin("set")
    try:
        return await setting.request(made, worlds.TRANSITIONS, "openshift-topology-operator", wanted)
    finally:
        api.left = made.interruption.text


def records(phase: str) -> Any:
    def record(api: Api) -> None:
        api.change("cluster-topology-operator", topologyTransition={**WAITING, "phase": phase})

    return record


async def test_the_request_is_made_and_the_operator_answers(looptime: Any) -> None:
    api = Api()
    api.answers_as = records("Pending")
    found, code = await ask_for(api)
    assert (found["result"], found["operatorSays"], found["warnings"], code) == ("Written", "Pending", [], 0)
    assert api.written == [{"metadata": {"resourceVersion": "5"}, "spec": {"desiredTopology": DESIRED}}]
    assert looptime == 0.1
    assert api.left.startswith("HighlyAvailable is requested.")
    assert "oc topology wait" in api.left


async def test_an_operator_that_does_not_answer_is_said(looptime: Any) -> None:
    found, code = await ask_for(Api())
    assert (found["result"], code) == ("Written", 0)
    assert ["has not answered within 5 s" in one for one in found["warnings"]] == [True]
    assert looptime == 5.0


async def test_without_confirm_and_without_leave_to_wait_nothing_is_sent() -> None:
    api = Api()
    assert (await ask_for(api, confirm=False))[0]["result"] == "WouldWrite"
    assert (await ask_for(api, allow_pending=False))[1] == 1, "nothing can be told here"
    assert api.written == []


async def test_a_request_that_somebody_else_makes_meanwhile_is_not_replaced() -> None:
    api = Api()
    api.meets = [elsewhere("argocd", desired="HighlyAvailableArbiter")]
    with pytest.raises(errors.PluginError, match="argocd has changed the request from none to HighlyAvailableArbiter"):
        await ask_for(api)
    assert api.written == []


@pytest.mark.parametrize(
    ("meets", "words"),
    [
        (fails(kube.Invalid, 422, "Invalid", REFUSAL), sentences.NO_WAY_TO_DUAL_REPLICA),
        (fails(kube.Invalid, 422, "Invalid", POLICY), "ValidatingAdmissionPolicy 'topology' with binding"),
        (fails(kube.Forbidden, 403, "Forbidden", POLICY), "ValidatingAdmissionPolicy 'topology' with binding"),
        (fails(kube.Invalid, 422, "Invalid", "no prefix at all"), "no prefix at all"),
    ],
)
async def test_a_refusal_of_the_server_is_told_in_its_own_words(meets: Any, words: str) -> None:
    api = Api()
    api.meets = [meets]
    found, code = await ask_for(api)
    assert (found["result"], code) == ("Refused", 3)
    assert found["message"].startswith(f"The API server refuses this request: {words}")
    assert "no request was made" in api.left


@pytest.mark.parametrize(
    ("acting", "who"), [(None, "you need"), (cluster.Acting("jane", ("ops",)), "jane needs")], ids=["self", "as"]
)
async def test_a_right_that_lacks_is_named(acting: cluster.Acting | None, who: str) -> None:
    api = Api()
    api.meets = [fails(kube.Forbidden, 403, "Forbidden", 'User "x" cannot patch resource "infrastructures"')]
    with pytest.raises(errors.PluginError) as raised:
        await ask_for(api, acting)
    text = str(raised.value)
    assert text.startswith(f"forbidden: {who} permission to patch infrastructures.config.openshift.io/cluster. Nothing")
    assert "Role topology-requester grants it: oc adm policy add-cluster-role-to-user topology-requester" in text
    assert "\n" not in text


async def test_a_server_that_drops_the_request_lacks_our_fields() -> None:
    api = Api()
    api.prunes = True
    with pytest.raises(errors.PluginError, match=r"dropped spec\.desiredTopology: its API lacks our fields.*crd-patch"):
        await ask_for(api)


@pytest.mark.parametrize("kind", [kube.TimedOut, kube.Unreachable, kube.ServerError, kube.Malformed])
async def test_an_answer_that_is_lost_is_looked_for(kind: type[kube.KubeError]) -> None:
    api = Api()
    api.answers_as = records("Admitting")
    api.meets = [fails(kind, 0, "Gone", "no answer")]
    found, code = await ask_for(api)
    assert (found["result"], found["operatorSays"], code) == ("Written", "Admitting", 0)
    assert found["warnings"] == [
        "The write was not answered (no answer), but Infrastructure was read again, and there it is"
    ]


async def test_a_write_that_was_lost_is_not_claimed() -> None:
    api = Api()
    api.meets = [lost()]
    with pytest.raises(errors.PluginError, match="it was as before: nothing was written"):
        await ask_for(api)


async def test_a_write_that_was_lost_while_somebody_else_wrote_is_told_with_the_name() -> None:
    api = Api()
    api.meets = [lost(elsewhere("oc", desired="DualReplica"))]
    with pytest.raises(errors.PluginError, match="changed by oc since: the request is DualReplica now"):
        await ask_for(api)


async def test_what_cannot_be_known_is_not_guessed() -> None:
    api = Api()

    def away(one: Api) -> None:
        one.unreadable = error(kube.Unreachable, 0, "NoConnection", "refused")

    api.meets = [lost(away)]
    with pytest.raises(errors.PluginError, match="it is not known whether it was executed"):
        await ask_for(api)
    assert "whether it was written is not known" in api.left


async def test_whoever_ends_it_in_the_middle_of_the_write_is_told_that_nobody_knows() -> None:
    sent = asyncio.Event()

    class Silent(Api):
        async def merge_patch(self, *_: Any, **__: Any) -> Any:
            sent.set()
            await asyncio.Event().wait()

    api = Silent()
    task = asyncio.create_task(ask_for(api))
    await sent.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "whether it was written is not known" in api.left
