"""Help texts, exit codes of bad usage, names, what is applied to a cluster, and stories, as they are recorded."""

from __future__ import annotations

import enum
import hashlib
import importlib.metadata
import json
import re
import sys
from typing import TYPE_CHECKING

import pytest
import yaml
from test import recorded

from topology_api import vocabulary
from topology_controller import logs

from ..core import clusters
from . import stories, transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OPERATOR, PLUGIN = "cluster-topology-operator", "kubectl-topology"
HELP = {
    OPERATOR: ((), ("run",), ("manifests",), ("render",), ("fleet",), ("fleet", "policy"), ("version",)),
    PLUGIN: (
        (), ("plan",), ("set",), ("cancel",), ("status",), ("wait",), ("graph",), ("audit",), ("accept",),
        ("fleet",),
    ),
}  # fmt: skip
WRONG: dict[str, Sequence[tuple[str, ...]]] = {
    OPERATOR: (
        (), ("walk",), ("run", "--lease-duration", "6", "--renew-deadline", "4", "--retry-period", "1"),
        ("run", "--lease-duration", "6"), ("run", "--bind-address", "0.0.0.0:8443"), ("run", "--log-level", "loud"),
        ("run", "--settle-seconds", "-1"), ("run", "--etcd-endpoints", "http://a"), ("run", "--bind-address", "x"),
        ("manifests", "--crd", "/nowhere"), ("manifests", "--crd-only", "--crd-patch"),
    ),
    PLUGIN: (
        (), ("change",), ("set",), ("plan", "highlyavailable"), ("set", "External"), ("wait", "--timeout", "soon"),
        ("accept",), ("accept", "--check", "EtcdHealthy"), ("accept", "--check", "Router"), ("graph", "-o", "png"),
        ("set", "HighlyAvailable", "--timeout", "1m"), ("status", "--as", " "), ("--request-timeout", "x", "status"),
    ),
}  # fmt: skip
"""What is wrong by the words alone: no cluster is asked."""
_TAKES_TWICE = re.compile(r"(?<!\S)(-\w) (\S+), (--[\w-]+ \2)")
"""`-v N, --v N`, which argparse shortens to `-v, --v N` from Python 3.13 on."""


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("KUBECONFIG", "/nowhere/kubeconfig")
    # This process logs as before: a test that counts calls may come next.
    monkeypatch.setattr(logs, "set_level", lambda _: None)


def _said(program: str, words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    entry = next(one for one in importlib.metadata.entry_points(group="console_scripts") if one.name == program)
    main: Callable[[Sequence[str]], int] = entry.load()
    try:
        code: object = main(words)
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr()
    return f"$ {' '.join((program, *words))}\n{said.out}{said.err}exit code {code}\n"


def _words(text: str) -> str:
    """The words alone: where lines are broken, and whether what can be chosen is quoted, is argparse's."""
    return " ".join(_TAKES_TWICE.sub(r"\1, \3", " ".join(text.split())).replace("'", "").split())


def _compare(name: str, text: str) -> None:
    """Compare with what was recorded with Python 3.11; a newer argparse lays the same words out in its own way."""
    if _words(text) != _words((recorded.FOLDER / name).read_text()) or sys.version_info < (3, 13):
        recorded.compare(name, text)


@pytest.mark.parametrize("program", HELP)
def test_help_texts(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [_said(program, (*words, "--help"), capsys) for words in HELP[program]]
    _compare(f"help-{program}.txt", "\n".join(texts))


@pytest.mark.parametrize("program", WRONG)
def test_bad_usage(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [_said(program, words, capsys) for words in WRONG[program]]
    _compare(f"usage-{program}.txt", "\n".join(texts))


def test_names() -> None:
    """Phases, reasons, conditions, checks, advisories, annotations: every constant of the vocabulary."""
    found: list[str] = []
    for name, value in sorted(vars(vocabulary).items()):
        if isinstance(value, type) and issubclass(value, enum.Enum) and value.__module__ == vocabulary.__name__:
            found += [f"{name}.{member.name} = {member.value}" for member in value]
        elif name.isupper() and isinstance(value, str | int):
            found.append(f"{name} = {value}")
    recorded.compare("names.txt", "\n".join(found) + "\n")


@pytest.mark.looptime
async def test_metrics() -> None:
    """Name, type and help of each family."""
    async with clusters.running(clusters.Cluster()) as running:
        recorded.compare("metrics.txt", "\n".join(transcript.families(running)) + "\n")


@pytest.mark.parametrize("flags", [(), ("--crd-only",), ("--crd-patch",), ("--without-monitoring",)])
def test_what_is_applied(flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Each object by a sum of its content; the content itself is in bindata/, which is generated and compared."""
    text = _said(OPERATOR, ("manifests", *flags), capsys)
    name = f"manifests{''.join(flags)}.txt"
    if "--crd-patch" in flags:
        recorded.compare(name, text)
        return
    body = text.partition("\n")[2].rpartition("exit code")[0].partition("\nwarning: ")[0]
    lines = []
    for item in yaml.safe_load_all(body):
        metadata = item["metadata"]
        total = hashlib.sha256(json.dumps(item, sort_keys=True).encode()).hexdigest()[:16]
        lines.append(f"{item['kind']} {metadata.get('namespace', '')}/{metadata['name']} {total}")
    recorded.compare(name, "\n".join(lines) + "\n")


@pytest.mark.looptime
@pytest.mark.parametrize("name", stories.TOLD)
async def test_a_story_is_told_as_it_is_recorded(name: str) -> None:
    recorded.compare(f"story-{name}.txt", await stories.tell(name))


@pytest.mark.looptime
async def test_the_objects_that_engines_judge_are_what_the_operator_writes() -> None:
    recorded.compare(recorded.INFRASTRUCTURES, await stories.keep())
