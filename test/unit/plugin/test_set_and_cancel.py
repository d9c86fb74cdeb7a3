"""`set` and `cancel`: what would be written or why not; others who write, servers that refuse, answers that are lost.

What is told is the truth: nothing is claimed that was not written, and nothing is written over what was not seen.
"""

from __future__ import annotations

import asyncio
import dataclasses
import sys
import types
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from test import sentences

from kubectl_topology import arguments, cluster, errors
from kubectl_topology.commands import accept, cancel, plan
from kubectl_topology.commands import set as setting
from topology_api.vocabulary import Phase
from topology_controller.kube import errors as kube
from topology_controller.observe import facts

from ..core import worlds
from ..core.strategies import worlds_of_any_kind
from . import replies
from .infrastructure_api import Api, elsewhere, error, fails, lost

if TYPE_CHECKING:
    from collections.abc import Awaitable

DESIRED = "HighlyAvailable"
WAITING = {"phase": "Pending", "observedGeneration": 2}
PENDING = {"phase": "Pending", "observedGeneration": 1}
HA = {"controlPlane": "HighlyAvailable", "infrastructure": "HighlyAvailable"}
MOVED = {
    "controlPlaneTopology": "HighlyAvailable",
    "infrastructureTopology": "HighlyAvailable",
    "topologyTransition": {"phase": "Converging", "observedGeneration": 1, "target": HA},
}
pytestmark = pytest.mark.looptime
REFUSAL = (
    'Infrastructure.config.openshift.io "cluster" is invalid: spec.desiredTopology: Invalid value: "object": '
    f"{sentences.NO_WAY_TO_DUAL_REPLICA}"
)
POLICY = (
    "infrastructures.config.openshift.io \"cluster\" is forbidden: ValidatingAdmissionPolicy 'topology' with binding "
    "'topology' denied request: ask the platform team"
)
UNMET = dataclasses.replace(replies.WITHOUT_REQUEST, scheduler=False)
UNKNOWN = dataclasses.replace(replies.WITHOUT_REQUEST, scheduler=worlds.BROKEN)
PAUSED = dataclasses.replace(replies.WITHOUT_REQUEST, own_operator=worlds.own(paused=True))
UNREAD = dataclasses.replace(replies.WITHOUT_REQUEST, own_operator=worlds.BROKEN)
HOSTED = worlds.with_infrastructure(replies.WITHOUT_REQUEST, control_plane="External")


def judged(known: facts.Facts, target: str = "HighlyAvailable", **asked: Any) -> tuple[dict[str, Any], int]:
    found, code = setting.judged(replies.seen(known), worlds.TRANSITIONS, replies.asked(target, **asked))
    return replies.through_json(found), code


@pytest.mark.parametrize("confirm", [False, True])
@pytest.mark.parametrize(
    ("known", "target", "allowed", "result", "code"),
    [
        pytest.param(replies.WITHOUT_REQUEST, "HighlyAvailable", False, "WouldWrite", 0, id="everything-is-met"),
        pytest.param(UNMET, "HighlyAvailable", False, "Refused", 3, id="a-check-is-unmet"),
        pytest.param(UNKNOWN, "HighlyAvailable", False, "Refused", 1, id="a-check-is-unknown"),
        pytest.param(UNKNOWN, "HighlyAvailable", True, "WouldWrite", 0, id="unknown-and-allowed-to-wait"),
        pytest.param(replies.WITHOUT_REQUEST, "DualReplica", True, "Refused", 4, id="nothing-leads-there"),
        pytest.param(replies.WITHOUT_REQUEST, "SingleReplica", False, "Unchanged", 0, id="it-is-that-already"),
        pytest.param(HOSTED, "HighlyAvailable", True, "Refused", 4, id="hosted"),
        pytest.param(replies.in_phase(Phase.PENDING), "HighlyAvailable", False, "Unchanged", 0, id="requested-already"),
        pytest.param(replies.in_phase(Phase.CONVERGING), "HighlyAvailable", False, "Unchanged", 0, id="under-way"),
        pytest.param(replies.in_phase(Phase.UNSUPPORTED), "DualReplica", False, "Refused", 4, id="requested-in-vain"),
        pytest.param(replies.in_phase(Phase.PENDING), "SingleReplica", False, "WouldWrite", 0, id="set-back"),
        pytest.param(replies.in_phase(Phase.UNSUPPORTED), "HighlyAvailable", True, "WouldWrite", 0, id="replaced"),
        pytest.param(replies.in_phase(Phase.CONVERGING), "SingleReplica", True, "Refused", 3, id="no-way-back"),
        pytest.param(PAUSED, "HighlyAvailable", False, "Refused", 3, id="paused"),
        pytest.param(UNREAD, "HighlyAvailable", False, "Refused", 1, id="our-own-operator-may-not-be-read"),
    ],
)
def test_what_would_be_written(
    known: facts.Facts, target: str, *, allowed: bool, result: str, code: int, confirm: bool
) -> None:
    found, ended = judged(known, target, allow_pending=allowed, confirm=confirm)
    assert (found["result"], ended, found["dryRun"]) == (result, code, not confirm)
    assert (found["patch"] is not None) == (result == "WouldWrite")


