"""What an alert says when it fires: the checks that are not met, by name, wherever they come from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from test.observability.rules import promtool

if TYPE_CHECKING:
    import pathlib

ALERTS = promtool.rules("alert")
LED = "topology_info{instance='a'}"
NOT_REPORTED = "not reported at this moment"


def phase(name: str) -> dict[str, str]:
    return {f"topology_transition_phase{{instance='a',phase='{name}'}}": "1x200"}


def check(name: str, status: str, instance: str = "a") -> dict[str, str]:
    """One check as a pod reports it: 1 for its status, 0 for the others."""
    labels = f"instance='{instance}',check='{name}',stage='Convergence'"
    return {
        f"topology_transition_check_status{{{labels},status='{answer}'}}": "1x200" if answer == status else "0x200"
        for answer in ("Met", "Unmet", "Unknown")
    }


STUCK = {LED: "1x200", "topology_transition_stuck{instance='a'}": "1x200", **phase("Converging")}
BLOCKED = {LED: "1x200", **phase("Pending")}
VOTERS = {**BLOCKED, "topology_etcd_members{instance='a',role='voter'}": "2x200"}
SEVERAL = {
    **check("RouterReplicas", "Unmet"),
    **check("RouterReplicas", "Unmet", "b"),
    **check("EtcdHealthy", "Met"),
    **check("ConsoleReplicas", "Unknown"),
}
INSTALLED = {"cluster_operator_conditions{name='topology'}": "1x200"}
SIGN = "topology_watch_last_activity_timestamp_seconds"
STORIES = [
    ("TopologyTransitionStuck", "30m", STUCK | SEVERAL, "ConsoleReplicas, RouterReplicas"),
    ("TopologyTransitionStuck", "30m", STUCK | check("RouterReplicas", "Unmet"), "RouterReplicas"),
    ("TopologyTransitionStuck", "30m", STUCK, NOT_REPORTED),
    ("TopologyTransitionBlocked", "70m", BLOCKED | SEVERAL, "ConsoleReplicas, RouterReplicas"),
    ("TopologyTransitionBlocked", "70m", BLOCKED | check("EtcdHealthy", "Met"), NOT_REPORTED),
    ("TopologyTransitionTwoVoters", "20m", VOTERS | check("EtcdVotingMembers", "Unmet"), "EtcdVotingMembers"),
    ("TopologyTransitionTwoVoters", "40m", VOTERS | check("EtcdVotingMembers", "Unmet"), "EtcdVotingMembers"),
    (
        "TopologyOperatorNotWatching", "40m",
        {LED: "1x200", **phase("Idle"), f"{SIGN}{{resource='nodes'}}": "0x200", f"{SIGN}{{resource='etcd'}}": "0x200"},
        "etcd, nodes",
    ),
    ("TopologyOperatorNotWatching", "40m", INSTALLED, "none, but no leading pod is scraped"),
]  # fmt: skip


def expected(name: str, words: str) -> dict[str, str]:
    """The annotations with these words where the template stands."""
    return {
        key: re.sub(r"\{\{.*\}\}", words.replace("\\", r"\\"), text)
        for key, text in ALERTS[name]["annotations"].items()
    }


@pytest.mark.parametrize(("alert", "when", "series", "words"), STORIES)
def test_a_description_names_what_is_not_met(
    alert: str, when: str, series: dict[str, str], words: str, tmp_path: pathlib.Path
) -> None:
    fires = [alert]
    if alert == "TopologyTransitionTwoVoters" and when == "40m":
        fires.append(f"{alert}/critical")
    test: dict[str, Any] = {
        "interval": "30s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {
                "eval_time": when,
                "alertname": alert,
                "exp_alerts": [
                    {"exp_labels": ALERTS[name]["labels"], "exp_annotations": expected(name, words)} for name in fires
                ],
            }
        ],
    }
    code, said = promtool.judge([test], promtool.less(promtool.groups(), alert), tmp_path, annotated=True)
    assert code == 0, said


def test_other_words_would_be_noticed(tmp_path: pathlib.Path) -> None:
    with pytest.raises(AssertionError, match="RouterReplicas"):
        test_a_description_names_what_is_not_met(
            "TopologyTransitionStuck", "30m", STUCK | check("RouterReplicas", "Unmet"), "EtcdHealthy", tmp_path
        )
