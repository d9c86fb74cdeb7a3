"""The script of `manifests --crd-patch`: what it sends, what it refuses, what it says an override costs.

It runs in a real shell with an `oc` that answers from the environment and keeps what it is sent; the same script with
kubectl against API servers is test/component/test_installing_and_leaving.py.
"""

import json
import pathlib
import shutil
import subprocess
from typing import Any

import pytest

from topology_api import crd, crd_patch
from topology_api import served as served_fields
from topology_deploy import manifests

OC = """#!/bin/sh
[ "$1" = get ] || echo "$*" >>"$LOG"
case "$*" in
  'get crd clusterversions.config.openshift.io'*) printf '%s' "$KIND" ;;
  'get clusterversion version --ignore-not-found -o name') printf '%s' "$VERSION" ;;
  *'range .spec.overrides'*) printf '%s' "$OVERRIDES" ;;
  *'.status.desired.version'*) printf '%s' "$RELEASE" ;;
  *'.metadata.generation'*) printf '%s' "$GENERATION" ;;
  *'.phase}'*) printf '%s' "$PHASE" ;;
  *ownerReferences*) printf '%s' "$OWNER" ;;
  *openAPIV3Schema*) printf '%s' "$FIELDS" ;;
  *--patch-file*) cat >"$PATCH"; [ -z "$REFUSED" ] ;;
esac
"""
OTHER = {"kind": "Deployment", "group": "apps", "namespace": "x", "name": "y", "unmanaged": True}
OURS = {"kind": "CustomResourceDefinition", "group": "apiextensions.k8s.io", "name": crd.NAME, "unmanaged": True}
MANAGED, SPACED = {**OURS, "unmanaged": False}, {**OURS, "namespace": "x"}
"""The version operator goes by the first of a group, kind and name where a kind has no namespace."""
OPENSHIFT = {"KIND": "crd/clusterversions", "VERSION": "clusterversion/version", "RELEASE": "4.22.5", "GENERATION": "3"}


def bare() -> dict[str, Any]:
    """Make a definition without our part, as an API server serves it."""
    whole = crd.infrastructure(manifests.edges())
    made = crd_patch.apply(whole, crd_patch.remove(whole))
    return {**made, "metadata": {**made["metadata"], "generation": 3}}


def overrides(*entries: dict[str, Any]) -> str:
    """What oc prints of them: all as JSON, then one line for each."""
    lines = [f"{one['group']}/{one['kind']}/{one['name']}/{json.dumps(one['unmanaged'])}\n" for one in entries]
    return "".join([json.dumps(entries) if entries else "", "\n", *lines])


class Terminal:
    def __init__(self, folder: pathlib.Path, shell: str) -> None:
        self._folder, self._shell = folder, shell
        (folder / "oc").write_text(OC, encoding="utf-8")
        (folder / "oc").chmod(0o755)
        (folder / "log").touch()

    def run(self, *arguments: str, script: str = "", **answers: str) -> subprocess.CompletedProcess[str]:
        text = script or manifests.patch(bare())
        names = ("KIND", "VERSION", "RELEASE", "GENERATION", "OVERRIDES", "PHASE", "OWNER", "FIELDS", "REFUSED")
        environment = {
            **{name: answers.get(name, "") for name in names},
            "PATH": f"{self._folder}:/usr/bin:/bin",
            "LOG": str(self._folder / "log"),
            "PATCH": str(self._folder / "patch"),
        }
        return subprocess.run(  # noqa: S603 - the script of this test, in a shell of its own
            [self._shell, "-s", *arguments], input=text, text=True, env=environment, capture_output=True, check=False,
            timeout=20,
        )  # fmt: skip

    @property
    def written(self) -> list[str]:
        """Every command that writes, in order."""
        return (self._folder / "log").read_text(encoding="utf-8").splitlines()

    def of_version(self) -> list[list[dict[str, Any]]]:
        """The patches of ClusterVersion."""
        return [json.loads(one.partition(" -p ")[2]) for one in self.written if "patch clusterversion" in one]

    def of_definition(self) -> list[dict[str, Any]]:
        """The patch of the definition."""
        sent: list[dict[str, Any]] = json.loads((self._folder / "patch").read_text(encoding="utf-8"))
        return sent


