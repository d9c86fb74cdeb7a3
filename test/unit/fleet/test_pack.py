"""What `fleet` prints: complete, bounded in time by the definitions, and never more dangerous than it has to be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from test.unit.fleet import table

from topology_controller import bindata
from topology_controller.definitions import load
from topology_deploy import cli
from topology_deploy.fleet import engines, plan
from topology_deploy.fleet.meaning import STATE_CONDITION, State

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

Raw = dict[str, Any]
ENGINES = ("policy", "work", "argo")
ASKED = ("--to", "HighlyAvailable", "--canary", "edge-1", "--canary", "edge-2", "--canary", "edge-3")
TRANSITIONS = load.load(bindata.root() / "transitions")
CONVERGENCE = TRANSITIONS.definitions[1].convergence
DEFINED = CONVERGENCE.deadline_minutes + 3 * CONVERGENCE.machine_minutes["None"] + 8 + 10 + 2
"""Minutes of a batch by the definitions."""
PLAN = plan.checked(plan.Wanted("HighlyAvailable"), TRANSITIONS)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[list[Raw], str, str]:
    """The objects, the text, and what stands on standard error."""
    assert cli.main(["fleet", *arguments]) == 0
    out, told = capsys.readouterr()
    return [item for item in yaml.load_all(out, yaml.CSafeLoader) if item is not None], out, told


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said of a roll-out that cannot be."""
    try:
        code: object = cli.main(["fleet", *arguments])
    except SystemExit as ended:
        code = ended.code
    out, told = capsys.readouterr()
    assert code == 2, told
    assert not out
    return told


def of_kind(items: list[Raw], kind: str, name: str | None = None) -> Raw:
    """The one object of a kind, by name where there are several."""
    (found,) = (item for item in items if item["kind"] == kind and name in {None, item["metadata"]["name"]})
    return found


