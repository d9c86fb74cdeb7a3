"""`envtest` finds binaries by release and name, and gets OpenShift's definitions with Go, once.

Without them it says in one line what to do.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest

_SCRIPT = pathlib.Path(__file__).parents[3] / "hack" / "envtest" / "envtest"
_TOOLS = (
    "bash",
    "awk",
    "cat",
    "chmod",
    "cut",
    "dirname",
    "grep",
    "mkdir",
    "mv",
    "nice",
    "rm",
    "sed",
    "sha256sum",
    "tar",
)
_MANIFEST = "config/v1/zz_generated.crd-manifests/a.crd.yaml"
_OTHERS = (
    "config/crd/bases/b.yaml",
    "operator/v1alpha1/zz_generated.crd-manifests/c_clusterapis.crd.yaml",
    "apiextensions/v1alpha1/zz_generated.crd-manifests/d.crd.yaml",
)
_OF_CLUSTER_API = {"capi-v1beta1": set(_OTHERS[:1]), "capi-v1beta2": set(_OTHERS)}
_GO = """#!/usr/bin/env bash
echo "$*" >>{calls}
printf '{{\\n\\t"Path": "x",\\n\\t"Error": "{error}",\\n\\t"Dir": "{module}",\\n\\t"Sum": "h1:"\\n}}\\n'
exit {code}
"""


class Machine:
    """A machine with servers that somebody else has built, an empty cache, and Go only where a test puts it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.module = folder / "module"
        for manifest in (_MANIFEST, *_OTHERS):
            (self.module / manifest).parent.mkdir(parents=True)
            (self.module / manifest).write_text("kind: CustomResourceDefinition\n")
        (self.module / "config" / "v1" / "types.go").write_text("package v1\n")
        for place in ("bin", "assets"):
            (folder / place).mkdir()
        for name in _TOOLS:
            (folder / "bin" / name).symlink_to(shutil.which(name) or pytest.fail(f"this test needs {name}"))
        for name in ("etcd", "kubectl", "kube-apiserver"):
            self._executable(folder / "assets" / name, "#!/bin/sh\n")

    def _executable(self, place: pathlib.Path, text: str) -> None:
        place.write_text(text)
        place.chmod(0o755)

    def install_go(self, code: int = 0) -> None:
        """Put a Go there that has the module already, or ends with this code because the module is another one."""
        module = self.module if code == 0 else ""
        error = r"x: 404 Not Found\\n\\tserver response: not found" if code else ""
        text = _GO.format(calls=self.folder / "calls", module=module, code=code, error=error)
        self._executable(
            self.folder / "bin" / "go", text.replace("/usr/bin/env bash", str(self.folder / "bin" / "bash"))
        )

    def calls(self) -> list[str]:
        """What Go was asked for."""
        file = self.folder / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def run(self, *arguments: str, **more: str) -> tuple[int, list[str], list[str]]:
        """Run the script: exit code, what it printed, what it complained; `more` are environment variables."""
        environment = {
            **more,
            "PATH": str(self.folder / "bin"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "KUBEBUILDER_ASSETS": str(self.folder / "assets"),
        }
        command = [str(self.folder / "bin" / "bash"), str(_SCRIPT), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60.0, check=False, env=environment)  # noqa: S603 - our own script
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("command", ["crds", "build"])
def test_without_go_one_line_says_what_to_do(machine: Machine, command: str) -> None:
    code, printed, complaint = machine.run(command)
    assert (code, printed, len(complaint)) == (1, [], 1)
    assert "install" in complaint[0], complaint
    assert "envtest build" in complaint[0], complaint
    assert not (machine.folder / "cache").exists()


def test_another_release_is_not_looked_for_in_the_assets(machine: Machine) -> None:
    assert machine.run("path")[:2] == (0, [str(machine.folder / "assets")])
    code, printed, complaint = machine.run("path", ENVTEST_KUBERNETES="1.33")
    assert (code, printed, len(complaint)) == (1, [], 1)
    assert "no etcd, kubectl, kube-apiserver in " in complaint[0]
    assert "ENVTEST_KUBERNETES=1.33" in complaint[0]
    folder = pathlib.Path(complaint[0].partition(" in ")[2].partition(";")[0])
    folder.mkdir(parents=True)
    for name in ("etcd", "kubectl", "kube-apiserver"):
        shutil.copy(machine.folder / "assets" / name, folder)
    assert machine.run("path", ENVTEST_KUBERNETES="1.33")[:2] == (0, [str(folder)])
    assert machine.run("path", ENVTEST_KUBERNETES="1.36")[0] == 1, "each release has a folder of its own"


def test_a_release_that_is_not_there_is_refused_with_those_that_are(machine: Machine) -> None:
    code, printed, complaint = machine.run("build", ENVTEST_KUBERNETES="1.20")
    assert (code, printed) == (1, [])
    assert complaint == ["envtest: ENVTEST_KUBERNETES=1.20 is not here; choose from: 1.36 1.33"]


def test_the_controllers_are_asked_for_by_name(machine: Machine) -> None:
    code, printed, complaint = machine.run("path", "kube-controller-manager")
    assert (code, printed) == (1, [])
    assert "no kube-controller-manager in KUBEBUILDER_ASSETS=" in complaint[0]
    shutil.copy(machine.folder / "assets" / "etcd", machine.folder / "assets" / "kube-controller-manager")
    assert machine.run("path", "kube-controller-manager")[:2] == (0, [str(machine.folder / "assets")])
    assert machine.run("path", "kube-scheduler")[0] == 1


def test_they_are_copied_out_of_the_module_once(machine: Machine) -> None:
    machine.install_go()
    assert machine.run("build")[0] == 0
    code, printed, complaint = machine.run("crds")
    assert (code, complaint) == (0, [])
    (folder,) = printed
    found = [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]
    assert {str(path.relative_to(folder)) for path in found} == {_MANIFEST, *_OTHERS[1:]}
    for name, files in _OF_CLUSTER_API.items():
        folder = machine.run("crds", name)[1][0]
        found = [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]
        assert {str(path.relative_to(folder)) for path in found} == files
    assert machine.run("build")[0] == 0
    asked = [call.removeprefix("mod download -json ").partition("@")[0] for call in machine.calls()]
    ours, theirs = "github.com/openshift/api", "sigs.k8s.io/cluster-api"
    assert asked == [ours, theirs, theirs, ours], "each set once"


def test_a_set_that_is_not_there_is_refused_with_those_that_are(machine: Machine) -> None:
    code, printed, complaint = machine.run("crds", "metal")
    assert (code, printed) == (1, [])
    known = "openshift capi-v1beta1 capi-v1beta2"
    assert complaint == [f'envtest: unknown set of definitions "metal"; choose from: {known}']


def test_a_module_that_go_refuses_leaves_nothing_behind(machine: Machine) -> None:
    machine.install_go(code=1)
    code, printed, complaint = machine.run("build")
    assert (code, printed) == (1, [])
    assert len(complaint) == 1
    assert complaint[0].startswith("envtest: Go could not download github.com/openshift/api v0.0.0-")
    assert complaint[0].endswith(": x: 404 Not Found")
    assert not (machine.folder / "cache").exists()
    assert machine.run("crds")[0] == 1
