"""The delegated role in the hands of somebody with a terminal: what works, what is refused, and what they are told."""

from __future__ import annotations

import json

import yaml

from test.component.admission import changes, policy_server
from topology_simulator import kinds

_MERGE = ("patch", "infrastructure", "cluster", "--type", "merge", "-p")


async def ask_for(ground: policy_server.PolicyServer) -> str | None:
    found: str | None = (await ground.infrastructure())["spec"].get("desiredTopology")
    return found


async def test_a_requester_asks_cancels_and_asks_again(ground: policy_server.PolicyServer) -> None:
    await ground.anew()
    for spec, wanted in (
        ({"desiredTopology": "HighlyAvailable"}, "HighlyAvailable"),
        ({"desiredTopology": None}, None),
    ):
        code, _, said = await ground.kubectl("requester", *_MERGE, json.dumps({"spec": spec}))
        assert (code, await ask_for(ground)) == (0, wanted), said
    operations = [{"op": "add", "path": "/spec/desiredTopology", "value": "HighlyAvailable"}]
    code, _, said = await ground.kubectl(
        "requester", "patch", "infrastructure", "cluster", "--type", "json", "-p", json.dumps(operations)
    )
    assert (code, await ask_for(ground)) == (0, "HighlyAvailable"), said
    code, printed, said = await ground.kubectl("requester", "get", "infrastructure", "cluster")
    assert (code, "HighlyAvailable" in printed) == (0, True), said


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
    assert await ask_for(ground) is None
    code, _, said = await ground.kubectl("requester", "apply", "--server-side", "-f", "-", given=given)
    assert (code, await ask_for(ground)) == (0, "HighlyAvailable"), said


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


async def test_the_right_is_bound_and_taken_back(ground: policy_server.PolicyServer) -> None:
    """The commands of docs/delegation.md, for somebody who begins with nothing and ends with nothing."""
    await ground.anew()
    asked = (*_MERGE, '{"spec":{"desiredTopology":"HighlyAvailable"}}', "--dry-run=server")
    binding = ("clusterrolebinding", "topology-requester-nina")
    try:
        code, _, said = await ground.kubectl(
            "admin", "create", *binding, "--clusterrole=topology-requester", "--user=nina"
        )
        assert code == 0, said
        await ground.until(lambda: _exit_code(ground, asked), 0)
    finally:
        code, _, said = await ground.kubectl("admin", "delete", *binding, "--ignore-not-found")
    assert code == 0, said
    await ground.until(lambda: _exit_code(ground, asked), 1)


async def _exit_code(ground: policy_server.PolicyServer, arguments: tuple[str, ...]) -> int:
    return (await ground.kubectl("nobody", *arguments))[0]


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
