"""What a run of the tests does with seeds, skips and options: a pytest of its own, with our plugins."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest
from test import exploring

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
