"""A policy with a mistake in it refuses, rather than lets pass, and the way out stays open."""

from __future__ import annotations

import copy

from test.component.admission import ground as grounds


async def test_a_mistake_refuses_everybody_who_writes_until_an_administrator_deletes_the_binding(
    ground: grounds.Ground,
) -> None:
    await ground.anew()
    path = f"{grounds.INFRASTRUCTURE}/status"
    harmless = grounds.Request("PATCH", {"status": {"apiServerURL": "https://new.example.com:6443"}}, path=path)
    shipped = grounds.shipped()[grounds.STATUS_POLICY]
    (binding,) = [
        one
        for one in grounds.rendered()
        if (one["kind"], one["metadata"]["name"]) == (grounds.BINDINGS.kind, grounds.STATUS_POLICY)
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
        printed = await ground.kubectl("admin", "delete", "validatingadmissionpolicybinding", grounds.STATUS_POLICY)
        assert printed[0] == 0, printed
        await ground.until(lambda: code("ingress"), 200)
    finally:
        await ground.write_policy(shipped)
        if await ground.api.find(grounds.BINDINGS, grounds.STATUS_POLICY) is None:
            await ground.api.create(grounds.BINDINGS, binding)
        await ground.in_force()


async def test_the_rules_hold_in_another_namespace_than_the_usual_one() -> None:
    (writers,) = [
        one["expression"]
        for policy in grounds.rendered("elsewhere")
        if policy["kind"] == grounds.POLICIES.kind
        for one in policy["spec"]["variables"]
        if one["name"] == "writers"
    ]
    assert "'system:serviceaccount:elsewhere:cluster-topology-operator'" in writers
    assert writers.count("system:serviceaccount:") == 3
