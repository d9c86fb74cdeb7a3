"""Every rule of a cluster, a hub and (tokens that end) a management cluster does what its stories say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from test.observability.rules import hub, promtool

if TYPE_CHECKING:
    import pathlib

EXPIRING = "TopologyCredentialExpiring"
OURS = "openshift-topology-operator"
DAY, HOUR = 86_400, 3_600


@pytest.mark.parametrize("file", [promtool.FILE, promtool.ELSEWHERE], ids=["a cluster", "a management cluster"])
def test_promtool_accepts_the_rules(file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    said = promtool.check(promtool.groups(file), tmp_path)
    assert said.returncode == 0, said.stdout + said.stderr
    count = sum(len(group["rules"]) for group in promtool.groups(file))
    assert f"SUCCESS: {count} rules found" in said.stdout


@pytest.mark.parametrize("story", promtool.STORIES)
def test_the_stories_come_true(story: str, tmp_path: pathlib.Path) -> None:
    rules = hub.groups() if story.startswith("fleet_") else promtool.groups()
    said = promtool.play(story, rules, tmp_path)
    assert said.returncode == 0, said.stdout + said.stderr


def token(values: str, kubeconfig: str = "target", namespace: str = OURS, pod: str = "a") -> dict[str, str]:
    labels = f'namespace="{namespace}",kubeconfig="{kubeconfig}",pod="{pod}"'
    return {"series": f"topology_credential_expiry_timestamp_seconds{{{labels}}}", "values": values}


def until_it_ends(*sent: dict[str, str], fires: dict[str, list[str]]) -> dict[str, Any]:
    """At each time the kubeconfigs for which it fires; the clock begins at 0."""
    labels = {"severity": "warning", "namespace": OURS}
    return {
        "interval": "1m",
        "input_series": list(sent),
        "alert_rule_test": [
            {
                "eval_time": time,
                "alertname": EXPIRING,
                "exp_alerts": [{"exp_labels": {**labels, "kubeconfig": name}} for name in names],
            }
            for time, names in fires.items()
        ],
    }


TOKENS = {
    "it fires when less than 14 days have been left for an hour": until_it_ends(
        token(f"{14 * DAY + 3 * HOUR}x400"), fires={"3h": [], "3h59m": [], "4h2m": ["target"], "6h": ["target"]}
    ),
    "it still does when the token has ended": until_it_ends(
        token(f"{2 * HOUR}x400"), fires={"59m": [], "61m": ["target"], "3h": ["target"], "6h": ["target"]}
    ),
    "a new token ends it at once": until_it_ends(
        token(f"{10 * DAY}x120 {90 * DAY}x240"), fires={"2h": ["target"], "2h3m": [], "5h": []}
    ),
    "the token that ends first counts, of both pods, and each kubeconfig has an alert": until_it_ends(
        token(f"{90 * DAY}x120"),
        token(f"{10 * DAY}x120", pod="b"),
        token(f"{9 * DAY}x120", kubeconfig="lease"),
        fires={"90m": ["lease", "target"]},
    ),
    "an operator whose token has no end is nothing": until_it_ends(token("_x120"), fires={"90m": []}),
    "the token of another target is that target's alert": until_it_ends(
        token(f"{10 * DAY}x120", namespace="topology-edge-2"), fires={"90m": []}
    ),
}


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_that_ends_soon(name: str, tmp_path: pathlib.Path) -> None:
    groups = promtool.groups(promtool.ELSEWHERE)
    # The other alert fires where nothing is scraped.
    told = [{**group, "rules": [rule for rule in group["rules"] if rule["alert"] == EXPIRING]} for group in groups]
    assert not promtool.judge([TOKENS[name]], told, tmp_path)
