"""The commands that the operator prints are done to the letter, or refused."""

from __future__ import annotations

import pytest

from topology_simulator import cluster, install, kinds, probes

INGRESS = cluster.INGRESS_NAMESPACE
PATCH = f"""oc -n {INGRESS} patch ingresscontroller default --type merge -p '{{"spec":{{"replicas":2}}}}'"""


@pytest.fixture
async def installed(api):
    await install.install(api, cluster.Shape(router_replicas=1))
    return api


async def test_several_are_done_in_order_by_label_and_by_name(installed):
    pods = [one["metadata"]["namespace"] for one in await installed.list(kinds.PODS)]
    assert len(pods) == 3
    await probes.run_command(
        installed,
        "oc -n openshift-kube-apiserver-operator delete pod -l app=kube-apiserver-operator && "
        "oc -n openshift-apiserver-operator delete pod --selector=app=nobody && "
        "oc delete machineconfig " + cluster.rendered("worker", "SingleReplica"),
    )
    left = [one["metadata"]["namespace"] for one in await installed.list(kinds.PODS)]
    assert left == [one for one in pods if one != "openshift-kube-apiserver-operator"]
    names = [one["metadata"]["name"] for one in await installed.list(kinds.MACHINE_CONFIGS)]
    assert names == [cluster.rendered("master", "SingleReplica")]


async def test_notes_and_labels_are_put_on(installed):
    await probes.run_command(installed, "oc annotate clusteroperator etcd --overwrite a.b/c=d")
    await probes.run_command(installed, "oc label infrastructure cluster x/y=true")
    assert (await installed.get(kinds.CLUSTER_OPERATORS, "etcd"))["metadata"]["annotations"]["a.b/c"] == "d"
    assert (await installed.get(kinds.INFRASTRUCTURES, "cluster"))["metadata"]["labels"] == {"x/y": "true"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("oc debug node/master-0 -- chroot /host true", "is not understood here"),
        ('oc annotate clusteroperator etcd a="$(date)"', "needs a shell"),
        ("oc patch node master-0 --type json -p '[]'", "only --type merge"),
        ("oc patch node master-0 --type merge -p '{'", "the patch is no JSON"),
        ("oc patch gadget one --type merge -p '{}'", "'gadget' is none of"),
        ("oc delete node", "names no object"),
        ("oc label node master-0", "wants key=value"),
        ("rm -rf /", "only oc commands"),
        ("oc delete pod 'one", "No closing quotation"),
        ("", "only oc commands"),
    ],
)
async def test_what_is_not_understood_is_refused(api, text, why):
    with pytest.raises(probes.CommandError, match=why):
        await probes.run_command(api, text)


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (f"Hand it over with: {PATCH}. Its transition is Idle", PATCH),
        (f"Hand it over with: {PATCH}", PATCH),
        ("Look at oc get nodes.", "oc get nodes"),
        ("Nothing is wrong. A doc helps", ""),
    ],
)
def test_a_command_is_found_in_a_message(message, found):
    assert probes.command_in(message) == found
