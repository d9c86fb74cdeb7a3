"""Every name that a surface can show is explained: what it means, what to look at and do, what a cluster says."""

from __future__ import annotations

import enum
import itertools
import pathlib
import re
import shlex
import typing

import pytest
import yaml

import explained
from kubectl_topology import answers, arguments, capi, consistency, errors, main
from kubectl_topology.commands import explain, status
from topology_api import crd, shape, vocabulary
from topology_controller.definitions import load
from topology_controller.observe import facts
from topology_controller.report import metrics

from ..core import worlds
from . import replies

ROOT = pathlib.Path(__file__).resolve().parents[3]
TRANSITIONS = load.load(ROOT / "bindata" / "transitions")
RULES = (
    explained.fleet_rules()
    + explained.placed_rules()
    + [
        rule
        for group in yaml.safe_load(
            (ROOT / "bindata" / "monitoring" / "0000_90_topology-operator_prometheusrule.yaml").read_text()
        )["spec"]["groups"]
        for rule in group["rules"]
    ]
)
ENUMS = [
    words
    for words in (*vars(vocabulary).values(), *vars(shape).values(), consistency.Question)
    if isinstance(words, type) and issubclass(words, enum.Enum) and "topology" in words.__module__
]
CONSTANTS = {
    value
    for name, value in vars(vocabulary).items()
    if name.isupper() and isinstance(value, str) and name != "CONFIGURATION_KEY"
}
SHOWN = {
    *(str(word.value) for words in ENUMS for word in words),
    *(rule.get("alert", rule.get("record")) for rule in RULES),
    *(family.name for family in metrics.FAMILIES),
    *(definition.name for definition in TRANSITIONS.definitions),
    *itertools.chain.from_iterable(
        typing.get_args(words)
        for words in (answers.Verdict, answers.Running, answers.Result, answers.Reached, answers.Finding, answers.Goes)
    ),
    *(finding.value for finding in capi.DeadEnd),
    *(str(code.value) for code in errors.ExitCode),
    *(column["name"] for column in crd.columns()),
    *CONSTANTS,
    *arguments.FLEET_STATES,
}
EVERY = explain.every()
WORDS = {"TARGET": "HighlyAvailable", "NAME": "RouterReplicas", "CHECK": "Met", "REASON": "Stuck", "ALERT": "Stuck"}


def test_every_name_that_a_surface_shows_is_explained_and_no_other() -> None:
    assert {item["name"] for item in EVERY} >= SHOWN
    kinds = {"parameter", "ClusterRole", "Role", "shape rule"}
    assert {item["name"] for item in EVERY if item["kind"] not in kinds} == SHOWN - {vocabulary.CHECK_ACCEPTOR}
    for item in EVERY:
        assert item in explain.matching(item["name"])
        assert item["meaning"], item["name"]
        assert item["look"], item["name"]
        assert item["source"], item["name"]


@pytest.mark.parametrize(("kind", "name"), {item["kind"]: item["name"] for item in EVERY}.items())
def test_a_name_of_each_kind_is_printed(kind: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["explain", name]) == errors.ExitCode.DONE
    text = capsys.readouterr().out
    assert f"{name} ({kind}" in text
    assert "Look at\n" in text
    assert "Source " in text


def test_what_this_cluster_says_of_a_name_comes_first_with_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    known = worlds.healthy(ingress_controller=facts.IngressController(1, 1))
    record = worlds.decide(worlds.moved(known, worlds.converging()), transitions=worlds.TRANSITIONS).record
    assert record is not None
    answer = status.answer(replies.seen(worlds.moved(known, record)), worlds.TRANSITIONS)
    options = arguments.parse(["explain", "routerREPLICASpinned"])
    explain.alone(options, explain._here(answer, "routerreplicaspinned"))
    first = capsys.readouterr().out.partition("\n\n")[0]
    pinned = next(advisory for advisory in record.advisories if advisory.name == "RouterReplicasPinned")
    assert first.splitlines()[0] == "On this cluster"
    assert first.endswith(pinned.command), first
    ((check,), nothing) = explain._here(answer, "consolereplicas"), explain._here(answer, "paused")
    assert (check["status"], nothing) == ("Unmet", [])


def test_without_a_cluster_the_explanation_says_why_it_was_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["explain", "Stuck", "--kubeconfig", "/nowhere"]) == errors.ExitCode.DONE
    text = capsys.readouterr().out
    assert text.startswith("On this cluster\n  The cluster was not read: /nowhere"), text
    assert "Stuck (problem" in text


def test_the_commands_of_an_explanation_can_be_given() -> None:
    commands = {look["command"] for item in EVERY for look in item["look"]}
    for item in EVERY:
        text = " ".join((item["meaning"], *item["do"], *item["avoid"], *item["call"]))
        commands |= set(re.findall(r"`(oc [^`]+)`", text))
    for command in commands:
        words = shlex.split(command)
        assert words[0] in {"oc", "cluster-topology-operator"}, command
        if words[:2] == ["oc", "topology"] and "--help" not in words:
            arguments.parse([WORDS.get(word, word) for word in words[2:]])


def test_every_runbook_is_that_of_an_alert_and_every_problem_leads_to_one() -> None:
    alerts = {item["name"] for item in EVERY if item["kind"] == "alert"}
    assert alerts == {rule["alert"] for rule in RULES if "alert" in rule}
    for item in EVERY:
        assert set(item["runbooks"]) <= alerts
        assert item["runbooks"] or item["kind"] not in {"problem", "check", "alert"}, item["name"]
        for alert in item["runbooks"]:
            assert (ROOT / "docs" / "runbooks" / f"{alert}.md").is_file()


def test_without_a_name_every_name_is_listed_by_kind(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main.main(["explain"]) == errors.ExitCode.DONE
    text = capsys.readouterr().out
    assert set(re.split(r"[\s,]+", text)) >= SHOWN
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("stuk", r"did you mean [^?]*\bStuck\b"),
        ("etcd_members", r"did you mean [^?]*\btopology_etcd_members\b"),
        ("paused-annotation", "Without a name, explain lists all"),
    ],
)
def test_an_unknown_name_is_refused_with_those_that_are_near(
    name: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["explain", name]) == errors.ExitCode.USAGE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert re.search(told, err), err


@pytest.mark.parametrize(("form", "name"), [("json", None), ("yaml", None), ("json", "stuck")])
def test_data_is_what_its_schema_says(form: str, name: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["explain", *([name] if name else []), "-o", form]) == errors.ExitCode.DONE
    answer = yaml.safe_load(capsys.readouterr().out)
    replies.conforms(answer)
    assert {item["name"].lower() for item in answer["items"]} == (
        {name} if name else {n.lower() for n in SHOWN} | {item["name"].lower() for item in EVERY}
    )
