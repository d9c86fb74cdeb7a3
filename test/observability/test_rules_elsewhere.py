"""The rules of a management cluster: each expression names its target, and a token that ends soon is an alert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from test.observability.rules import placed, promtool

if TYPE_CHECKING:
    import pathlib

ALERT = "TopologyCredentialExpiring"
OURS = "openshift-topology-operator"
DAY, HOUR = 86_400, 3_600
METRIC = "topology_credential_expiry_timestamp_seconds"


def series(values: str, kubeconfig: str = "target", namespace: str = OURS, pod: str = "a") -> dict[str, str]:
    labels = f'namespace="{namespace}",kubeconfig="{kubeconfig}",pod="{pod}"'
    return {"series": f"{METRIC}{{{labels}}}", "values": values}


def story(*sent: dict[str, str], fires: dict[str, list[str]]) -> dict[str, Any]:
    """At each time the kubeconfigs for which it fires; the clock begins at 0."""
    labels = {"severity": "warning", "namespace": OURS}
    return {
        "interval": "1m",
        "input_series": list(sent),
        "alert_rule_test": [
            {
                "eval_time": time,
                "alertname": ALERT,
                "exp_alerts": [{"exp_labels": {**labels, "kubeconfig": name}} for name in names],
            }
            for time, names in fires.items()
        ],
    }


STORIES = {
    "it fires when less than 14 days have been left for an hour": story(
        series(f"{14 * DAY + 3 * HOUR}x400"), fires={"3h": [], "3h59m": [], "4h2m": ["target"], "6h": ["target"]}
    ),
    "it still does when the token has ended": story(
        series(f"{2 * HOUR}x400"), fires={"59m": [], "61m": ["target"], "3h": ["target"], "6h": ["target"]}
    ),
    "a new token ends it at once": story(
        series(f"{10 * DAY}x120 {90 * DAY}x240"), fires={"2h": ["target"], "2h3m": [], "5h": []}
    ),
    "the token that ends first counts, of both pods, and each kubeconfig has an alert": story(
        series(f"{90 * DAY}x120"),
        series(f"{10 * DAY}x120", pod="b"),
        series(f"{9 * DAY}x120", kubeconfig="lease"),
        fires={"90m": ["lease", "target"]},
    ),
    "an operator whose token has no end is nothing": story(series("_x120"), fires={"90m": []}),
    "the token of another target is that target's alert": story(
        series(f"{10 * DAY}x120", namespace="topology-edge-2"), fires={"90m": []}
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_token_that_ends_soon(name: str, tmp_path: pathlib.Path) -> None:
    code, answer = promtool.judge([STORIES[name]], only(ALERT), tmp_path)
    assert code == 0, answer


def only(alert: str) -> list[dict[str, Any]]:
    """The groups as the rule has them; the other alert fires where nothing is scraped."""
    return [
        {**group, "rules": [rule for rule in group["rules"] if rule["alert"] == alert]} for group in placed.groups()
    ]


@pytest.mark.parametrize(
    ("old", "new"), [("14 * 86400", "13 * 86400"), ("14 * 86400", "15 * 86400"), ("min by", "max by"),
                     ("(kubeconfig)", "(pod)"), ("< 14", "> 14"), (f'{{namespace="{OURS}"}}', "")]
)  # fmt: skip
def test_a_rule_that_is_broken_is_caught(old: str, new: str, tmp_path: pathlib.Path) -> None:
    groups = only(ALERT)
    (rule,) = groups[0]["rules"]
    assert old in rule["expr"]
    rule["expr"] = rule["expr"].replace(old, new)
    code, answer = promtool.judge(list(STORIES.values()), groups, tmp_path)
    assert code != 0
    assert "FAILED" in answer, answer


def test_promtool_accepts_the_rules(tmp_path: pathlib.Path) -> None:
    checked = promtool.check(placed.groups(), tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_alert_says_what_the_guidelines_ask_for() -> None:
    rule = placed.rules()[ALERT]
    annotations = rule["annotations"]
    assert set(rule["labels"]) == {"severity", "namespace"}
    assert set(annotations) == {"summary", "description", "runbook_url"}
    assert len(annotations["summary"]) <= 100
    assert f"explain {ALERT}'" in annotations["description"]
    assert "".join(annotations.values()).isascii()
