"""What an operand file may say, and what whoever wrote it is told when it may not."""

from __future__ import annotations

import shutil

import pytest
import yaml

from topology_api.types import TopologyPair
from topology_api.vocabulary import CheckName
from topology_controller import bindata
from topology_controller.definitions import load as transitions
from topology_controller.definitions import operands as matrices
from topology_controller.definitions import read, registry

ROOT = bindata.root()
SETTINGS, OPTIONAL = "single-node-settings.yaml", "optional-operators.yaml"
SNO = TopologyPair(control_plane="SingleReplica", infrastructure="SingleReplica")
COMPACT = TopologyPair(control_plane="HighlyAvailable", infrastructure="HighlyAvailable")
SPREADING = TopologyPair(control_plane="HighlyAvailable", infrastructure="SingleReplica")


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(ROOT / "operands", tmp_path / "operands")
    for name in ("startup-readers.yaml", SETTINGS, OPTIONAL):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def problems(folder):
    with pytest.raises(read.DefinitionError) as caught:
        matrices.load(folder)
    return [str(one).removeprefix(f"{folder}/") for one in caught.value.problems]


def test_the_committed_matrix_answers_every_check_that_is_about_operands():
    matrix = matrices.load(ROOT)
    assert {group.check for group in matrix.groups} == set(registry.OPERAND_CHECKS)
    for group in matrix.groups:
        for source, target in ((SNO, COMPACT), (SPREADING, COMPACT)):
            assert group.lacks(source, target) == (), group.check


@pytest.mark.parametrize(
    ("source", "target", "same"),
    [
        ("SingleReplica", "HighlyAvailable", False),
        ("HighlyAvailableArbiter", "HighlyAvailable", False),
        ("HighlyAvailable", "HighlyAvailable", True),
        # Nothing is known of it, so nothing is proven, not even that it equals itself.
        ("DualReplica", "DualReplica", False),
        ("DualReplica", "HighlyAvailable", False),
    ],
)
def test_the_same_word_means_the_same_configuration(source, target, same):
    pools = matrices.load(ROOT).group(CheckName.MACHINE_CONFIG_POOLS_ROLLED_OUT)
    assert pools is not None
    assert matrices.same(pools.variant, source, target) is same
    # Without words no topology makes a difference.
    assert matrices.same(None, source, target)


ROUTER, ETCD, OAUTH, GUARDS = "RouterReplicas", "EtcdRevision", "OAuthReplicas", "GuardPodDisruptionBudgets"


@pytest.mark.parametrize(
    ("name", "old", "new", "here", "text"),
    [
        (ROUTER, "check: RouterReplicas", "check: EtcdHealthy", True, "is not about operands"),
        (ROUTER, "check: RouterReplicas", "check: OAuthReplicas", True, "wanted 'RouterReplicas'"),
        (ROUTER, "follows: infra", "follows: infre", True, "'infrestructure'; allowed: controlPlane, infrastructure"),
        (ROUTER, "HighlyAvailable: 2", "HighlyAvailable: 99", True, "replicas.HighlyAvailable is 99; input should"),
        (ROUTER, "replicas: {Single", "replicas: perNode #", True, "replicas is 'perNode'; allowed: perConfiguration,"),
        (ROUTER, "    replicas: {Single", "    #", False, "needs replicas"),
        (ROUTER, "name: default", "name: Default_", True, "operands[0].name is 'Default_'"),
        (ROUTER, "    namespace: openshift-ingress-operator\n", "", False, "needs namespace"),
        (ETCD, "name: cluster", "name: cluster, replicas: perControlPlaneNode", True, "does not take replicas"),
        (ETCD, "name: cluster", "name: cluster, restarts: true", True, "does not take restarts"),
        (OAUTH, "perControlPlaneNode", "perConfiguration", None, "needs managedBy"),
        (ETCD, "resource: Etcd, ", "", True, "needs resource"),
        (ETCD, "name: cluster", "name: cluster, namespace: a", True, "does not take namespace"),
        (ETCD, "follows: controlPlane", "variant: {SingleReplica: a}\nfollows: controlPlane", None, "does not"),
        ("MachineConfigPoolsRolledOut", "variant:", "# ", False, "needs variant"),
        (GUARDS, "operator: kube-apiserver", "variant: {SingleReplica: a}", False, "does not take variant"),
        ("APIServerReplicas", "openshift-oauth-apiserver", "openshift-apiserver", False, "apiserver stands here twice"),
        (OAUTH, "oauth-openshift", "apiserver", False, "stands in APIServerReplicas.yaml already"),
    ],
)
def test_a_mistake_names_file_line_and_what_is_allowed(folder, name, old, new, here, text):  # noqa: PLR0917 - a table
    place = folder / "operands" / f"{name}.yaml"
    before = place.read_text(encoding="utf-8")
    assert old in before
    if name == OAUTH and new == "apiserver":
        before = before.replace("openshift-authentication", "openshift-apiserver", 1)
    place.write_text(before.replace(old, new, 1), encoding="utf-8")
    found = [one for one in problems(folder) if text in one]
    assert found, problems(folder)
    assert found[0].startswith(f"operands/{name}.yaml:"), found
    if here:
        line = before.count("\n", 0, before.index(old)) + 1
        assert found[0].startswith(f"operands/{name}.yaml:{line}: "), found