def test_the_patch_is_good_for_the_version_that_was_judged_and_no_other() -> None:
    found, _ = judged(worlds.with_infrastructure(replies.WITHOUT_REQUEST, resource_version="4711"))
    assert found["patch"] == {
        "type": "application/merge-patch+json",
        "body": {"metadata": {"resourceVersion": "4711"}, "spec": {"desiredTopology": "HighlyAvailable"}},
        "command": "oc patch infrastructure cluster --type merge -p "
        """'{"metadata":{"resourceVersion":"4711"},"spec":{"desiredTopology":"HighlyAvailable"}}'""",
    }
    assert found["patch"]["command"] in replies.printed(found, 80)


STOPPED = facts.Lease("", worlds.NOW, 137)


@pytest.mark.parametrize("operator", [STOPPED, worlds.MISSING])
def test_where_no_operator_runs_nothing_is_written_unless_it_may_be_pending(operator: Any) -> None:
    seen = replies.seen(replies.WITHOUT_REQUEST, operator=operator)
    found, code = setting.judged(seen, worlds.TRANSITIONS, replies.asked(confirm=True))
    assert (found["result"], found["patch"], code) == ("Refused", None, 3)
    assert found["message"].endswith("but no operator runs that would act on the request")
    text = replies.printed(found)
    assert "oc topology set HighlyAvailable --confirm --allow-pending" in text
    planned, _ = plan.target(seen, worlds.TRANSITIONS, "HighlyAvailable")
    assert replies.printed(planned).endswith("oc topology set HighlyAvailable --confirm --allow-pending\n")
    allowed = replies.asked(confirm=True, allow_pending=True)
    found, code = setting.judged(seen, worlds.TRANSITIONS, allowed)
    assert (code, len(found["warnings"])) == (0, 1)
    assert "as soon as it runs" in replies.printed({**found, "result": "Written"})


@given(known=worlds_of_any_kind())
def test_in_any_cluster_it_is_written_only_where_the_operator_would_take_it_up(known: facts.Facts) -> None:
    assume(isinstance(known.infrastructure, facts.Infrastructure))
    try:
        strict, code = judged(known, confirm=True)
        patient, _ = judged(known, confirm=True, allow_pending=True)
    except errors.PluginError:
        assert isinstance(known.installed, facts.Installed)
        return
    verdict = strict["plan"]["verdict"]
    assert code == {"Unsupported": 4, "Blocked": 3, "CannotTell": 1}.get(verdict, 0) or (strict["result"], code) == (
        "Unchanged",
        0,
    )
    if strict["result"] == "WouldWrite":
        assert verdict in {"Possible", "Fulfilled", "UnderWay"}
        assert {one["status"] for one in strict["plan"]["checks"]} <= {"Met"}
    assert patient["result"] == strict["result"] or (
        verdict in {"Blocked", "CannotTell"} and patient["result"] == "WouldWrite"
    )
    for found in (strict, patient):
        replies.conforms(found)
        assert replies.printed(found, 40)


# Writing


async def answered(api: Api, made: Any, command: str, answer: Awaitable[tuple[Any, int]]) -> tuple[Any, int]:
    made.interruption.text = errors.BEGINNING[command]
    try:
        found, code = await answer
        replies.conforms(replies.through_json(found))
        return found, code
    finally:
        api.left = made.interruption.text


async def ask_for(api: Api, acting: cluster.Acting | None = None, **asked: Any) -> tuple[Any, int]:
    wanted = replies.asked(DESIRED, **{"confirm": True, "allow_pending": True, **asked})
    made = api.made(acting)
    return await answered(api, made, "set", setting.request(made, worlds.TRANSITIONS, wanted))


def records(phase: str) -> Any:
    def record(api: Api) -> None:
        api.change("cluster-topology-operator", topologyTransition={**WAITING, "phase": phase})

    return record


async def test_the_request_is_made_and_the_operator_answers(looptime: Any) -> None:
    api = Api()
    assert (await ask_for(api, confirm=False))[0]["result"] == "WouldWrite"
    assert api.written == []
    api.answers_as = records("Pending")
    found, code = await ask_for(api)
    assert (found["result"], found["operatorSays"], found["warnings"], code) == ("Written", "Pending", [], 0)
    assert api.written == [{"metadata": {"resourceVersion": "5"}, "spec": {"desiredTopology": DESIRED}}]
    assert looptime == 0.1
    assert api.left.startswith("HighlyAvailable is requested.")
    assert "oc topology wait" in api.left
    # An operator that does not answer is not waited for any longer than this.
    found, code = await ask_for(Api())
    assert (found["result"], len(found["warnings"]), code) == ("Written", 1, 0)
    assert looptime == 5.1


