"""What a fleet collects from each cluster: few series in the worst case, no name of a node, and all on the list."""

from __future__ import annotations

import itertools
import pathlib
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from test.observability.rules import expressions, promtool
from topology_controller import manifests
from topology_controller.report import metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[2]
LIST = ROOT / "bindata" / "fleet" / "observability-metrics-custom-allowlist.yaml"
BUDGET = 15
"""Series of each cluster that go to the hub (DESIGN section 8)."""
MOST = {
    "cluster:topology_transition_phase:max": 6,
    "cluster:topology_transition_stuck:max": 1,
    "cluster:topology_transition_started_timestamp_seconds:max": 1,
    "cluster:topology_transition_available:max": 1,
    "cluster:topology_transition_progress_ratio:max": 1,
    "cluster:topology_transition_check_status:sum": 2,
    "cluster:topology_etcd_members:max": 1,
    "cluster:topology_info:max": 1,
    "cluster:topology_watch_last_activity_timestamp_seconds:min": 1,
}
RECORDS = promtool.rules("record")
PODS = ("a", "b", "c")
PER_FAMILY = 400


def possible() -> Iterator[str]:
    """Every series that the metrics behind the records can have, or 400 of them, from three pods at once."""
    behind = {one.name for rule in RECORDS.values() for one in expressions.series(rule["expr"])}
    for family in metrics.FAMILIES:
        if family.name not in behind:
            continue
        values = [sorted(found) if found is not None else ["x", "y", "z"] for found in family.labels.values()]
        combined = list(itertools.product(*values))
        chosen = combined[:: max(1, len(combined) // PER_FAMILY)]
        for one, pod in itertools.product(chosen, PODS):
            labels = zip((*family.labels, "instance", "pod", "node"), (*one, pod, pod, f"node-{pod}"), strict=True)
            told = ",".join(f'{label}="{value}"' for label, value in labels)
            yield f"{family.name}{{{told}}}"


def worst_case(content: list[dict[str, Any]], folder: pathlib.Path) -> tuple[int, str]:
    counts = [{"labels": f'{{name="{name}"}}', "value": most} for name, most in MOST.items()]
    text = 'count by (name) (label_replace({__name__=~"cluster:topology_.*"}, "name", "$1", "__name__", "(.*)"))'
    story = {
        "name": "everything at once",
        "interval": "30s",
        "input_series": [{"series": one, "values": "1x4"} for one in possible()],
        "promql_expr_test": [{"expr": text, "eval_time": "1m", "exp_samples": counts}],
    }
    return promtool.judge([story], content, folder)


def test_the_worst_case_is_within_the_budget(tmp_path: pathlib.Path):
    assert set(MOST) == set(RECORDS)
    assert sum(MOST.values()) <= BUDGET
    code, said = worst_case(promtool.less(promtool.groups(), None), tmp_path)
    assert code == 0, said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("topk(1, max by (desired, control_plane, infrastructure, shape) (topology_info))", "topology_info"),
        ("max by (phase)", "max by (phase, pod)"),
        ("Unmet|Unknown", "Met|Unmet|Unknown"),
        ('{role="voter"}', ""),
    ],
)
def test_a_record_with_more_series_is_caught(old: str, new: str, tmp_path: pathlib.Path):
    content = promtool.less(promtool.groups(), None)
    hit = [rule for group in content for rule in group["rules"] if old in rule["expr"]]
    assert hit, old
    for rule in hit:
        rule["expr"] = rule["expr"].replace(old, new)
    code, said = worst_case(content, tmp_path)
    assert code == 1, said


def test_the_list_for_the_hub_has_what_is_recorded_and_nothing_else():
    made = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    assert (made["kind"], made["metadata"]["name"], made["metadata"]["namespace"]) == (
        "ConfigMap", "observability-metrics-custom-allowlist", "open-cluster-management-observability",
    )  # fmt: skip
    listed = yaml.safe_load(made["data"]["metrics_list.yaml"])
    assert set(listed) == {"names"}
    assert listed["names"] == sorted(RECORDS)


def test_what_is_for_the_hub_is_not_printed_for_a_cluster():
    assert "allowlist" not in manifests.render(manifests.Kind.OPERATOR)


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_named_for_its_level_its_metric_and_what_was_done(name: str):
    found = re.fullmatch(r"cluster:(?P<metric>[a-z_]+):(?P<done>max|min|sum)", name)
    assert found, name
    rule = RECORDS[name]
    assert found["metric"] in {one.name for one in expressions.series(rule["expr"])}
    assert re.match(rf"(topk\(1, )?{found['done']}\b", rule["expr"].strip()), rule["expr"]
    assert set(rule) == {"record", "expr"}, "a label would hide where it comes from"


@pytest.mark.parametrize("name", RECORDS)
def test_no_record_can_name_a_pod_a_node_or_anything_that_is_not_a_closed_set(name: str):
    closed = {label for one in metrics.FAMILIES for label, values in one.labels.items() if values is not None}
    kept = [labels for word, labels in expressions.grouped(RECORDS[name]["expr"]) if word == "by"]
    assert all(labels <= closed for labels in kept)
    assert not {"node", "pod", "instance", "message"} & set().union(*kept)
