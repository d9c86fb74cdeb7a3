"""What a run of the tests does with seeds, skips and what a test leaves behind; what `make help` lists."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from test import exploring, leftovers

ROOT = pathlib.Path(__file__).parents[3]
FINDS = """
from hypothesis import given
from hypothesis import strategies as st

@given(st.integers())
def test_finds(number):
    assert number < 1000
"""


def run(folder, text, *arguments, **environment):
    """Run the tests of a text as CI or a person would; returns exit code and output."""
    file = folder / "test_it.py"
    file.write_text(text)
    known = {name: value for name, value in os.environ.items() if name not in {"CI", exploring.VARIABLE}}
    command = [sys.executable, "-m", "pytest", "-p", "test.sessions", "-p", "no:cacheprovider", "-rA"]
    command += ["-c", os.devnull, "--rootdir", str(folder), "--basetemp", str(folder / "temporary"), *arguments]
    done = subprocess.run(  # noqa: S603 - pytest, on a file of ours
        [*command, *(() if folder in arguments else (file,))],
        cwd=ROOT, env={**known, **environment}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


SKIPS = {
    "test_in_a_test": "import pytest\ndef test_a():\n    pytest.skip('no kubectl')\n",
    "test_by_a_mark": "import pytest\n@pytest.mark.skipif(True, reason='no openssl')\ndef test_a():\n    pass\n",
    "test_by_a_fixture": (
        "import pytest\n@pytest.fixture\ndef there():\n    pytest.skip('no etcd')\ndef test_a(there):\n    pass\n"
    ),
    "test_of_a_module": "import pytest\npytest.skip('no promtool', allow_module_level=True)\n",
    "test_elsewhere": (
        "import pytest\nfrom test import skips\ndef test_a():\n    pytest.skip(f'{skips.ELSEWHERE}no memfd')\n"
    ),
}
REASONS = {"no kubectl", "no openssl", "no etcd", "no promtool"}


@pytest.mark.parametrize(
    ("environment", "further"),
    [({"FUZZ_SEED": "7"}, ("-n", "1")), ({"FUZZ_SEED": "7", "CI": "true"}, ())],
    ids=["xdist", "alone in CI"],
)
def test_a_skip_fails_with_its_reason_a_finding_with_its_command(tmp_path, environment, further):
    """What only another system can run may be skipped, but not in CI."""
    for name, text in SKIPS.items():
        (tmp_path / f"{name}.py").write_text(text)
    code, output = run(tmp_path, FINDS, "--continue-on-collection-errors", tmp_path, *further, **environment)
    assert code == 1
    refused = set(re.findall(r"skipped, which is a failure: (no[\w :]+)", output))
    assert refused == REASONS | ({"not on this system: no memfd"} if "CI" in environment else set())
    if further:
        return
    assert "test_finds(\n    number=1000,\n)" in output.replace("E   ", "").replace("E       ", "")
    assert "FUZZ_SEED=7 python -m pytest test_it.py::test_finds" in output
    assert "@example(...)" in output


LEAVING = """
import asyncio, os, socket, subprocess, tempfile, threading, time
import pytest
from test import leftovers

leftovers.SECONDS = 1.0
KEPT = []

def opened():
    return socket.create_server(("127.0.0.1", 0))

@pytest.fixture(scope="module")
def shared():
    with opened() as server:
        yield server

def test_it_leaves_a_socket():
    KEPT.append(opened())

def test_it_leaves_a_thread():
    threading.Thread(target=time.sleep, args=(60,), name="sleeper", daemon=True).start()

def test_it_leaves_a_process():
    subprocess.run(["sh", "-c", "sleep 22 >/dev/null 2>&1 &"], check=True)

def test_it_leaves_a_file():
    os.close(tempfile.mkstemp(prefix="left-")[0])

def test_it_leaves_a_cycle():
    cycle = [opened()]
    cycle.append(cycle)

async def test_it_leaves_a_task():
    KEPT.append(asyncio.create_task(asyncio.Event().wait(), name="forgotten"))

async def test_innocent_while_its_loop_still_closes():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.close()
    server.close()

def test_innocent_and_shares(shared):
    with leftovers.kept():
        KEPT.append(opened())
"""
LEFT = {
    "a_socket": r"descriptor \d+: socket AF_INET \('127\.0\.0\.1', \d+\)",
    "a_thread": r"thread sleeper",
    "a_process": r"process \d+: sleep 22",
    "a_file": r"file \S+/left-\w+",
    "a_cycle": r"dropped: .*ResourceWarning.*unclosed.*socket",
    "a_task": r"task <Task pending name='forgotten'",
}


def test_what_a_test_leaves_behind_fails_that_test_and_no_other(tmp_path):
    """Also beside a folder that others use as well; what is none of a test's is not deleted."""
    others = tmp_path / "others"
    others.mkdir()
    (others / "precious").touch()
    with leftovers.kept():
        code, output = run(
            tmp_path, LEAVING, "-W", "error", "-p", "no:xdist", "-p", "no:randomly",
            "-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function", TMPDIR=str(others),
        )  # fmt: skip
    assert code == 1
    assert (others / "precious").exists()
    assert "precious" not in output
    for test, what in LEFT.items():
        section = re.search(rf"(?s)_ ERROR at teardown of test_it_leaves_{test} _+\n(.*?)\n(?:_{{5}}|={{5}})", output)
        assert section, output
        assert re.search(rf"it left behind\n\s+{what}", section[1]), section[1]
    wrong = set(re.findall(r"^(?:FAILED|ERROR) \S+::test_(\w+)", output, re.MULTILINE))
    assert wrong == {f"it_leaves_{test}" for test in LEFT}, output


GROUPS = ["To try it", "To work on it", "To judge it", "To build and release"]


def test_help_lists_every_target_once_in_a_group():
    # It may run below another make, which would have this one say where it is.
    command = ["make", "--no-print-directory", "help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603 - the make of this machine
    lines = done.stdout.splitlines()
    assert [line for line in lines if line and not line.startswith("  ")] == GROUPS
    phony = re.search(r"(?m)^\.PHONY: (.*)$", (ROOT / "Makefile").read_text())
    assert phony
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    assert sorted(listed) == sorted(phony[1].split())
    assert listed[0] == "demo", "the first of README's two commands comes first"


def test_an_environment_that_has_no_pip_is_made_again(tmp_path):
    """Debian leaves such a one without python3-venv, and an interrupt may."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to("/bin/true")
    command = ["make", "venv", "PYTHON=echo", f"VENV={tmp_path}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603 - the same
    assert f"-m venv {tmp_path}\n" in done.stdout


def test_every_test_that_the_makefile_names_is_there():
    named = re.findall(r"(test/\S+\.py)::(test_\w+)", (ROOT / "Makefile").read_text())
    assert named
    gone = [f"{file}::{name}" for file, name in named if f"def {name}(" not in (ROOT / file).read_text()]
    assert gone == [], "`make quick` would run nothing"