@pytest.mark.parametrize(("typed", "flags", "written"), [(DESIRED, [], 1), ("yes", [], 0), ("", ["--yes"], 1)])
async def test_on_a_terminal_the_target_is_typed_before_it_is_requested(
    typed: str, flags: list[str], written: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def person(*_: Any) -> str:
        return typed

    monkeypatch.setattr(accept, "typed", person)
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(isatty=lambda: True))
    api = Api()
    options = arguments.parse(["set", DESIRED, "--confirm", "--allow-pending", *flags])
    code = await setting.run(api.made(), options, worlds.TRANSITIONS)
    out, shown = capsys.readouterr()
    assert (len(api.written), code) == (written, 0 if written else 1), out
    assert ("cannot be undone" in shown, "LoadBalancer" in shown) == (not flags, not flags), shown
    assert ("LoadBalancer" in out) is bool(written), out


async def test_a_request_that_is_made_while_a_person_reads_what_is_shown_is_not_replaced() -> None:
    api, wanted = Api(), {"allow_pending": True}
    made = api.made()
    await setting.request(made, worlds.TRANSITIONS, replies.asked(DESIRED, **wanted))
    api.change("argocd", desired="HighlyAvailableArbiter")
    with pytest.raises(errors.PluginError, match="argocd has changed the request from none to HighlyAvailableArbiter"):
        await setting.request(made, worlds.TRANSITIONS, replies.asked(DESIRED, confirm=True, **wanted))
    assert api.written == []


@pytest.mark.parametrize(
    ("meets", "words"),
    [
        (fails(kube.Invalid, 422, "Invalid", REFUSAL), sentences.NO_WAY_TO_DUAL_REPLICA),
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


def prunes(api: Api) -> None:
    api.prunes = True


def away(api: Api) -> None:
    api.unreadable = error(kube.Unreachable, 0, "NoConnection", "refused")


NO_RIGHT = fails(kube.Forbidden, 403, "Forbidden", 'User "x" cannot patch resource "infrastructures"')


@pytest.mark.parametrize(
    ("meets", "told", "left"),
    [
        pytest.param(
            elsewhere("argocd", desired="HighlyAvailableArbiter"),
            r"argocd has changed the request from none to HighlyAvailableArbiter", "", id="another-request",
        ),
        pytest.param(NO_RIGHT, r"^forbidden: jane needs .* Role topology-requester grants it: oc", "", id="no-right"),
        pytest.param(prunes, r"dropped spec\.desiredTopology: its API lacks our fields.*crd-patch", "", id="pruned"),
        pytest.param(lost(), "it was as before: nothing was written", "", id="lost"),
        pytest.param(
            lost(elsewhere("oc", desired="DualReplica")),
            "changed by oc since: the request is DualReplica now", "", id="lost-while-somebody-else-wrote",
        ),
        pytest.param(
            lost(away), "it is not known whether it was executed", "whether it was written is not known", id="unknown",
        ),
    ],
)  # fmt: skip
async def test_what_was_not_written_is_never_claimed(meets: Any, told: str, left: str) -> None:
    api = Api()
    api.meets = [meets]
    with pytest.raises(errors.PluginError, match=told) as raised:
        await ask_for(api, cluster.Acting("jane", ("ops",)))
    assert "\n" not in str(raised.value)
    assert left in api.left
    assert api.written == [] or api.prunes


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


# Cancelling


@pytest.mark.parametrize(
    ("known", "result", "code", "words"),
    [
        pytest.param(replies.in_phase(Phase.PENDING), "WouldWrite", 0, "can be cancelled", id="pending"),
        pytest.param(replies.in_phase(Phase.ADMITTING), "WouldWrite", 0, "can be cancelled", id="admitting"),
        pytest.param(replies.in_phase(Phase.UNSUPPORTED), "WouldWrite", 0, "DualReplica can be", id="unsupported"),
        pytest.param(worlds.healthy(), "WouldWrite", 0, "can be cancelled", id="nobody-has-seen-it-yet"),
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
    ],
)  # fmt: skip
def test_what_can_be_cancelled(known: facts.Facts, result: str, code: int, words: str) -> None:
    answer, ended = cancel.judged(replies.seen(known), worlds.TRANSITIONS, "oc")
    found = replies.through_json(answer)
    assert (found["result"], ended) == (result, code)
    assert words in found["message"]
    assert (found["patch"] is not None) == (result == "WouldWrite")
    if result == "Refused":
        assert [one["name"] for one in found["next"]] == ["Status", "Wait", "Accept"]
        assert "Nothing was written." in " ".join(replies.printed(found, 40).split())


async def cancelled(api: Api) -> tuple[Any, int]:
    made = api.made()
    return await answered(api, made, "cancel", cancel.cancel(made, worlds.TRANSITIONS))


def idle(api: Api) -> None:
    generation = api.raw["metadata"]["generation"]
    api.change("op", topologyTransition={"phase": "Idle", "observedGeneration": generation})


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
