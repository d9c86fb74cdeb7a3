"""Where OpenShift's own controller is in charge the API need not have our fields: each answer says who is, and how.

The definition is then the payload's own (reference: real-native 1): before, everything ended with the advice to install
our fields.
"""

from __future__ import annotations

import dataclasses

import pytest

from topology_controller.observe import facts
from topology_controller.plugin import cluster, errors

from ..core import worlds
from . import replies

LACKING = facts.Installed("infrastructures.config.openshift.io v1 has no spec.desiredTopology", native=True)
WHO = "The controller of cluster-config-operator (feature gate MutableTopology) changes the topology"
COMMAND = """oc patch infrastructure cluster --type merge -p '{"spec":{"controlPlaneTopology":"HighlyAvailable"}}'"""


def read(known: facts.Facts) -> facts.Facts:
    """What a command goes on with. Raises PluginError."""
    return cluster.assembled(known, replies.LEASE, (), "openshift-topology-operator", worlds.NOW).known


def in_charge(installed: facts.Installed = LACKING) -> facts.Facts:
    """Our operator stands down, or does not run: nothing that it has written is needed for the answer."""
    conditions = facts.Conditions((facts.Condition("TopologyTransitionControllerUpgradeable", "True", "AsExpected"),))
    return dataclasses.replace(
        replies.WITHOUT_REQUEST,
        installed=installed,
        feature_gates=facts.FeatureGates((("4.20.1", True),)),
        native_controller=facts.NativeController(present=True, conditions=conditions),
    )


def test_status_says_who_is_in_charge_and_what_to_do() -> None:
    answer = replies.told(read(in_charge()))
    assert answer["assessment"] == "The operator takes no action on this cluster (NativeControllerActive)"
    text = " ".join(replies.printed(answer).split())
    assert WHO in text
    assert COMMAND in text


def test_a_definition_without_either_field_gets_no_command_that_it_would_drop() -> None:
    """The gate is on before the payload's definition is there."""
    answer = replies.told(read(in_charge(dataclasses.replace(LACKING, native=False))))
    message = answer["disabled"]["message"]
    assert "has no spec.controlPlaneTopology, so it cannot be requested of it" in message
    assert "once spec.controlPlaneTopology is served" in message
    assert "crd-patch" not in message, "there is no patch of ours to take out"


@pytest.mark.parametrize("gates", [facts.FeatureGates((("4.20.1", False),)), worlds.BROKEN])
def test_elsewhere_our_fields_are_wanted(gates: facts.Fact[facts.FeatureGates]) -> None:
    with pytest.raises(errors.PluginError, match=r"lacks our fields.*v1 has no spec\.desiredTopology"):
        read(dataclasses.replace(in_charge(), feature_gates=gates))