def test_a_file_is_found_by_its_check(folder):
    (folder / "operands" / "EtcdRevision.yaml").rename(folder / "operands" / "etcd.yaml")
    lines = (folder / "operands" / "etcd.yaml").read_text(encoding="utf-8").splitlines()
    line = lines.index("check: EtcdRevision") + 1
    assert problems(folder) == [
        f"operands/etcd.yaml:{line}: check 'EtcdRevision' differs from the file's name; wanted 'etcd'"
    ]


def test_startup_readers_are_needed_and_each_is_named_once(folder):
    place = folder / "startup-readers.yaml"
    text = place.read_text(encoding="utf-8")
    place.write_text(text.replace("openshift-apiserver-operator", "A"), encoding="utf-8")
    assert "startupReaders[1].namespace is 'A'" in problems(folder)[0]
    entry = text[text.index("  - operator: authentication") :]
    place.write_text(text + entry, encoding="utf-8")
    assert "openshift-authentication-operator stands here twice" in problems(folder)[0]
    place.unlink()
    assert "startup-readers.yaml: does not exist" in problems(folder)[0]


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        (SETTINGS, "    field: spec.disableDrain\n", "    fild: spec.disableDrain\n", "unknown key 'fild'"),
        (SETTINGS, "field: spec.disableDrain", "field: status.x", "singleNodeSettings[3].field is 'status.x'"),
        (SETTINGS, "    name: default\n", "    anyNamespace: true\n", "either anyNamespace, or namespace and name"),
        (SETTINGS, "    back: High\n", "    back: Basic\n", "is set back to one of its values"),
        (SETTINGS, "    back: null\n", "", "key singleNodeSettings[0].back is missing"),
        (SETTINGS, "sriovvrb", "sriovfec", "stands here twice"),
        (OPTIONAL, "    pods: control-plane=ssp-operator\n", "", "either pods (start) or look (oneNode)"),
        (OPTIONAL, "    look: oc get", "    pods: a=b\n    look: oc get", "either pods (start) or look (oneNode)"),
        (OPTIONAL, "look: oc get", "look: oc delete", "look is 'oc delete"),
        (OPTIONAL, "keeps: openshift-cnv/", "keeps: ", "optionalOperators[0].keeps is 'virt-template-validator'"),
        (OPTIONAL, "deployment: sriov-fec-controller-manager", "deployment: ssp-operator", "stands here twice"),
    ],
)
def test_what_is_wrong_with_an_entry_is_told_with_its_file(folder, name, old, new, told):
    place = folder / name
    text = place.read_text(encoding="utf-8")
    assert old in text
    place.write_text(text.replace(old, new), encoding="utf-8")
    assert [line for line in problems(folder) if line.startswith(f"{name}:") and told in line]


DEFINITION = (ROOT / "transitions" / "sno-to-ha-compact.yaml").read_text(encoding="utf-8")


def asking(tmp_path, monkeypatch, checks: str, matrix: matrices.Matrix):
    document = yaml.safe_load(DEFINITION)
    document["convergence"]["checks"] = [{"check": check} for check in checks.split()]
    document["platforms"] = ["None"]
    (tmp_path / "sno-to-ha-compact.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    monkeypatch.setattr(matrices, "shipped", lambda: matrix)
    transitions.load(tmp_path)


def test_a_definition_that_asks_what_the_matrix_does_not_know_is_refused(tmp_path, monkeypatch):
    with pytest.raises(read.DefinitionError) as caught:
        asking(tmp_path, monkeypatch, "MachineConfigPoolsRolledOut", matrices.Matrix())
    (problem,) = caught.value.problems
    assert "check MachineConfigPoolsRolledOut has no operand file" in problem.text
    lines = (tmp_path / "sno-to-ha-compact.yaml").read_text(encoding="utf-8").splitlines()
    assert problem.line is not None
    assert "MachineConfigPoolsRolledOut" in lines[problem.line - 1]


def test_a_definition_whose_topology_has_no_word_or_figure_is_refused(tmp_path, monkeypatch, folder):
    pools = folder / "operands" / "MachineConfigPoolsRolledOut.yaml"
    pools.write_text(pools.read_text(encoding="utf-8").replace("SingleReplica: single, ", ""), encoding="utf-8")
    with pytest.raises(read.DefinitionError, match="no variant of the machine config pools for SingleReplica"):
        asking(tmp_path, monkeypatch, "MachineConfigPoolsRolledOut", matrices.load(folder))


def test_figures_that_a_transition_needs_and_the_file_lacks(folder):
    console = folder / "operands" / "ConsoleReplicas.yaml"
    console.write_text(console.read_text(encoding="utf-8").replace(", HighlyAvailable: 2", "", 1), encoding="utf-8")
    group = matrices.load(folder).group(CheckName.CONSOLE_REPLICAS)
    assert group is not None
    assert group.lacks(SNO, COMPACT) == ("replicas of deployments.apps/openshift-console/console for HighlyAvailable",)
    # Where it starts from needs no figure.
    assert group.lacks(COMPACT, SNO) == ()
