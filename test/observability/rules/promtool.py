"""Runs Prometheus's promtool on the rules of bindata/monitoring.

promtool reads plain rule files, and a cluster has a PrometheusRule; so the groups are taken out of it. For the stories
the annotations are left out: promtool wants them repeated word for word for every alert that fires. How
they read is looked at in test_rules_for_people.

Which series an expression asks for, and by which labels, is read here too. No parser of PromQL: a reader of names,
which is enough for expressions that people wrote to be read. What is not a function (no bracket follows), a keyword,
a number or a label in a list is a series.
"""

from __future__ import annotations

import copy
import pathlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

HERE = pathlib.Path(__file__).parent
FILE = HERE.parents[2] / "bindata" / "monitoring" / "0000_90_topology-operator_prometheusrule.yaml"
ELSEWHERE = HERE.parents[2] / "bindata" / "elsewhere" / "prometheusrule.yaml"
"""The rules of a management cluster, for an operator that is placed there."""
STORIES = tuple(sorted(path.name for path in HERE.glob("*.yaml")))
_SECONDS = 60.0
_KEYWORDS = frozenset({"and", "or", "unless", "bool", "offset", "inf", "nan"})
_DURATION = re.compile(r"\[[^\]]*\]")
_GROUPING = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\b\s*\(([^)]*)\)")
_SERIES = re.compile(r"(?<![\w:.])([a-zA-Z_:][\w:]*)\s*(\{[^}]*\}|(\())?")
_MATCHER = re.compile(r"""([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"((?:\\.|[^"\\])*)\"""")


@dataclass(frozen=True, slots=True)
class Series:
    """One selector: its name and, for each label that it compares, how and with what."""

    name: str
    matchers: tuple[tuple[str, str, str], ...] = ()


def series(text: str) -> list[Series]:
    """Every selector of an expression, in its order."""
    plain = _DURATION.sub("", _GROUPING.sub(" ", text))
    found = []
    for name, braces, call in _SERIES.findall(plain):
        if not call and name not in _KEYWORDS:
            found.append(Series(name, tuple(_MATCHER.findall(braces))))
    return found


def grouped(text: str) -> list[tuple[str, frozenset[str]]]:
    """Every list of labels with the word before it: ("by", {"phase"}) for `max by (phase) (...)`."""
    return [(word, frozenset(re.findall(r"\w+", inside))) for word, inside in _GROUPING.findall(text)]


def groups(file: pathlib.Path = FILE) -> list[dict[str, Any]]:
    """The rule groups as a PrometheusRule has them."""
    found: list[dict[str, Any]] = yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]["groups"]
    return found


def records() -> list[dict[str, Any]]:
    """The rule groups without their alerts."""
    kept = [{**group, "rules": [rule for rule in group["rules"] if "record" in rule]} for group in groups()]
    return [group for group in kept if group["rules"]]


def rules(kind: str, file: pathlib.Path = FILE) -> dict[str, dict[str, Any]]:
    """The rules by name; `kind` is `alert` or `record`."""
    return named(kind, groups(file))


def named(kind: str, content: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The same of these groups. A name that is there twice fails.

    A second alert of one name has another severity, and is `NAME/SEVERITY` here.
    """
    listed = [rule for group in content for rule in group["rules"] if kind in rule]
    found: dict[str, dict[str, Any]] = {}
    for rule in listed:
        name = rule[kind]
        if kind == "alert" and name in found:
            name = f"{name}/{rule['labels']['severity']}"
        found[name] = rule
    assert len(found) == len(listed), f"there are two rules of one name among {[rule[kind] for rule in listed]}"
    return found


def without_annotations(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same groups, with nothing that only people read."""
    made = copy.deepcopy(content)
    for group in made:
        for rule in group["rules"]:
            rule.pop("annotations", None)
    return made


def binary() -> str:
    """Where promtool is. Fails the test with what to do when it is nowhere."""
    found = shutil.which("promtool")
    if found is None:
        pytest.fail("no promtool on the PATH: it comes with Prometheus (Debian: apt-get install prometheus)", False)  # noqa: FBT003 - pytrace: the line says it all
    return found


def check(content: list[dict[str, Any]], folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """Let promtool look at groups as they are, with every lint that it has."""
    path = _write(content, folder)
    return _run("check", "rules", "--lint=all", "--lint-fatal", str(path))


def play(story: str, content: list[dict[str, Any]], folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """Let promtool play one file of stories against these rules; 0 says that all of it came true."""
    _write(without_annotations(content), folder)
    copied = shutil.copy(HERE / story, folder / story)
    return _run("test", "rules", str(copied))


def judge(
    tests: list[dict[str, Any]],
    content: list[dict[str, Any]],
    folder: pathlib.Path,
    *,
    annotated: bool = False,
    every: str = "30s",
) -> str:
    """The same for stories that a test makes up; return what promtool says against them, "" when they come true."""
    _write(content if annotated else without_annotations(content), folder)
    story = {"rule_files": ["rules.yaml"], "evaluation_interval": every, "tests": tests}
    path = folder / "story.yaml"
    path.write_text(yaml.safe_dump(story, sort_keys=False), encoding="utf-8")
    said = _run("test", "rules", str(path))
    return "" if said.returncode == 0 else said.stdout + said.stderr


def _write(content: list[dict[str, Any]], folder: pathlib.Path) -> pathlib.Path:
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": content}, sort_keys=False), encoding="utf-8")
    return path


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - promtool, with our own files
        [binary(), *arguments], capture_output=True, text=True, timeout=_SECONDS, check=False
    )
