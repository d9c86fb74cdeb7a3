"""`fleet` counts what the survey says, each cluster once, and shows first what a person has to act on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_topology import errors
from kubectl_topology.commands import fleet
from kubectl_topology.document import Document
from topology_deploy.fleet import meaning

from . import replies

if TYPE_CHECKING:
    from kubectl_topology import answers

Raw = dict[str, Any]
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SURVEY = f"topology-fleet.{meaning.SURVEY}"
STUCK = ["A", "B", "C", "D"]
WAVES = {"edge-2": "0", "edge-3": "7"}


def work(name: str, message: str | None, *, disabled: str = "", **told: str) -> Raw:
    """The survey's work of a cluster; None where its agent has not answered."""
    manifests: list[Raw] = []
    if message is not None:
        feedback = [{"name": key, "fieldValue": {"type": "String", "string": value}} for key, value in told.items()]
        state = {"type": "Ready", "status": "False", "reason": "ConditionRuleEvaluated", "message": message}
        manifests.append(
            {
                "resourceMeta": {"kind": "Infrastructure", "name": "cluster"},
                "conditions": [{"type": "Applied", "status": "True"}, state],
                "statusFeedback": {"values": feedback},
            }
        )
    if disabled:
        value = {"name": "disabled", "fieldValue": {"type": "String", "string": disabled}}
        manifests.append({"resourceMeta": {"kind": "ClusterOperator"}, "statusFeedback": {"values": [value]}})
    return {
        "metadata": {"name": meaning.SURVEY, "namespace": name, "labels": {fleet.REPLICA_SET: SURVEY}},
        "status": {"resourceStatus": {"manifests": manifests}},
    }


def refused(name: str, message: str) -> Raw:
    """The roll-out's work of a cluster that its agent could not apply."""
    condition = {"type": "Applied", "status": "False", "reason": "ApplyConflict", "message": message}
    return {
        "metadata": {"namespace": name, "labels": {fleet.REPLICA_SET: "topology-fleet.topology"}},
        "status": {"resourceStatus": {"manifests": [{"conditions": [condition]}]}},
    }


def counted(*works: Raw, unreached: frozenset[str] = frozenset()) -> tuple[answers.Fleet, int]:
    """The answer, which is as the schema says, and the exit code."""
    answer, code = fleet.count([fleet._work(raw, SURVEY) for raw in works], unreached, NOW, waves=WAVES)
    replies.conforms(replies.through_json(answer))
    assert sum(answer["counts"].values()) == answer["surveyed"]
    return answer, code


def test_a_fleet_on_one_page() -> None:
    answer, code = counted(
        work("edge-1", "Done"),
        work(
            "edge-2",
            "UnderWay: Converging: RouterReplicas",
            since="2026-03-01T09:00:00Z",
            deadline="2026-03-01T11:00:00Z",
        ),
        work(
            "edge-3", "NeedsAPerson: Stuck: " + ", ".join(STUCK), problemSince="2026-03-01T11:00:00Z", since="earlier"
        ),
        work("edge-4", "Ready"),
        work("edge-5", "NotReady: sno-to-ha-compact: ControlPlaneNodes, EtcdVotingMembers; other: DedicatedWorkers"),
        work("edge-6", "NotReady: sno-to-ha-compact: ControlPlaneNodes; other: ControlPlaneNodes, DedicatedWorkers"),
        work("edge-7", "Silent"),
        work("edge-8", "Silent", disabled="NativeControllerActive"),
        work("edge-9", None),
    )
    assert code == errors.ExitCode.BLOCKED
    assert replies.printed(answer) == (
        "9 surveyed: 1 done, 1 under way, 1 needs a person, 1 ready, 2 not ready, 1 silent, 1 not for us, "
        "1 not reported yet\n\n"
        "NOT READY BECAUSE  CLUSTERS  E.G.\n"
        "ControlPlaneNodes  2         edge-5, edge-6\n"
        "EtcdVotingMembers  1         edge-5\n\n"
        "NEEDS A PERSON  SINCE                 WHY\n"
        "edge-3          2026-03-01T11:00:00Z  Stuck: A, B, C, 1 more\n"
    )
    wide = Document(whole=True)
    fleet.table(wide, answer)
    assert ", ".join(STUCK) in wide.text()
    assert wide.text().endswith(
        "\n\nUNDER WAY  WAVE        PHASE       SINCE                 DEADLINE                        WAITS FOR\n"
        "edge-2     0 (canary)  Converging  2026-03-01T09:00:00Z  2026-03-01T11:00:00Z (overdue)  RouterReplicas\n"
    )


def test_a_cluster_that_is_not_reached_is_not_counted_by_what_it_said_last() -> None:
    answer, code = counted(work("edge-1", "Done"), work("edge-2", "Done"), unreached=frozenset({"edge-2"}))
    assert (answer["counts"]["Done"], answer["counts"]["Unreachable"], code) == (1, 1, 0)


def test_a_request_that_conflicts_is_shown_with_the_owner_of_the_field() -> None:
    why = 'Apply failed with 1 conflict: conflict with "ops": .spec.desiredTopology'
    answer, code = counted(work("edge-1", "Ready"), refused("edge-1", why))
    assert code == errors.ExitCode.BLOCKED
    assert f"edge-1                 {why}" in replies.printed(answer)
    done, code = counted(work("edge-1", "Done"), refused("edge-1", why))
    assert (done["counts"]["Done"], code) == (1, 0)


@pytest.mark.parametrize("message", ["", "object has no field", "Done!", "Novel: x", "no such key: status"])
def test_what_is_no_state_is_never_taken_for_one(message: str) -> None:
    answer, _ = counted(work("edge-1", message))
    assert answer["counts"]["Unreported"] == 1


_FIELDS = ["conditions", "type", "status", "message", "values", "name", "fieldValue", "string", "kind"]
_JSON = replies.any_json(st.sampled_from(_FIELDS))


@given(_JSON, _JSON, _JSON)
def test_a_work_of_any_form_is_counted_once(status: object, resource: object, manifest: object) -> None:
    labels = {fleet.REPLICA_SET: SURVEY}
    forms = (status, {"resourceStatus": resource}, {"resourceStatus": {"manifests": [manifest, status]}})
    for form in forms:
        answer, _ = counted({"metadata": {"namespace": "edge-1", "labels": labels}, "status": form})
        assert answer["surveyed"] == 1
