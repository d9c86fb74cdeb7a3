"""The lab: what it builds, from which sources, and which commands it finds. The real `oc` is for `make lab`."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest

from lab import printed
from topology_simulator import cluster, configured

HACK = pathlib.Path(__file__).parents[2]
_PIN = """[oc]
repository = "somebody/oc"
branch = "main"
commit = "{commit}"
tags = "a b"
command = 'echo "#!/bin/sh" >"$OUT" && cat source >>"$OUT" && chmod +x "$OUT" && test "$TAGS" = "a b"'
usual_seconds = 60
"""


def _run(folder: pathlib.Path, *words: object) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "XDG_CACHE_HOME": f"{folder}/cache",
        "SOURCES": str(folder),
    }
    return subprocess.run([*map(str, words)], env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - a test's own words


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
    pinned, _ = _commit(tmp_path, "exit 7"), _commit(tmp_path, "exit 8")
    pins.write_text(_PIN.format(commit="0" * 40))
    none = _run(tmp_path, lab, "build", "oc")
    assert (none.returncode, none.stdout, none.stderr.count("\n")) == (2, "", 1)
    assert f"no sources of somebody/oc at {'0' * 40} (main)" in none.stderr
    pins.write_text(_PIN.format(commit=pinned))
    first, second = _run(tmp_path, lab, "build", "oc"), _run(tmp_path, lab, "build", "oc")
    assert "built oc" in first.stderr, first.stderr
    assert (second.stdout, second.stderr) == (first.stdout, "")
    assert _run(tmp_path, f"{first.stdout.strip()}/oc").returncode == 7
    assert _run(tmp_path, lab, "show", "oc", "source").stdout == "exit 7\n"


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        (
            "Look at oc get nodes -l a/b (masters have it), or: oc topology wait. More",
            ["oc get nodes -l a/b", "oc topology wait"],
        ),
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
