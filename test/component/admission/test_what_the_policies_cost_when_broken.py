"""A policy with a mistake in it refuses, rather than lets pass, and the way out stays open."""

from __future__ import annotations

import copy

from test.component.admission import policy_server


async def test_a_mistake_refuses_everybody_who_writes_until_an_administrator_deletes_the_binding(
    ground: policy_server.PolicyServer,
) -> None:
    await ground.anew()
    path = f"{policy_server.INFRASTRUCTURE}/status"
    harmless = policy_server.Request("PATCH", {"status": {"apiServerURL": "https://new.example.com:6443"}}, path=path)
    shipped = policy_server.shipped()[policy_server.STATUS_POLICY]
    (binding,) = [
        one
        for one in policy_server.rendered()
        if (one["kind"], one["metadata"]["name"]) == (policy_server.BINDINGS.kind, policy_server.STATUS_POLICY)
    ]
    broken = copy.deepcopy(shipped)
    broken["spec"]["validations"][0]["expression"] = "variables.was.notThere == 1"

    async def code(who: str) -> int:
        return (await ground.send(who, harmless)).code

    assert await code("ingress") == 200
    try:
        await ground.write_policy(broken)
        await ground.until(lambda: code("ingress"), 422)
        said = (await ground.send("masters", harmless)).said
        assert "no such key: notThere" in said, "also who may do everything, and told why"
        # What is judged by a policy is never a policy, so it can always be repaired or taken away.
        printed = await ground.kubectl(
            "admin", "delete", "validatingadmissionpolicybinding", policy_server.STATUS_POLICY
        )
        assert printed[0] == 0, printed
        await ground.until(lambda: code("ingress"), 200)
    finally:
        await ground.write_policy(shipped)
        if await ground.api.find(policy_server.BINDINGS, policy_server.STATUS_POLICY) is None:
            await ground.api.create(policy_server.BINDINGS, binding)
        await ground.in_force()


async def test_the_rules_hold_in_another_namespace_than_the_usual_one() -> None:
    accounts = [
        one["expression"]
        for policy in policy_server.rendered("elsewhere")
        if policy["kind"] == policy_server.POLICIES.kind
        for one in policy["spec"]["variables"]
        if "system:serviceaccount:" in one["expression"]
    ]
    assert len(accounts) == 2
    for expression in accounts:
        assert "'system:serviceaccount:elsewhere:cluster-topology-operator'" in expression
        assert expression.count("system:serviceaccount:") == 1
