"""Everybody tries everything, and the table says what becomes of it.

`yes` it is done; `rbac` the right is missing, as it was before there were policies; `STATUS`, `REQUEST`, `REST`,
`REPORT` and `CONFIRM` our policies refuse it: the topology in status, the request, all else for holders of the
delegated role, the report in the status of ClusterOperator `topology`, and what an administrator confirms by its
annotations.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test import polling
from test.component.admission import changes, policy_server
from topology_simulator import client as clients
from topology_simulator import kinds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TABLE = """
                                            masters admin operator native version squatter namesake ingress mover editor  requester both   full late nobody janitor balancer
move the control plane                      yes     yes   yes      yes    yes     STATUS   STATUS   STATUS  yes   rbac    rbac      STATUS rbac rbac rbac   STATUS  rbac
move the infrastructure                     yes     yes   yes      yes    yes     STATUS   STATUS   STATUS  yes   rbac    rbac      STATUS rbac rbac rbac   STATUS  rbac
move by replacing                           yes     yes   rbac     yes    yes     STATUS   STATUS   STATUS  yes   rbac    rbac      STATUS rbac rbac rbac   STATUS  rbac
let the default move it                     yes     yes   yes      yes    yes     STATUS   STATUS   STATUS  yes   rbac    rbac      STATUS rbac rbac rbac   STATUS  rbac
take all of status away                     yes     yes   yes      yes    yes     STATUS   STATUS   STATUS  yes   rbac    rbac      STATUS rbac rbac rbac   STATUS  rbac
write another record                        yes     yes   yes      yes    yes     STATUS   STATUS   STATUS  yes   rbac    rbac      STATUS rbac rbac rbac   STATUS  rbac
move and drop the record                    yes     yes   yes      yes    yes     STATUS   STATUS   STATUS  yes   rbac    rbac      STATUS rbac rbac rbac   STATUS  rbac
drop the record                             yes     yes   rbac     yes    yes     yes      yes      yes     yes   rbac    rbac      yes    rbac rbac rbac   yes     rbac
write something else of status              yes     yes   yes      yes    yes     yes      yes      yes     yes   rbac    rbac      yes    rbac rbac rbac   yes     rbac
send the same status                        yes     yes   rbac     yes    yes     yes      yes      yes     yes   rbac    rbac      yes    rbac rbac rbac   yes     rbac
request                                     yes     yes   rbac     yes    yes     REQUEST  REQUEST  rbac    rbac  REQUEST yes       yes    yes  yes  rbac   rbac    rbac
cancel                                      yes     yes   rbac     yes    yes     REQUEST  REQUEST  rbac    rbac  REQUEST yes       yes    yes  yes  rbac   rbac    rbac
request by a JSON patch                     yes     yes   rbac     yes    yes     REQUEST  REQUEST  rbac    rbac  REQUEST yes       yes    yes  yes  rbac   rbac    rbac
request by applying                         yes     yes   rbac     yes    yes     REQUEST  REQUEST  rbac    rbac  REQUEST yes       yes    yes  yes  rbac   rbac    rbac
request by replacing                        yes     yes   rbac     yes    yes     REQUEST  REQUEST  rbac    rbac  REQUEST rbac      yes    rbac yes  rbac   rbac    rbac
send nothing new                            yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     yes       yes    yes  yes  rbac   rbac    rbac
replace with the same                       yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     rbac      yes    rbac yes  rbac   rbac    rbac
change spec                                 yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     REST      REST   yes  yes  rbac   rbac    rbac
take from spec                              yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     REST      REST   yes  yes  rbac   rbac    rbac
label                                       yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     REST      REST   yes  yes  rbac   rbac    rbac
annotate                                    yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     REST      REST   yes  yes  rbac   rbac    rbac
take an annotation                          yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     REST      REST   yes  yes  rbac   rbac    rbac
hold with a finalizer                       yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     REST      REST   yes  yes  rbac   rbac    rbac
own                                         yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     REST      REST   yes  yes  rbac   rbac    rbac
forget who wrote what                       yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     REST      REST   yes  yes  rbac   rbac    rbac
forge who wrote what                        yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     rbac      REST   rbac yes  rbac   rbac    rbac
forge one more who wrote status             yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     rbac      REST   rbac yes  rbac   rbac    rbac
forge the same without the sub-resource     yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     rbac      REST   rbac yes  rbac   rbac    rbac
forget who wrote status                     yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     rbac      REST   rbac yes  rbac   rbac    rbac
forget who wrote spec                       yes     yes   rbac     yes    yes     yes      yes      rbac    rbac  yes     rbac      yes    rbac yes  rbac   rbac    rbac
request and label                           yes     yes   rbac     yes    yes     REQUEST  REQUEST  rbac    rbac  REQUEST REST      REST   yes  yes  rbac   rbac    rbac
write the copy                              yes     yes   yes      yes    yes     REPORT   REPORT   REPORT  yes   rbac    rbac      REPORT rbac rbac rbac   REPORT  rbac
drop the copy                               yes     yes   yes      yes    yes     REPORT   REPORT   REPORT  yes   rbac    rbac      REPORT rbac rbac rbac   REPORT  rbac
lift it by applying                         yes     yes   yes      yes    yes     REPORT   REPORT   REPORT  yes   rbac    rbac      REPORT rbac rbac rbac   REPORT  rbac
lift the upgrade block                      yes     yes   yes      yes    yes     REPORT   REPORT   REPORT  yes   rbac    rbac      REPORT rbac rbac rbac   REPORT  rbac
take the upgrade block away                 yes     yes   yes      yes    yes     REPORT   REPORT   REPORT  yes   rbac    rbac      REPORT rbac rbac rbac   REPORT  rbac
report another version                      yes     yes   yes      yes    yes     REPORT   REPORT   REPORT  yes   rbac    rbac      REPORT rbac rbac rbac   REPORT  rbac
have something else gathered                yes     yes   yes      yes    yes     REPORT   REPORT   REPORT  yes   rbac    rbac      REPORT rbac rbac rbac   REPORT  rbac
send the same report                        yes     yes   yes      yes    yes     yes      yes      yes     yes   rbac    rbac      yes    rbac rbac rbac   yes     rbac
confirm the load balancer                   yes     yes   rbac     yes    yes     rbac     rbac     rbac    rbac  rbac    rbac      rbac   yes  yes  rbac   CONFIRM yes
take a confirmation back                    yes     yes   rbac     yes    yes     rbac     rbac     rbac    rbac  rbac    rbac      rbac   yes  yes  rbac   CONFIRM yes
claim a backup                              yes     yes   rbac     yes    yes     rbac     rbac     rbac    rbac  rbac    rbac      rbac   yes  yes  rbac   CONFIRM yes
accept the drain of the router              yes     yes   rbac     yes    yes     rbac     rbac     rbac    rbac  rbac    rbac      rbac   yes  yes  rbac   CONFIRM yes
call the operator elsewhere                 yes     yes   rbac     yes    yes     rbac     rbac     rbac    rbac  rbac    rbac      rbac   yes  yes  rbac   CONFIRM yes
pause                                       yes     yes   rbac     yes    yes     rbac     rbac     rbac    rbac  rbac    rbac      rbac   yes  yes  rbac   yes     yes
label the ClusterOperator                   yes     yes   rbac     yes    yes     rbac     rbac     rbac    rbac  rbac    rbac      rbac   yes  yes  rbac   yes     yes
confirm the load balancer through status    yes     yes   yes      yes    yes     yes      yes      yes     yes   rbac    rbac      yes    rbac rbac rbac   yes     rbac
confirm it for another ClusterOperator      yes     yes   REPORT   yes    yes     rbac     rbac     rbac    rbac  rbac    rbac      rbac   rbac rbac rbac   yes     rbac
create another ClusterOperator              yes     yes   REPORT   yes    yes     rbac     rbac     rbac    rbac  rbac    rbac      rbac   rbac rbac rbac   yes     rbac
"""  # noqa: E501 - a table is read in its columns
_MERGE = ("patch", "infrastructure", "cluster", "--type", "merge", "-p")
_HEAD, *_LINES = TABLE.strip("\n").splitlines()
PEOPLE = _HEAD.split()
ROWS = {line[:44].strip(): line[44:].split() for line in _LINES}


def verdict(answer: policy_server.Answer) -> str:
    match answer.refused_by:
        case "":
            return "yes" if answer.code in {200, 201} else f"{answer.code} {answer.said}"
        case policy_server.STATUS_POLICY:
            return "STATUS"
        case policy_server.REPORT_POLICY:
            return "CONFIRM" if "administrator confirms" in answer.said else "REPORT"
        case policy_server.REQUEST_POLICY:
            return "REST" if "may change nothing" in answer.said else "REQUEST"
        case other:
            return other


def test_the_table_has_everybody_and_everything() -> None:
    assert list(policy_server.PEOPLE) == PEOPLE
    assert list(ROWS) == list(changes.CHANGES)
    assert {len(one) for one in ROWS.values()} == {len(PEOPLE)}
    words = {"yes", "rbac", "STATUS", "REQUEST", "REST", "REPORT", "CONFIRM"}
    assert {word for row in ROWS.values() for word in row} == words


async def test_everybody_tries_everything(ground: policy_server.PolicyServer) -> None:
    found = await changes.prepare(ground)
    report = await ground.api.get(kinds.CLUSTER_OPERATORS, "topology")
    wrong = []
    for what, row in ROWS.items():
        request = changes.CHANGES[what](found)
        answers = await asyncio.gather(*(ground.send(who, request) for who in PEOPLE))
        for who, wanted, answer in zip(PEOPLE, row, answers, strict=True):
            if verdict(answer) != wanted:
                wrong.append(f"{who}: {what}: wanted {wanted}, found {verdict(answer)}: {answer.said}")
    assert not wrong, "\n".join(wrong)
    assert await ground.infrastructure() == found, "a dry run leaves nothing behind"
    assert await ground.api.get(kinds.CLUSTER_OPERATORS, "topology") == report


REFUSALS = {
    ("ingress", "lift the upgrade block"): ("status.conditions", "observedtopology", ""),
    ("ingress", "move and drop the record"): (
        "status.controlPlaneTopology, status.infrastructureTopology", "observedtopology", "",
    ),
    ("janitor", "confirm the load balancer"): (changes.BACKENDS, "confirmations", "topology-administrator"),
    ("editor", "cancel"): ("spec.desiredTopology", "desiredtopology", "topology-requester"),
    ("requester", "request and label"): ("metadata.labels too", "everything", "topology-administrator"),
    ("both", "forge who wrote what"): ("metadata.managedFields too", "everything", "topology-administrator"),
}  # fmt: skip
"""What is refused, the right that lacks, and the role that has it."""


@pytest.mark.parametrize(("who", "what"), REFUSALS)
async def test_a_refusal_says_what_is_missing_and_whom_to_ask(
    ground: policy_server.PolicyServer, who: str, what: str
) -> None:
    field, right, role = REFUSALS[who, what]
    answer = await ground.send(who, changes.CHANGES[what](await changes.prepare(ground)))
    assert (answer.code, answer.obj["reason"]) == (403, "Forbidden")
    said = answer.said.partition(" denied request: ")[2]
    assert said.startswith(f"User {policy_server.PEOPLE[who].user} may ")
    assert field in said
    assert f"infrastructures/{right} in group topology.openshift.io" in said
    assert role in said
    assert "administrator of this cluster" in said


async def test_the_first_status_is_the_installers(ground: policy_server.PolicyServer) -> None:
    """Whoever may write status sets the topology of a cluster that has none, said or by default; then it is guarded."""
    await ground.anew(installed=False)
    path = f"{policy_server.INFRASTRUCTURE}/status"
    topologies = {"controlPlaneTopology": "SingleReplica", "infrastructureTopology": "SingleReplica"}
    said = await ground.send("ingress", policy_server.Request("PATCH", {"status": topologies}, path=path))
    assert said.code == 200, said.said
    assert said.obj["status"].items() >= topologies.items()
    first = policy_server.Request("PATCH", {"status": {"infrastructureName": "made-by-default"}}, path=path)
    answer = await ground.send("ingress", first, dry=False)
    assert answer.code == 200, answer.said
    assert answer.obj["status"]["controlPlaneTopology"] == "HighlyAvailable", "by the default of the definition"
    again = await ground.send("ingress", policy_server.Request("PATCH", {"status": topologies}, path=path))
    assert again.refused_by == policy_server.STATUS_POLICY


async def test_a_request_passes_where_the_server_itself_forgets_the_oldest_writers(
    ground: policy_server.PolicyServer,
) -> None:
    """It keeps ten clients that update an object, by the time of their last write, and calls the others ancient."""
    await changes.prepare(ground)
    for number in range(9):
        label = {"metadata": {"labels": {f"{changes.MARK}-{number}": "new"}}}
        manager = (("fieldManager", f"client-{number}"),)
        answer = await ground.send("editor", policy_server.Request("PATCH", label, query=manager), dry=False)
        assert answer.code == 200, answer
        before = await ground.infrastructure()
        for what in ("request", "request by applying"):
            request = changes.CHANGES[what](before)
            request = dataclasses.replace(request, query=request.query or (("fieldManager", "another"),))
            answer = await ground.send("requester", request)
            assert answer.code == 200, (number, what, answer)
        for what in (
            "forge who wrote what",
            "forge one more who wrote status",
            "forge the same without the sub-resource",
        ):
            answer = await ground.send("both", changes.CHANGES[what](before))
            assert answer.refused_by == policy_server.REQUEST_POLICY, (number, what, answer)
    assert "ancient-changes" in {entry["manager"] for entry in before["metadata"]["managedFields"]}


# -- in a terminal


async def test_a_requester_applies_on_the_server_side_and_is_told_so(ground: policy_server.PolicyServer) -> None:
    await ground.anew()
    wanted = {
        "apiVersion": "config.openshift.io/v1",
        "kind": "Infrastructure",
        "metadata": {"name": "cluster"},
        "spec": {"desiredTopology": "HighlyAvailable"},
    }
    given = yaml.safe_dump(wanted)
    code, _, said = await ground.kubectl("requester", "apply", "-f", "-", given=given)
    assert code == 1
    assert "would change metadata.annotations too (apply leaves an annotation" in said
    assert "apply --server-side and patch do not" in said
    assert "desiredTopology" not in (await ground.infrastructure())["spec"]
    code, _, said = await ground.kubectl("requester", "apply", "--server-side", "-f", "-", given=given)
    assert code == 0, said
    assert (await ground.infrastructure())["spec"]["desiredTopology"] == "HighlyAvailable"


async def test_nothing_else_is_open_to_a_requester(ground: policy_server.PolicyServer) -> None:
    found = await ground.anew()
    given = yaml.safe_dump(found)
    for arguments in (
        ("replace", "-f", "-"),
        ("delete", "infrastructure", "cluster"),
        ("delete", "validatingadmissionpolicy", policy_server.REQUEST_POLICY),
        ("delete", "validatingadmissionpolicybinding", policy_server.REQUEST_POLICY),
        ("get", "nodes"),
        (*_MERGE, '{"status":{"controlPlaneTopology":"HighlyAvailable"}}', "--subresource=status"),
        ("create", "clusterrolebinding", "mine", "--clusterrole=topology-administrator", "--user=rita"),
    ):
        code, _, said = await ground.kubectl("requester", *arguments, given=given)
        assert (code, "forbidden" in said.lower()) == (1, True), (arguments, said)
    assert await ground.infrastructure() == found


async def test_what_was_changed_stands_in_the_audit_log(ground: policy_server.PolicyServer) -> None:
    found = await changes.prepare(ground)
    before = ground.session.server.folder.joinpath("audit.log").stat().st_size
    for who, what in (
        ("requester", "cancel"),
        ("editor", "request"),
        ("editor", "label"),
        ("admin", "move and drop the record"),
        ("ingress", "take all of status away"),
        ("ingress", "drop the record"),
        ("ingress", "write something else of status"),
    ):
        await ground.send(who, changes.CHANGES[what](found))
    seen: list[tuple[int, str, str]] = []

    async def written() -> bool:
        lines = ground.session.server.folder.joinpath("audit.log").read_bytes()[before:].splitlines()
        events = [json.loads(line) for line in lines if line.endswith(b"}")]
        mine = [one for one in events if one.get("impersonatedUser") and one["objectRef"]["name"] == "cluster"]
        seen[:] = [
            (one["responseStatus"]["code"], name.rpartition("/")[2], text)
            for one in mine
            for name, text in sorted(one["annotations"].items())
            if "cluster-topology-operator-" in name
        ]
        return len(mine) == 7

    await ground.until(written, expected=True)
    both = "controlPlaneTopology: SingleReplica to {0}, infrastructureTopology: SingleReplica to {0}"
    assert seen == [
        (200, "request-changed", "HighlyAvailable to nothing"),
        (403, "request-changed", "HighlyAvailable to SingleReplica"),
        (200, "record-dropped", "Pending"),
        (200, "topology-changed", both.format("HighlyAvailable")),
        (403, "record-dropped", "Pending"),
        (403, "topology-changed", both.format("nothing")),
        (200, "record-dropped", "Pending"),
    ]
    assert (await ground.api.get(kinds.INFRASTRUCTURES, "cluster"))["spec"]["desiredTopology"] == "HighlyAvailable"


# -- a policy with a mistake in it

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
    """The cluster's own controller sees more than the API server, which lets one pass whose fields do not exist."""
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
    def judged(policy: dict[str, Any]) -> bool:
        status: dict[str, Any] = policy.get("status") or {}
        return "typeChecking" in status and status.get("observedGeneration") == policy["metadata"]["generation"]

    what = f"policy {name} is judged"
    policy = await polling.until(
        what, lambda: ground.api.get(policy_server.POLICIES, name), _JUDGED_SECONDS, holds=judged
    )
    return list(policy["status"]["typeChecking"].get("expressionWarnings") or [])
