"""Every name that a surface can show is explained: what it means, what to look at, what to do. No cluster is asked."""

from __future__ import annotations

import enum
import html
import itertools
import json
import pathlib
import re
import shlex
import subprocess
import sys
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
from topology_controller.plugin import answers, arguments, capi_findings, completion, errors, explanations, main
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
QUIET = {
    "Met", "Available", "Progressing", "AsExpected", "TransitionAdmitting", "TransitionCompleted", "True", "False",
    "TransitionRequested", "TransitionAdmitted", "TopologyChanged", "TransitionCancelled", "Fulfilled", "UnderWay",
    "NothingToDo",
}  # fmt: skip
"""Names of which there is nothing to do: all is well, or it goes on by itself."""
ABOUT_TROUBLE = {
    "check", "check status", "advisory", "phase", "problem", "condition", "reason", "event", "alert", "transition",
    "verdict", "audit question", "CAPI finding", "finding",
}  # fmt: skip
LONG = 50
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
def test_an_explanation_has_all_that_a_person_needs(item: explanations.Explanation) -> None:
    assert item["meaning"].endswith((".", "?"))
    assert item["look"]
    assert item["source"]
    quiet = item["kind"] not in ABOUT_TROUBLE or item["name"] in QUIET
    assert bool(item["do"]) or quiet, "a person can do something about it"
    for sentence in (*item["do"], *item["avoid"], *item["call"]):
        assert sentence.endswith((".", "?")), sentence
        assert sentence[0].isupper() or sentence[0] == "`", sentence
        assert "](" not in sentence, "a terminal follows no link"


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


def test_a_name_of_several_kinds_shows_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["explain", "blocked"]) == errors.ExitCode.DONE
    text = capsys.readouterr().out
    assert "Blocked (problem)\n" in text
    assert "Blocked (verdict)\n" in text
    assert "Runbook  oc topology explain TopologyTransitionBlocked\n" in text


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


def test_the_page_shows_what_is_printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    assert main.main(["explain", "RouterReplicas"]) == errors.ExitCode.DONE
    page = html.unescape((ROOT / "docs" / "kubectl-topology.md").read_text())
    assert f"$ oc topology explain RouterReplicas\n{capsys.readouterr().out}</pre>" in page


def test_only_the_command_in_a_sentence_stays_together(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    main.main(["explain", "cluster:topology_transition_stuck:max"])
    text = capsys.readouterr().out.partition("\nDo\n")[2].partition("\n\n")[0]
    assert "`oc topology status`" in text
    assert max(map(len, text.splitlines())) <= 44, "what follows a command is prose"


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_a_command_is_never_broken(
    columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for item in EVERY:
        main.main(["explain", item["name"]])
        lines = capsys.readouterr().out.splitlines()
        for command in commands(item):
            assert any(command in line for line in lines), command
            assert len(command) < LONG or command in map(str.strip, lines), (
                "it would be pasted with what stands around it"
            )


def test_no_cluster_and_no_kubeconfig_are_needed(tmp_path: pathlib.Path) -> None:
    environ = {"PATH": "", "HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "none")}
    environ["PYTHONPATH"] = ":".join(filter(None, sys.path))
    answer = subprocess.run(
        [sys.executable, "-m", "topology_controller.plugin", "explain", "twovoters"],
        env=environ, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("TwoVoters (problem)\n")


def test_the_operator_does_not_load_what_only_people_read() -> None:
    code = "import sys, topology_controller.cli, topology_controller.process; print(*sys.modules)"
    environ = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    modules = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60, check=True
    ).stdout.split()
    assert "topology_controller.process" in modules
    assert not [module for module in modules if module.startswith("topology_controller.plugin")]


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


def test_the_address_of_a_runbook_is_that_of_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(vocabulary.RUNBOOKS_VARIABLE, "https://docs.example.org/runbooks/")
    main.main(["explain", "TopologyTransitionStuck"])
    assert "Runbook  https://docs.example.org/runbooks/TopologyTransitionStuck.md\n" in capsys.readouterr().out
    monkeypatch.delenv(vocabulary.RUNBOOKS_VARIABLE)
    main.main(["explain", "TopologyTransitionStuck"])
    assert "Runbook" not in capsys.readouterr().out, "it is what stands above"


def test_a_shell_is_offered_the_names() -> None:
    offered, directive = completion.candidates(["explain", "Etcd"], {})
    assert offered["EtcdHealthy"] == "check"
    assert set(offered) == {item["name"] for item in EVERY if item["name"].startswith("Etcd")}
    assert directive == completion.NOTHING


def test_advice_about_a_name_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = explained.advice()
    lost = {**kinds, "check": kinds["check"].model_copy(update={"names": {"Gone": explained.Advice()}})}
    monkeypatch.setattr(explained, "advice", lambda: lost)
    with pytest.raises(explained.UndescribedError, match="check Gone"):
        explained.explanations(TRANSITIONS)


def test_a_name_without_a_meaning_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = explained.advice()
    names = {name: advice for name, advice in kinds["verdict"].names.items() if name != "Blocked"}
    silent = {**kinds, "verdict": kinds["verdict"].model_copy(update={"names": names})}
    monkeypatch.setattr(explained, "advice", lambda: silent)
    with pytest.raises(explained.UndescribedError, match="verdict Blocked has no meaning"):
        explained.explanations(TRANSITIONS)
