"""A check answers with a finding for each object. What others show of an object is that; no check is asked again."""

from __future__ import annotations

import prometheus_client
import pytest

from topology_api.vocabulary import CheckName, CheckStatus
from topology_controller.checks import catalog
from topology_controller.observe import facts
from topology_controller.report import latest, metrics, view

from . import measured_cluster, page_state, worlds

CONSOLE = "deployments.apps/openshift-console/console"
DOWNLOADS = "deployments.apps/openshift-console/downloads"
SHORT = facts.Workload(generation=1, observed=True, wanted=2, updated=1, ready=1, available=1)


def answers(found: dict[str, facts.Fact[facts.Operand]]):
    cluster = measured_cluster.followed()
    for key, fact in found.items():
        cluster = cluster.having(key, fact)
    return cluster.answers()


def test_each_operand_of_a_check_has_its_finding_in_the_order_of_the_matrix():
    found = answers({})
    for group in worlds.MATRIX.groups:
        if group.operands and group.check in found:
            assert [one.kind for one in found[group.check].findings] == [one.kind for one in group.operands]


def test_what_cannot_be_read_is_said_besides_what_is_short_and_alone_where_nothing_is():
    both = answers({CONSOLE: worlds.BROKEN, DOWNLOADS: SHORT})[CheckName.CONSOLE_REPLICAS]
    assert (both.status, [one.status for one in both.findings]) == (
        CheckStatus.UNMET,
        [CheckStatus.UNKNOWN, CheckStatus.UNMET],
    )
    assert f"and cannot tell: {worlds.BROKEN}" in both.message
    only = answers({DOWNLOADS: worlds.BROKEN})[CheckName.CONSOLE_REPLICAS]
    assert (only.status, only.message) == (CheckStatus.UNKNOWN, f"Cannot tell: {worlds.BROKEN}")


@pytest.mark.parametrize("known", [worlds.healthy(), worlds.moved(worlds.healthy(), worlds.converging())])
def test_neither_the_page_nor_a_scrape_asks_a_check(known: facts.Facts, monkeypatch: pytest.MonkeyPatch):
    decided = worlds.decide(known)
    assert decided.results
    measured = metrics.Metrics(worlds.ONLY_COMPACT, lease="l")
    monkeypatch.setattr(catalog, "CHECKS", {})
    shown = view.look(latest.Snapshot(decided, known), known, page_state.about())
    measured.decided(decided, known)
    scraped = prometheus_client.generate_latest(measured.registry).decode()
    assert [one["eligible"] for one in shown["nodes"]["items"]] == [True, True, True]
    assert 'topology_control_plane_nodes{state="eligible"} 3.0' in scraped