def values(value: object, key: str) -> Iterator[object]:
    """Every value of a key, wherever it stands."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == key:
                yield inner
            yield from values(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from values(inner, key)


@pytest.mark.parametrize(
    ("arguments", "minutes", "bound"),
    [
        ((), 38 * DEFINED, "3 d 17 h (38 batches of 140 min"),
        (("--deadline", "60"), 38 * 80, "2 d 3 h ("),
        (("--clusters", "3", "--max-concurrency", "1"), 3 * 140, "7 h ("),
        (("--clusters", "30"), 4 * 140, "9 h 20 min (4 "),
        (("--clusters", "103", "--soak", "0"), 4 * 130, "8 h 40 min ("),
        (("--clusters", "104", "--soak", "0"), 5 * 130, "10 h 50 min ("),
    ],
)
def test_the_time_out_is_what_the_definitions_give_each_batch(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], minutes: int, bound: str
) -> None:
    items, _, told = printed(capsys, "policy", *ASKED, *arguments)
    upgrade = of_kind(items, "ClusterGroupUpgrade", "topology")
    assert upgrade["spec"]["remediationStrategy"]["timeout"] == minutes, told
    assert f"at most {bound}" in told


def test_a_stream_says_first_what_goes_where_and_makes_its_own_place(capsys: pytest.CaptureFixture[str]) -> None:
    for engine, last in (("policy", 13), ("work", 9)):
        items, text, _ = printed(capsys, engine, *ASKED, "--cluster-set", "sites", "--namespace", "edge")
        assert text.startswith(f"# Documents: 1 to 3 to each managed cluster, 4 to {last} to the hub.")
        assert [item["kind"] for item in items[:5]] == ["ClusterRole"] * 3 + ["Namespace", "ManagedClusterSetBinding"]
        assert len(items) == last
        binding = of_kind(items, "ManagedClusterSetBinding")
        assert binding["metadata"] == {"name": "sites", "namespace": "edge"}
        assert binding["spec"] == {"clusterSet": "sites"}, "the hub rejects a binding that is not named after its set"


def test_a_folder_has_hub_and_clusters_apart_and_what_is_foreign_stays(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    def written(folder: pathlib.Path, *arguments: str) -> tuple[int, str, str]:
        return cli.main(["fleet", *arguments, "--output-dir", str(folder)]), *capsys.readouterr()

    pack, mine = tmp_path / "pack", tmp_path / "mine"
    assert written(pack, "policy", *ASKED) == written(pack, "policy", *ASKED), "its own folder is written again"
    listed = re.findall(r"^\| `(\S+)` \|", (pack / "README.md").read_text(), re.MULTILINE)
    assert {place.relative_to(pack).as_posix() for place in pack.rglob("*.yaml")} == {*listed}
    for name in listed:
        items = yaml.load_all((pack / name).read_text(), yaml.CSafeLoader)
        assert all((item["kind"] == "ClusterRole") is name.startswith("managed-clusters/") for item in items), name
    mine.mkdir()
    (mine / "README.md").write_text("# What goes where: fleet policy of mine\n")
    for folder, engine, found in ((pack, "work", "hub/3-request.yaml"), (mine, "policy", "README.md")):
        before = [(place, place.is_file() and place.read_bytes()) for place in sorted(folder.rglob("*"))]
        code, _, told = written(folder, engine, *ASKED)
        assert (code, f"{folder} has {found}, which fleet {engine} has not written" in told) == (2, True), told
        assert before == [(place, place.is_file() and place.read_bytes()) for place in sorted(folder.rglob("*"))]


def test_what_is_installed_is_what_manifests_prints(capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    given = tmp_path / "given.yaml"
    for text, words in (("a: [", "not YAML"), ("[1]", "metadata"), ("{kind: Pod, metadata: {}}", "without Deployment")):
        given.write_text(text)
        assert words in refused(capsys, "install", "--manifests", str(given))


def test_the_hub_s_alerts_link_runbooks_only_where_there_are_some(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, linked in (((), 0), (("--runbooks", "https://git.example/runbooks"), 5)):
        items, text, _ = printed(capsys, "observability", *arguments)
        assert [item["kind"] for item in items] == ["ConfigMap"] * 3
        assert text.count("runbook_url: ") == text.count("runbook_url: https://git.example/runbooks/Topology") == linked


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_in_it_forces_enforces_recreates_or_deletes(capsys: pytest.CaptureFixture[str], engine: str) -> None:
    items, text, _ = printed(capsys, engine, *ASKED, *(("--repo", "https://git") if engine == "argo" else ()))
    bare = re.sub(r"#.*", "", text)
    for word in ("force", "enforce", "recreate", "Foreground", "prune: true"):
        assert word not in bare, word
    for item in items:
        if item["kind"] == "ManifestWorkReplicaSet":
            template = item["spec"]["manifestWorkTemplate"]
            assert template["deleteOption"] == {"propagationPolicy": "Orphan"}
            for configured in template["manifestConfigs"]:
                assert configured["updateStrategy"]["type"] in {"ServerSideApply", "ReadOnly"}
                # To watch, the agent lists the whole kind (ocm pkg/work/spoke/objectreader), which takes that right.
                identifier = configured["resourceIdentifier"]
                listed = [
                    rule
                    for rule in values(list(yaml.load_all(engines.rights(), yaml.CSafeLoader)), "rules")
                    for rule in rule  # type: ignore[attr-defined]
                    if identifier["resource"] in rule["resources"] and {"list", "watch"} <= {*rule["verbs"]}
                    and identifier["group"] in rule["apiGroups"] and "resourceNames" not in rule
                ]  # fmt: skip
                assert (configured["feedbackScrapeType"] == "Watch") is bool(listed), identifier
        if item["kind"] == "Placement":
            assert {entry["key"].rpartition("/")[2] for entry in item["spec"]["tolerations"]} == {
                "unreachable", "unavailable",
            }  # fmt: skip
        if item["kind"] == "ClusterGroupUpgrade":
            assert item["spec"]["enable"] is False
            assert item["spec"]["batchTimeoutAction"] == "Abort"


def test_no_agent_may_delete_anything_or_write_what_is_not_its_own() -> None:
    own = {"config.openshift.io", "topology.openshift.io", "policy.open-cluster-management.io"}
    for role in yaml.load_all(engines.rights(), yaml.CSafeLoader):
        for rule in role["rules"]:
            assert not {"delete", "deletecollection", "*"} & {*rule["verbs"], *rule["resources"], *rule["apiGroups"]}
            if not {*rule["apiGroups"]} <= own and rule["resources"] != ["events"]:
                assert set(rule["verbs"]) <= {"get", "list", "watch"}, rule


def test_the_way_back_stands_last_and_does_nothing_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for engine in ENGINES:
        items, text, _ = printed(capsys, engine, *ASKED)
        assert engine != "policy" or items[-1]["metadata"]["name"] == "topology-withdraw"
        assert re.search(r"\n# CANCEL what is left\. [^\n]*\n", text), engine
        assert "kind: ManifestWorkReplicaSet" not in text.partition("# CANCEL what is left.")[2]


def test_the_policy_without_its_templates_is_yaml_with_each_key_once(capsys: pytest.CaptureFixture[str]) -> None:
    """As the roll-out engine reads it: openshift-kni/cluster-group-upgrades-operator, StripObjectTemplatesRaw."""
    items, _, _ = printed(capsys, "policy", *ASKED)

    class Strict(yaml.SafeLoader):
        pass

    def once(loader: Strict, node: yaml.MappingNode) -> Raw:
        pairs = [(loader.construct_object(key), loader.construct_object(value, deep=True)) for key, value in node.value]
        assert len(pairs) == len(dict(pairs)), pairs
        return dict(pairs)

    Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, once)
    for name in ("topology", "topology-withdraw"):
        (raw,) = values(of_kind(items, "Policy", name), "object-templates-raw")
        (template,) = yaml.load(re.sub(r"{{.*?}}", "", str(raw), flags=re.DOTALL), Strict)  # noqa: S506 - it is a SafeLoader
        assert template["objectDefinition"]["metadata"] == {"name": "cluster"}


def test_a_policy_reaches_the_clusters_of_its_group_upgrade(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ((), ("--wave", "7"), ("--wave-label", "site/wave")):
        items, _, _ = printed(capsys, "policy", *ASKED, *arguments)
        placement = of_kind(items, "Placement", "topology")["spec"]["predicates"][0]["requiredClusterSelector"]
        for name in ("topology", "topology-withdraw"):
            upgrade = of_kind(items, "ClusterGroupUpgrade", name)["spec"]
            assert upgrade["clusterLabelSelectors"] == [placement["labelSelector"]]
            assert upgrade["managedPolicies"] == [name]
        bound = of_kind(items, "PlacementBinding")
        assert {subject["name"] for subject in bound["subjects"]} == {"topology", "topology-withdraw"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--to", "SingleReplica"), ("SingleReplica", "no transition leads there", "HighlyAvailable")),
        ((*ASKED, "--transition", "infra-to-ha"), ("not change the control plane", "compact, sno-to-ha-with-workers")),
        ((*ASKED, "--canary", "edge-1"), ("--canary edge-1", "twice")),
        ((*ASKED, "--canary", "Edge_1"), ("--canary 'Edge_1'", "no name")),
        ((*ASKED, "--clusters", "2"), ("--clusters 2", "3 canaries")),
        ((*ASKED, "--clusters", "0"), ("--clusters 0", "1 to 100000")),
        ((*ASKED, "--max-concurrency", "4000"), ("--max-concurrency 4000", "1 to 3500")),
        ((*ASKED, "--max-concurrency", "ten"), ("'ten'", "no whole number")),
        ((*ASKED, "--deadline", "0"), ("--deadline 0", "1 to 1440")),
        ((*ASKED, "--wave-label", "a b"), ("--wave-label 'a b'", "topology.openshift.io/wave")),
        ((*ASKED, "--wave", "a/b"), ("--wave 'a/b'", "no value")),
        ((*ASKED, "--wave", "0"), ("--wave 0", "first")),
        ((*ASKED, "--name", "{{hub"), ("--name '{{hub'", "lowercase")),
        ((*ASKED, "--cluster-set", "a b"), ("--cluster-set 'a b'", "lowercase")),
        ((*ASKED, "--name", "n" * 50), ("characters", "allowed are 63")),
        (("--to", "HighlyAvailable"), ("--canary", "none is given")),
    ],
)  # fmt: skip
def test_bad_usage_names_what_was_found_and_what_is_allowed(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    told = refused(capsys, "policy", *arguments)
    for word in words:
        assert word in told, told


def test_one_transition_is_asked_for_by_its_name() -> None:
    assert tuple(PLAN.names) == table.NAMES
    assert plan.checked(plan.Wanted("HighlyAvailable", table.NAMES[1]), TRANSITIONS).names == [table.NAMES[1]]


@pytest.mark.parametrize("row", [row for row in table.rows() if row.legal], ids=lambda row: row.name)
def test_the_survey_says_the_state_first(row: table.Row) -> None:
    *_, survey = yaml.load_all(engines.survey(PLAN), yaml.CSafeLoader)
    configured = survey["spec"]["manifestWorkTemplate"]["manifestConfigs"][0]
    (rule,) = configured["conditionRules"]
    assert rule["condition"] == STATE_CONDITION
    assert table.in_cel(rule["celExpressions"][0], row.infrastructure) is (row.state is State.READY)
    told = table.in_cel(rule["messageExpression"], row.infrastructure)
    assert isinstance(told, str)
    state, _, rest = told.partition(": ")
    assert state == row.state.value
    record = (row.infrastructure.get("status") or {}).get("topologyTransition") or {}
    if row.state is State.NEEDS_A_PERSON:
        reason, _, checks = rest.partition(": ")
        assert reason == ((record.get("problem") or {}).get("reason") or record.get("phase"))
        named = [
            check["name"] for check in record.get("checks") or []
            if check["status"] != "Met" and (check["stage"] == "Convergence" or record.get("phase") != "Converging")
        ]  # fmt: skip
        assert checks == ", ".join(named)
    if row.state is State.NOT_READY:
        for offered in record.get("available") or []:
            for blocker in offered.get("blockers", []):
                assert blocker["name"] in rest
