"""`python -m topology_simulator.fleet` says what there is, refuses what there is not, and says what it lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from topology_simulator.fleet import pack

if TYPE_CHECKING:
    import pathlib

_STORIES = ["canary-then-wave", "canary-stuck", "wave-stuck", "canary-lost", "spoke-unreachable", "bad-manifest"]
_STORIES += ["withdraw", "operator-missing", "policy", "hub-restarted"]


def _run(*arguments: str, cache: pathlib.Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **({"XDG_CACHE_HOME": str(cache)} if cache else {})}
    command = [sys.executable, "-m", "topology_simulator.fleet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180.0, check=False, env=environment)  # noqa: S603 - our own program


def test_every_story_is_listed_and_each_mutant_names_a_story() -> None:
    done = _run("--list")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    mutants = [line for line in lines if line.startswith("MUTANT=")]
    assert [line.split()[0] for line in lines if line not in mutants] == _STORIES
    assert mutants
    assert {line.rpartition(": shown by ")[2] for line in mutants} <= set(_STORIES)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--story", "sideways"], "invalid choice: 'sideways' (choose from "),
        (["--mutant", "sideways"], "invalid choice: 'sideways' (choose from "),
        (["--spokes", "1"], "--spokes 1: canary-then-wave wants 2 to 16"),
        (["--story", "withdraw", "--spokes", "2"], "--spokes 2: withdraw wants 3 to 16"),
        (["--spokes", "17"], "--spokes 17: canary-then-wave wants 2 to 16"),
    ],
)
def test_what_cannot_be_played_is_refused_with_what_can(arguments: list[str], says: str) -> None:
    done = _run(*arguments)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.parametrize("name", pack.MUTANTS)
def test_each_mutant_edits_what_the_generator_prints(name: str) -> None:
    """An edit that finds nothing is an error, and what is edited is still a pack."""
    edited = pack.Pack(pack.MUTANTS[name].edit)
    kinds = [obj["kind"] for obj in edited.roll_out(soak_seconds=5, deadline_seconds=60, max_concurrency=1)]
    assert kinds == ["Placement", "ManifestWorkReplicaSet"]
    assert edited.policy()["object-templates-raw"]


@pytest.mark.parametrize("mutant", [[], ["--mutant", "no-canary"]], ids=["story", "mutant"])
def test_without_engines_it_fails_and_one_line_says_how_to_get_them(tmp_path: pathlib.Path, mutant: list[str]) -> None:
    """Also with a mutant: a story that was not played has shown nothing."""
    done = _run(*mutant, "--folder", str(tmp_path / "logs"), cache=tmp_path)
    assert done.returncode == 1
    (complaint,) = done.stderr.splitlines()[-1:]
    assert "no work, placement, config-policy-controller in " in complaint
    assert "engines build" in complaint