@pytest.fixture(params=[shell for shell in map(shutil.which, ("sh", "bash")) if shell])
def terminal(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Terminal:
    return Terminal(tmp_path, request.param)


@pytest.mark.parametrize(
    ("there", "path"),
    [
        ((), "/spec/overrides"), ((OTHER,), "/spec/overrides/-"), ((OTHER, OURS), None), ((SPACED, MANAGED), None),
        ((OTHER, MANAGED), "/spec/overrides/1/unmanaged"), ((MANAGED, SPACED), "/spec/overrides/0/unmanaged"),
    ],
)  # fmt: skip
def test_installing_sends_the_override_once_and_the_patch(terminal, there, path):
    said = terminal.run(**OPENSHIFT, OVERRIDES=overrides(*there))
    assert (said.returncode, said.stderr) == (0, "")
    sent = [operation for patch in terminal.of_version() for operation in patch]
    assert [operation["path"] for operation in sent if operation["op"] != "test"] == ([path] if path else [])
    assert all(operation["value"] == list(there) for operation in sent if operation["op"] == "test")
    assert not served_fields.lacking(crd_patch.apply(bare(), terminal.of_definition()))
    assert "patch clusterversion" in terminal.written[0] or not path, "first the override, or the patch is taken back"


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("4.21.0-rc.2", "no update starts, not even a patch update"),
        ("", "no update starts, not even a patch update"),
        ("4.22.0", "patch updates start"),
        ("5.0.0-0.nightly", "patch updates start"),
    ],
)
@pytest.mark.parametrize("refused", ["", "yes"], ids=["patched", "not patched"])
def test_installing_says_what_the_override_costs_on_this_release(terminal, release, words, refused):
    said = terminal.run(**{**OPENSHIFT, "RELEASE": release}, REFUSED=refused)
    assert said.returncode == bool(refused)
    assert said.stderr.startswith(f"{crd.NAME} was not patched. ") == bool(refused)
    told = (said.stderr if refused else said.stdout).splitlines()[-1]
    assert f"OpenShift {release} with this override: {words}" in told
    assert told.endswith(" until: sh crd-patch.sh remove")


@pytest.mark.parametrize("phase", ["Admitting", "Converging"])
def test_nothing_is_removed_from_under_a_transition(terminal, phase):
    said = terminal.run("remove", **OPENSHIFT, PHASE=phase, OVERRIDES=overrides(OURS), OWNER="version")
    assert said.returncode == 1
    assert phase in said.stderr
    assert not terminal.written


@pytest.mark.parametrize(
    ("there", "places"),
    [
        ((OURS,), [""]), ((OTHER, OURS), ["/1"]), ((OURS, OTHER), ["/0"]), ((SPACED, OTHER, OURS), ["/2", "/0"]),
        ((SPACED, MANAGED), [""]),
    ],
)  # fmt: skip
def test_removing_takes_the_request_then_our_override_and_no_other(terminal, there, places):
    said = terminal.run("remove", **OPENSHIFT, PHASE="Completed", OVERRIDES=overrides(*there), OWNER="version")
    assert (said.returncode, said.stderr) == (0, "")
    assert '{"spec":{"desiredTopology":null}}' in terminal.written[0]
    removed = [{"op": "remove", "path": f"/spec/overrides{place}"} for place in places]
    assert terminal.of_version() == [[{"op": "test", "path": "/spec/overrides", "value": list(there)}, *removed]]
    assert "puts its own" in said.stdout
    assert not [one for one in terminal.written if one.startswith("patch crd")], "it is not ours to write then"


def test_a_definition_at_this_level_is_not_patched_and_can_be_taken_back(terminal):
    level = manifests.patch(crd.infrastructure(manifests.edges()))
    assert "has our part at this level" in terminal.run(**OPENSHIFT, script=level).stdout
    assert not [one for one in terminal.written if one.startswith("patch crd")]
    assert terminal.run("remove", script=level, FIELDS="string").returncode == 0
    removed = crd_patch.apply(crd.infrastructure(manifests.edges()), terminal.of_definition())
    assert served_fields.lacking(removed)
