"""The lab: what it builds, from which sources, and which commands it finds. The real `oc` is for `make lab`."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
from typing import Any

import pytest

from lab import printed, verdict
from topology_simulator import cluster, configured, kinds
from topology_simulator.envtest import audit

HACK = pathlib.Path(__file__).parents[2]
_PIN = """[oc]
repository = "somebody/oc"
branch = "main"
commit = "{commit}"
tags = "a b"
command = 'echo "#!/bin/sh" >"$OUT" && cat source >>"$OUT" && chmod +x "$OUT" && test "$TAGS" = "a b"'
usual_seconds = 60
"""


def _run(folder: pathlib.Path, *words: object, release: str = "") -> subprocess.CompletedProcess[str]:
    places = {"PATH": f"{folder}:{os.environ['PATH']}", "XDG_CACHE_HOME": f"{folder}/cache"}
    places |= {"SOURCES": str(folder), "RELEASE": release}
    return subprocess.run([*map(str, words)], env=places, capture_output=True, text=True, check=False)  # noqa: S603 - a test's own words


def _commit(folder: pathlib.Path, content: str) -> str:
    """Commit sources that build a program with this content; return the commit."""
    git = ("git", "-C", folder / "oc", "-c", "user.name=x", "-c", "user.email=x@example.com")
    _run(folder, "git", "init", "-q", folder / "oc")
    for name in ("go.mod", "source"):
        (folder / "oc" / name).write_text(f"{content}\n")
    for words in (("add", "."), ("commit", "-qm", content)):
        assert _run(folder, *git, *words).returncode == 0
    return _run(folder, *git, "rev-parse", "HEAD").stdout.strip()


def test_a_program_is_built_once_from_the_commit_that_is_pinned(tmp_path: pathlib.Path) -> None:
    lab, pins = tmp_path / "lab" / "lab", tmp_path / "lab" / "operators.toml"
    lab.parent.mkdir()
    for name in ("lab/lab", "from_modules.sh"):
        shutil.copy(HACK / name, tmp_path / name)
    (tmp_path / "go").write_text("#!/bin/sh\n")
    (tmp_path / "go").chmod(0o755)
    pinned, other = _commit(tmp_path, "exit 7"), _commit(tmp_path, "exit 8")
    pins.write_text(_PIN.format(commit="0" * 40))
    none = _run(tmp_path, lab, "build", "oc")
    assert (none.returncode, none.stdout, none.stderr.count("\n")) == (2, "", 1)
    assert f"no sources of somebody/oc at {'0' * 40} (main)" in none.stderr
    pins.write_text(_PIN.format(commit=pinned) + f'releases = {{"4.9" = "{other}"}}\n')
    first, second = _run(tmp_path, lab, "build", "oc"), _run(tmp_path, lab, "build", "oc")
    assert "built oc" in first.stderr, first.stderr
    assert (second.stdout, second.stderr) == (first.stdout, "")
    assert _run(tmp_path, f"{first.stdout.strip()}/oc").returncode == 7
    for release, code in (("", 7), ("4.9", 8)):
        assert _run(tmp_path, lab, "show", "oc", "source", release=release).stdout == f"exit {code}\n"
    assert 'no "oc" of release 4.8' in _run(tmp_path, lab, "path", "oc", release="4.8").stderr


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("Look at oc get nodes -l a/b (all), or: oc topology wait. More", ["oc get nodes -l a/b", "oc topology wait"]),
        ("""run oc patch x y -p '{"a": "b. c"}'. Then""", ["""oc patch x y -p '{"a": "b. c"}'"""]),
        ("once it answers, oc topology status shows it", ["oc topology status"]),
        ("oc debug node/a -- b && oc annotate c d=e", ["oc debug node/a -- b && oc annotate c d=e"]),
        ("oc and kubectl know no topology", []),
    ],
)
def test_commands_are_found_in_sentences(text: str, commands: list[str]) -> None:
    assert printed.within(text) == commands


def test_a_box_has_what_oc_adm_upgrade_status_reads() -> None:
    """openshift/oc pkg/cli/admin/upgrade/status: the release of each node's configuration, an image, an annotation."""
    shape = cluster.Shape(version="4.23.1", masters=3, workers=1)
    found = {(one["kind"], one["metadata"]["name"]): one for one in cluster.objects(shape)}
    for node in [one for (kind, _), one in found.items() if kind == "Node"]:
        config = found["MachineConfig", cluster.notes(node)["machineconfiguration.openshift.io/currentConfig"]]
        assert config["metadata"]["annotations"][configured.RELEASE_VERSION] == "4.23.1"
    pods = found["Deployment", "machine-config-operator"]["spec"]["template"]["spec"]
    assert [one["name"] for one in pods["containers"]] == ["machine-config-operator"]
    operators = [one for (kind, _), one in found.items() if kind == "ClusterOperator"]
    assert all("include.release" in "".join(one["metadata"]["annotations"]) for one in operators)


