"""The router of a single node is drained after the change: said before, and a condition where it is asked."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from topology_api.vocabulary import CheckName, CheckStatus, Phase, Stage
from topology_controller.checks import catalog as checks
from topology_controller.definitions import model
from topology_controller.observe import facts

from . import worlds

if TYPE_CHECKING:
    from topology_controller.checks.result import CheckResult

SURVIVES = CheckName.ROUTER_SURVIVES_DRAINS
TWO_ROUTERS = (
    'oc -n openshift-ingress-operator patch ingresscontroller default --type merge -p \'{"spec":{"replicas":2}}\''
)
ACCEPTED = "topology.openshift.io/router-drain-accepted"
ACCEPT = f"oc annotate clusteroperator topology --overwrite {ACCEPTED}=true"
BY_DEFINITION = worlds.COMPACT.model_copy(
    update={"preflight": (*worlds.COMPACT.preflight, model.CheckSpec(check=SURVIVES))}
)


def survives(known: facts.Facts) -> CheckResult:
    """The answer of the check where a definition asks it."""
    results = checks.ask(Stage.PREFLIGHT, BY_DEFINITION, known, worlds.NOW)
    return next(result for result in results if result.name is SURVIVES)


def accepting(known: facts.Facts) -> facts.Facts:
    """The same, where an administrator accepts that the only router is drained."""
    return dataclasses.replace(known, own_operator=worlds.own(router_drain_accepted=True))


@pytest.mark.parametrize(
    ("router", "status", "reason"),
    [
        (facts.IngressController(2, 2), CheckStatus.MET, "2 replicas or more available"),
        (facts.IngressController(3, 2), CheckStatus.MET, "2 replicas or more available"),
        (facts.IngressController(1, 1), CheckStatus.UNMET, f"asks for 1 and has 1 available. Run: {TWO_ROUTERS}"),
        (facts.IngressController(None, 1), CheckStatus.UNMET, "asks for no number and has 1 available. Run: oc"),
        (facts.IngressController(2, 1), CheckStatus.UNMET, "has 1 available. Wait until they are available"),
        (worlds.BROKEN, CheckStatus.UNKNOWN, str(worlds.BROKEN)),
    ],
)  # fmt: skip
def test_a_single_router_does_not_survive_the_drains_after_the_change(
    router: facts.Fact[facts.IngressController], status: CheckStatus, reason: str
) -> None:
    known = worlds.healthy(ingress_controller=router)
    answer = survives(known)
    assert answer.status is status
    assert reason in answer.message
    assert answer.message.endswith(ACCEPT) is (status is CheckStatus.UNMET)
    accepted = survives(accepting(known))
    assert accepted.status is CheckStatus.MET, "whatever the router is"
    assert ACCEPTED in accepted.message


@pytest.mark.parametrize("schedulable", [True, False], ids=["Admitting", "Pending"])
@pytest.mark.parametrize(("routers", "said"), [(1, True), (2, False), (None, False)])
def test_that_one_router_is_drained_is_said_before_the_change_with_the_command(
    routers: int | None,
    said: bool,  # noqa: FBT001 - a column of the table
    schedulable: bool,  # noqa: FBT001 - a column of the table
) -> None:
    known = worlds.healthy(
        ingress_controller=facts.IngressController(routers, 1),
        scheduler=facts.Scheduler(masters_schedulable=schedulable),
    )
    found = worlds.decide(known)
    assert found.phase is (Phase.ADMITTING if schedulable else Phase.PENDING)
    assert found.note.endswith(TWO_ROUTERS) is said
    assert ("evict the only router" in found.note) is said
    assert found.record is not None
    assert found.record.message == found.note
    assert "evict" not in worlds.decide(accepting(known)).note, "who has accepted it is not told again"
