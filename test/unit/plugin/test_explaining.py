"""Every name that a surface can show is explained: what it means, what to look at, what to do. No cluster is asked."""

from __future__ import annotations

import enum
import itertools
import json
import pathlib
import re
import shlex
import typing
from typing import Any

import jsonschema
import pytest
import yaml

import explained
import runbooks
from topology_api import audit, crd, shape, vocabulary
from topology_controller import bindata
from topology_controller.definitions import load
from topology_controller.plugin import answers, arguments, capi_findings, errors, explanations, main
from topology_controller.report import metrics

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "explain.json").read_text())
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
    for words in (*vars(vocabulary).values(), *vars(shape).values(), audit.Question)
    if isinstance(words, type) and issubclass(words, enum.Enum) and words.__module__.startswith("topology_api.")
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
        for words in (answers.Verdict, answers.Running, answers.Result, answers.Reached, answers.Finding)
    ),
    *(finding.value for finding in capi_findings.Finding),
    *(str(code.value) for code in errors.ExitCode),
    *(column["name"] for column in crd.columns()),
    *CONSTANTS,
    *arguments.FLEET_STATES,
}
EVERY = explanations.every()
WORDS = {"TARGET": "HighlyAvailable", "NAME": "RouterReplicas", "CHECK": "Met", "REASON": "Stuck", "ALERT": "Stuck"}


def of(kind: str) -> list[explanations.Explanation]:
    return [item for item in EVERY if item["kind"] == kind]


def shown(item: explanations.Explanation) -> str:
    return f"{item['kind']} {item['name']}"


def commands(item: explanations.Explanation) -> list[str]:
    """Every command of an explanation, wherever it stands."""
    text = " ".join((item["meaning"], *item["do"], *item["avoid"], *item["call"]))
    return [look["command"] for look in item["look"]] + re.findall(r"`(oc [^`]+)`", text)


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_every_name_that_can_be_shown_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["explain", name]) == errors.ExitCode.DONE
    text = capsys.readouterr().out
    assert text.startswith(f"{name} (")
    assert "Look at\n" in text
    assert "Source " in text


def test_there_is_no_explanation_of_what_no_surface_shows() -> None:
    kinds = {"parameter", "ClusterRole", "Role", "shape rule"}
    assert {item["name"] for item in EVERY if item["kind"] not in kinds} == SHOWN - {vocabulary.CHECK_ACCEPTOR}


@pytest.mark.parametrize("item", EVERY, ids=shown)
def test_the_commands_of_an_explanation_can_be_given(item: explanations.Explanation) -> None:
    for command in commands(item):
        words = shlex.split(command)
        assert words[0] in {"oc", "cluster-topology-operator"}, command
        if words[:2] == ["oc", "topology"] and "--help" not in words:
            arguments.parse([WORDS.get(word, word) for word in words[2:]])


def test_the_operand_checks_look_at_what_the_matrix_asks() -> None:
    for group in TRANSITIONS.matrix.groups:
        (item,) = [item for item in of("check") if item["name"] == group.check]
        text = " ".join(look["command"] for look in item["look"])
        for operand in group.operands:
            assert not operand.namespace or operand.namespace in text or " -A" in text, operand.key


def test_every_runbook_is_that_of_an_alert_and_every_problem_leads_to_one() -> None:
    alerts = {item["name"] for item in of("alert")}
    assert alerts == {rule["alert"] for rule in RULES if "alert" in rule}
    for item in EVERY:
        assert set(item["runbooks"]) <= alerts
        assert item["runbooks"] or item["kind"] not in {"problem", "check", "alert"}, item["name"]
        for alert in item["runbooks"]:
            assert (ROOT / "docs" / "runbooks" / f"{alert}.md").is_file()


def test_the_pages_and_the_file_say_the_same() -> None:
    assert (bindata.root() / explanations.FILE).read_text() == explained.text(TRANSITIONS), "run make generate"
    folder = ROOT / "docs" / "runbooks"
    pages = runbooks.pages(TRANSITIONS)
    assert {place.stem: place.read_text() for place in folder.iterdir()} == pages, "run make generate"


def test_without_a_name_every_name_is_listed_by_kind(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main.main(["explain"]) == errors.ExitCode.DONE
    text = capsys.readouterr().out
    listed = set(re.split(r"[\s,]+", text))
    assert listed >= SHOWN
    assert re.findall(r"^(\S.*)$", text, re.MULTILINE) == list(dict.fromkeys(item["kind"] for item in EVERY))
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("name", "meant"),
    [("stuk", "Stuck"), ("RouterReplica", "RouterReplicas"), ("etcd_members", "topology_etcd_members"),
     ("paused-annotation", "topology.openshift.io/paused")],
)  # fmt: skip
def test_an_unknown_name_is_refused_with_those_that_are_near(
    name: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["explain", name]) == errors.ExitCode.USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    if name == "paused-annotation":
        assert "Without a name, explain lists all" in captured.err
    else:
        assert re.search(rf"did you mean [^?]*\b{meant}\b", captured.err), captured.err


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("name", [None, "stuck", "topology_info"])
def test_data_is_what_its_schema_says(form: str, name: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["explain", *([name] if name else []), "-o", form]) == errors.ExitCode.DONE
    answer = yaml.safe_load(capsys.readouterr().out)
    strict: dict[str, Any] = json.loads(
        json.dumps(SCHEMA).replace('"type": "object",', '"type": "object", "additionalProperties": false,')
    )
    jsonschema.Draft202012Validator.check_schema(strict)
    jsonschema.Draft202012Validator(strict).validate(answer)
    assert {item["name"].lower() for item in answer["items"]} == (
        {name} if name else {n.lower() for n in SHOWN} | {item["name"].lower() for item in EVERY}
    )
    assert set(strict["$defs"]["explanation"]["properties"]) == set(explanations.Explanation.__annotations__)


def test_a_damaged_installation_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    explanations.every.cache_clear()
    monkeypatch.setattr(bindata, "root", lambda: tmp_path)
    try:
        assert main.main(["explain", "Stuck"]) == errors.ExitCode.FAILED
    finally:
        explanations.every.cache_clear()
    assert re.fullmatch(r".*explanations\.json.*\n", capsys.readouterr().err)
