"""`engines` builds programs with Go, once, copies definitions out of modules, and says in one line what is missing.

Go is played by a script: nothing is downloaded here, and nothing compiled.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

_FOLDER = pathlib.Path(__file__).parents[3] / "hack" / "engines"
_TOOLS = [
    "awk",
    "cat",
    "chmod",
    "cp",
    "cut",
    "dirname",
    "grep",
    "head",
    "mkdir",
    "mv",
    "nice",
    "rm",
    "sed",
    "sha256sum",
    "sleep",
    "tail",
    "wc",
]
_PROGRAMS = ["work", "placement", "config-policy-controller"]
_VERBS = ("building", "built")
_GO = """#!{bash}
echo "$1 $2" >>{folder}/calls
case "$*" in
  "list -mod=readonly -m") ;;
  *"-deps tool")
    [ -z "{refusal}" ] || {{ printf "go: downloading example.com/other v1\\n%s\\n" "{refusal}" >&2; exit 1; }} ;;
  "mod download -json "*) printf '{{\\n\\t"Dir": "{folder}/module"\\n}}\\n' ;;
  build*) while [ "$1" != -o ]; do shift; done; echo "built" >"$2"; {bin}/chmod +x "$2" ;;
  *) exit 9 ;;
esac
"""
_PYTHON = """#!{bash}
# Python, but without pip: no Go comes from PyPI.
[ "$1 $2" != "-m pip" ] || exit 1
exec {python} "$@"
"""


class Machine:
    """A machine with an empty cache and no pip, and a Go that has every module but those that a test takes away."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        for name in ("bash", *_TOOLS):
            (folder / "bin" / name).symlink_to(shutil.which(name) or pytest.fail(f"this test needs {name}"))
        self._executable("python3", _PYTHON.format(bash=folder / "bin" / "bash", python=sys.executable))
        for place in ("work/v1/works.crd.yaml", "cluster/v1/clusters.crd.yaml", "deploy/crds/policies.yaml"):
            definition = folder / "module" / place
            definition.parent.mkdir(parents=True)
            definition.write_text("kind: CustomResourceDefinition\n")

    def _executable(self, name: str, text: str) -> None:
        place = self.folder / "bin" / name
        place.write_text(text)
        place.chmod(0o755)

    def install_go(self, refusal: str = "") -> None:
        """Put a Go there; with `refusal` it cannot have a module, and says so in these words."""
        place = self.folder / "bin"
        self._executable("go", _GO.format(bash=place / "bash", folder=self.folder, bin=place, refusal=refusal))

    def builds(self) -> int:
        """How many programs Go has built."""
        return sum(call.startswith("build") for call in (self.folder / "calls").read_text().splitlines())

    def run(self, *arguments: str) -> tuple[int, list[str], list[str]]:
        """Run the script: exit code, what it printed, what it complained."""
        environment = {"PATH": str(self.folder / "bin"), "XDG_CACHE_HOME": str(self.folder / "cache")}
        command = [str(self.folder / "bin" / "bash"), str(_FOLDER / "engines"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60.0, check=False, env=environment)  # noqa: S603 - our own script
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()

    def kept(self) -> list[str]:
        """What is in the cache, but for the lock of the builds."""
        files = (path.name for path in (self.folder / "cache").rglob("*") if path.is_file())
        return sorted(name for name in files if name != "lock")


def after_the_announcement(complaint: list[str], *programs: str) -> list[str]:
    """What follows the two lines that announce a build of these programs."""
    first, length, *others = complaint
    announced = re.sub(r" v[^ ,]+", "", first)
    assert announced.startswith(f"engines: building {', '.join(programs)}, once, into "), first
    assert re.search(r"on two cores that takes about \d+ min and \d+ GB of disk", length), length
    return others


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("command", ["path", "crds", "build"])
def test_without_go_one_line_says_what_to_do(machine: Machine, command: str) -> None:
    code, printed, complaint = machine.run(command)
    if command == "build":
        complaint = after_the_announcement(complaint, *_PROGRAMS)
    assert (code, printed, len(complaint)) == (1, [], 1)
    assert 'run "make engines", or install Go >= 1.26 and run' in complaint[0], complaint
    assert machine.kept() == []


def test_what_is_built_is_found_and_not_built_again(machine: Machine) -> None:
    machine.install_go()
    code, printed, complaint = machine.run("build")
    assert code == 0, complaint
    steps = [re.sub(r" v\d.*", "", line) for line in after_the_announcement(complaint, *_PROGRAMS) if " of 3: " in line]
    assert steps == [f"engines: {n} of 3: {verb} {name}" for n, name in enumerate(_PROGRAMS, 1) for verb in _VERBS]
    definitions = ["clusters.crd.yaml", "policies.yaml", "works.crd.yaml"]
    assert machine.kept() == sorted([*_PROGRAMS, *definitions])
    assert machine.run("path") == (0, printed, [])
    assert machine.run("crds") == (0, [f"{printed[0]}/crds"], [])
    assert machine.run("build") == (0, printed, []), "nothing is built twice"
    assert machine.builds() == len(_PROGRAMS)


def test_one_program_alone_brings_no_definitions(machine: Machine) -> None:
    machine.install_go()
    code, _, complaint = machine.run("build", "work")
    assert code == 0, complaint
    assert machine.kept() == ["work"]
    code, _, complaint = machine.run("path")
    assert (code, len(complaint)) == (1, 1)
    assert "no placement, config-policy-controller in " in complaint[0]


def test_a_module_that_is_not_to_be_had_is_named_in_one_line(machine: Machine) -> None:
    machine.install_go("open-cluster-management.io/ocm@v1.2.0: reading https://proxy.example.com/x.zip: 403 Forbidden")
    code, printed, complaint = machine.run("build")
    complaint = after_the_announcement(complaint, *_PROGRAMS)
    assert (code, printed, len(complaint)) == (1, [], 1)
    assert complaint[0].startswith("engines: a module is not to be had: open-cluster-management.io/ocm@v1.2.0: reading")
    assert complaint[0].endswith("403 Forbidden; nothing was built")
    assert machine.kept() == []


def test_an_engine_that_is_not_one_is_refused_with_those_that_are(machine: Machine) -> None:
    complaint = 'engines: unknown engine "talm"; choose from: work placement config-policy-controller'
    assert machine.run("build", "talm") == (1, [], [complaint])


def test_every_module_has_its_content_in_go_sum() -> None:
    """Also the two that the checksum database does not know: their lines come from those who require them."""
    sums = (_FOLDER / "go.sum").read_text()
    for module in ("open-cluster-management.io/ocm v1.2.0 h1:", "sigs.k8s.io/about-api ", "stolostron/go-log-utils "):
        assert module in sums
    assert "replace" not in (_FOLDER / "go.mod").read_text()
