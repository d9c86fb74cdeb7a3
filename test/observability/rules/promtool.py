"""Runs Prometheus's promtool on the rules of bindata/monitoring.

promtool reads plain rule files, and a cluster has a PrometheusRule; so the groups are taken out of it. For the stories
the annotations are left out: promtool wants them repeated word for word for every alert that fires. What they become is
looked at once for each alert (test_rules_annotations), and how they read in test_rules_for_people.
"""

from __future__ import annotations

import copy
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import pytest
import yaml

from test.observability.rules import expressions

HERE = pathlib.Path(__file__).parent
FILE = HERE.parents[2] / "bindata" / "monitoring" / "0000_90_topology-operator_prometheusrule.yaml"
STORIES = tuple(sorted(path.name for path in HERE.glob("*.yaml")))
_SECONDS = 60.0


def groups() -> list[dict[str, Any]]:
    """The rule groups as the PrometheusRule has them."""
    found: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["spec"]["groups"]
    return found


def rules(kind: str) -> dict[str, dict[str, Any]]:
    """The rules by name; `kind` is `alert` or `record`. A name that is there twice fails.

    A second alert of one name has another severity, and is `NAME/SEVERITY` here.
    """
    listed = [rule for group in groups() for rule in group["rules"] if kind in rule]
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


def less(content: list[dict[str, Any]], alert: str | None) -> list[dict[str, Any]]:
    """The same groups with one alert, or none, and what it reads: promtool is quicker without the rest."""
    rules = [rule for group in content for rule in group["rules"]]
    wanted = None
    if alert is not None:
        texts = [rule["expr"] for rule in rules if rule.get("alert") == alert]
        assert texts, f"there is no alert {alert}"
        wanted = {one.name for text in texts for one in expressions.series(text)}
    kept = [{**group, "rules": [rule for rule in group["rules"] if _is_kept(rule, alert, wanted)]} for group in content]
    return [group for group in kept if group["rules"]]


def _is_kept(rule: dict[str, Any], alert: str | None, wanted: set[str] | None) -> bool:
    if "alert" in rule:
        return bool(rule["alert"] == alert)
    return wanted is None or rule["record"] in wanted


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
    """Let promtool play one file of stories against groups; 0 says that all of it came true."""
    _write(without_annotations(content), folder)
    copied = shutil.copy(HERE / story, folder / story)
    return _run("test", "rules", str(copied))


def judge(
    tests: list[dict[str, Any]], content: list[dict[str, Any]], folder: pathlib.Path, *, annotated: bool = False
) -> tuple[int, str]:
    """The same for stories that a test makes up; return the exit code and what promtool said."""
    _write(content if annotated else without_annotations(content), folder)
    story = {"rule_files": ["rules.yaml"], "evaluation_interval": "30s", "tests": tests}
    path = folder / "story.yaml"
    path.write_text(yaml.safe_dump(story, sort_keys=False), encoding="utf-8")
    said = _run("test", "rules", str(path))
    return said.returncode, said.stdout + said.stderr


def _write(content: list[dict[str, Any]], folder: pathlib.Path) -> pathlib.Path:
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": content}, sort_keys=False), encoding="utf-8")
    return path


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - promtool, with our own files
        [binary(), *arguments], capture_output=True, text=True, timeout=_SECONDS, check=False
    )


def main(folder: pathlib.Path) -> None:
    """Put the stories and their rules.yaml into a folder, for promtool by hand."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(without_annotations(groups()), folder)
    for name in STORIES:
        shutil.copy(HERE / name, folder / name)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
