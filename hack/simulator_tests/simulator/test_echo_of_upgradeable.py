"""What ClusterVersion says about upgrades in each release, when nobody, one, several object, or an update runs."""

from __future__ import annotations

import pytest

from topology_simulator import conditions, kinds
from topology_simulator.actors import version as words

OURS = "topology is being changed to HighlyAvailable"
MINOR, MAJOR = "between minor versions", "between minor or major versions"
REMOVE = "Please remove overrides before"
UPDATING = "An update is already in progress and the details are in the Progressing condition"


def operator(name, reason, message):
    said = conditions.written([conditions.Condition("Upgradeable", "False", reason, message)])
    return kinds.CLUSTER_OPERATORS.new(name, status={"conditions": said})


def version(*, overridden=False, updating=False):
    overrides = [{"kind": "CustomResourceDefinition", "unmanaged": True}] if overridden else []
    said = conditions.written([conditions.Condition("Progressing", "True" if updating else "False")])
    return kinds.CLUSTER_VERSIONS.new("version", spec={"overrides": overrides}, status={"conditions": said})


def echo(release, *operators, **clusters):
    found = words.echo(release, version(**clusters), operators)
    assert {one.type for one in found} <= set(words.TYPES)
    return {one.type: (one.status, one.reason, one.message) for one in found}


TOPOLOGY = operator("topology", "TransitionPending", OURS)
CONSOLE = operator("console", "ConsoleSays", "console objects too")
RELEASES = ("4.20", "4.21", "4.22", "main")


@pytest.mark.parametrize("release", RELEASES)
def test_without_an_objection_there_is_no_condition(release):
    fine = kinds.CLUSTER_OPERATORS.new(
        "console", status={"conditions": conditions.written(conditions.stated("operator at rest", name="console"))}
    )
    assert echo(release, fine) == {}


@pytest.mark.parametrize(("release", "between"), [("4.20", MINOR), ("4.21", MINOR), ("4.22", MAJOR)])
def test_one_objection_is_passed_on_with_the_reason_of_its_operator(release, between):
    message = f"Cluster operator topology should not be upgraded {between}: {OURS}"
    assert echo(release, TOPOLOGY) == {"Upgradeable": ("False", "TransitionPending", message)}


@pytest.mark.parametrize(("release", "between"), [("4.20", MINOR), ("4.21", MINOR), ("4.22", MAJOR)])
def test_several_are_joined_by_name_each_with_its_reason(release, between):
    message = (
        f"Multiple cluster operators should not be upgraded {between}:\n"
        f"* Cluster operator console should not be upgraded {between}: ConsoleSays: console objects too\n"
        f"* Cluster operator topology should not be upgraded {between}: TransitionPending: {OURS}"
    )
    assert echo(release, TOPOLOGY, CONSOLE) == {"Upgradeable": ("False", "ClusterOperatorsNotUpgradeable", message)}


@pytest.mark.parametrize(
    ("release", "between", "override"),
    [
        ("4.20", MINOR, f"upgrades. {REMOVE} continuing."),
        ("4.21", MINOR, f"upgrades. {REMOVE} continuing."),
        ("4.22", MAJOR, f"upgrades {MAJOR}. {REMOVE} requesting a minor or major version update."),
    ],
)
def test_an_override_and_an_operator_are_several_reasons_each_a_condition_too(release, between, override):
    override = f"Disabling ownership via cluster version overrides prevents {override}"
    ours = f"Cluster operator topology should not be upgraded {between}: {OURS}"
    both = (
        f"Cluster should not be upgraded {between} for multiple reasons: ClusterVersionOverridesSet,TransitionPending\n"
        f"* {override}\n* {ours}"
    )
    assert echo(release, TOPOLOGY, overridden=True) == {
        "Upgradeable": ("False", "MultipleReasons", both),
        "UpgradeableClusterOperators": ("False", "TransitionPending", ours),
        "UpgradeableClusterVersionOverrides": ("False", "ClusterVersionOverridesSet", override),
    }


@pytest.mark.parametrize("release", ["4.20", "4.21", "4.22"])
def test_an_update_that_runs_is_an_objection(release):
    assert echo(release, updating=True) == {"Upgradeable": ("False", "UpdateInProgress", UPDATING)}
    found = echo(release, TOPOLOGY, updating=True)
    assert found["Upgradeable"][1] == "MultipleReasons"
    assert OURS in found["Upgradeable"][2]
    assert found["UpgradeableUpgradeInProgress"] == ("True", "UpdateInProgress", UPDATING)


def test_later_ones_pass_on_messages_alone():
    assert echo("main", TOPOLOGY) == {"Upgradeable": ("False", "RiskNameNotCompatibleWithReasonProperty", OURS)}
    both = f"Cluster should not be upgraded {MAJOR} for multiple reasons:\n* console objects too\n* {OURS}"
    assert echo("main", TOPOLOGY, CONSOLE) == {"Upgradeable": ("False", "MultipleReasons", both)}
    assert echo("main", updating=True) == {"Upgradeable": ("False", "ClusterVersionUpdating", f"{UPDATING}.")}
    found = echo("main", TOPOLOGY, overridden=True)
    assert set(found) == {"Upgradeable"}
    assert found["Upgradeable"][2].endswith(f"\n* {OURS}")


@pytest.mark.parametrize(
    ("running", "release"),
    [("4.20.3", "4.20"), ("4.21.7", "4.21"), ("4.22.0", "4.22"), ("4.23.1", "main"), ("5.0.0", "main")],
)
def test_a_version_has_the_words_of_its_release(running, release):
    assert words.of_version(running) == release