def _write(who: str, resource: str, name: str, at: float, code: int = 200) -> audit.Event:
    user, agent = ("admin", f"{who}/1") if who.startswith("actor") else (f"system:serviceaccount:x:{who}", "")
    return audit.Event(
        verb="patch", user=user, agent=agent, group="", resource=resource, subresource="status", namespace="",
        name=name, uri="", code=code, time=at, stage="", allowed=True, allowed_by="",
    )  # fmt: skip


def _story(per_minute: float, rest: tuple[float, float] = (0, 0), until: str = "Completed") -> dict[str, Any]:
    """Return the figures of a story of 300 s after the request at 1000, in which one object is written so often."""
    seen, infrastructure = verdict.Seen(), {"metadata": {"name": "cluster"}, "spec": {"desiredTopology": "X"}}
    for at, topology, phase in ((1000, "Y", "Pending"), (1100, "X", "Converging"), (1300, "X", until)):
        record = {"controlPlaneTopology": topology, "topologyTransition": {"phase": phase}}
        seen.object(kinds.INFRASTRUCTURES, {**infrastructure, "status": record}, at)
        for status in ("Unmet", "Met"):
            seen.metrics(f'topology_transition_check_status{{check="A",stage="Convergence",status="{status}"}} 1.0')
    for at, memory in ((1301, 60), (1361, 62), (4901, 61)):
        seen.rests(at, memory, 40)
    often = ((1000, rest[0]), (1300, per_minute), (1400, rest[1]))
    times = [at for at in range(1400) if at % 60 < next(count for end, count in often if at < end)]
    events = [_write(who, "x", "y", at) for at in times for who in ("cvo", "actor")]
    events += [_write("ours", "infrastructures", "cluster", 1000 + at, 409 if at > 8 else 200) for at in range(20)]
    return verdict.figures(seen, events, 1400)


def test_a_story_is_judged_by_its_end_and_by_who_writes_how_often() -> None:
    calm = _story(6)
    assert calm["seconds"] == {"request": 0, "Pending": 0, "change": 100, "Converging": 100, "Completed": 300,
                               "change to Completed": 200}  # fmt: skip
    assert (calm["writes"]["infrastructures"], calm["fell back"], calm["not met"]) == ({"ours": 9}, {"A": 2}, [])
    hours = ["1 minutes: 60 to 62 MiB, 40 to 40 descriptors", "0 minutes: 61 to 61 MiB, 40 to 40 descriptors"]
    assert (calm["hours since Completed"], _story(3, until="X")["hours since Completed"]) == (hours, [])
    assert not any(verdict.faults(each, 10) for each in (calm, _story(30, (20, 0)), _story(30, (0, 20))))
    (loop,) = verdict.faults(_story(30, (10, 9)), 10)
    assert loop == "writes in a loop: cvo patch x/status y: 30 in the last minute, 10 in one at rest"
    assert verdict.faults(_story(3, until="Converging"), 10) == ["the transition was not Completed"]
    many = {**calm, "writes": {"infrastructures": {"ours": 11}}}
    assert verdict.faults(many, 10) == ["Infrastructure was written 11 times besides the request, 1 to 10 are allowed"]
    seen, updating = verdict.Seen({"Completed": 0}), {"history": [{"version": "4.9.9", "state": "Partial"}]}
    seen.object(kinds.CLUSTER_VERSIONS, kinds.CLUSTER_VERSIONS.new("version", status=updating), 0)
    for topology, status in (("X", "False"), ("Y", "True"), ("Y", "False")):
        topologies, stated = {"controlPlaneTopology": topology}, {"conditions": [{"type": "A", "status": status}]}
        seen.object(kinds.INFRASTRUCTURES, kinds.INFRASTRUCTURES.new("cluster", status=topologies), 0)
        seen.object(kinds.CLUSTER_OPERATORS, kinds.CLUSTER_OPERATORS.new("topology", status=stated), 0)
    assert verdict.faults(verdict.figures(seen, [], 0), 10) == [
        "one change of the topology was wanted, and none during an update; found ['Y None during the update to 4.9.9']",
        "condition A came back: ['False', 'True', 'False']",
        "Infrastructure was written 0 times besides the request, 1 to 10 are allowed",
    ]
