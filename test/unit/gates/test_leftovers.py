"""What a test leaves behind fails that test and names it; what is closed in time, and what is shared, does not."""

import re

import pytest
from test.unit.gates import test_what_ci_refuses as gates

TESTS = """
import asyncio, os, socket, subprocess, tempfile, threading, time
import pytest
from test import leftovers

leftovers.SECONDS = 1.0
KEPT = []

def opened():
    return socket.create_server(("127.0.0.1", 0))

@pytest.fixture(scope="module")
def shared():
    with opened() as server, subprocess.Popen(["sleep", "60"]) as process:
        yield server
        process.kill()

def test_it_leaves_a_socket():
    KEPT.append(opened())

def test_it_leaves_a_thread():
    threading.Thread(target=time.sleep, args=(60,), name="sleeper", daemon=True).start()

def test_it_leaves_a_process_of_a_process_that_has_ended():
    subprocess.run(["sh", "-c", "sleep 22 >/dev/null 2>&1 &"], check=True)

def test_it_leaves_a_file():
    os.close(tempfile.mkstemp(prefix="left-")[0])

def test_it_leaves_a_cycle():
    cycle = [opened()]
    cycle.append(cycle)

async def test_it_leaves_a_task():
    KEPT.append(asyncio.create_task(asyncio.Event().wait(), name="forgotten"))

def test_innocent_of_what_others_left():
    import gc
    gc.collect()

async def test_innocent_while_its_loop_still_closes():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.close()
    server.close()
    KEPT.append(asyncio.create_task(asyncio.sleep(0.1)))

def test_innocent_and_shares():
    with leftovers.kept():
        KEPT.append(opened())

def test_innocent_of_a_wider_scope(shared):
    assert shared
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str]:
    """How all of them ended, in one process, one after the other, beside a folder that others use as well."""
    others = tmp_path_factory.mktemp("others")
    (others / "precious").touch()
    code, output = gates.run(
        tmp_path_factory.mktemp("run"), TESTS, "-W", "error", "-p", "no:xdist", "-p", "no:randomly",
        "-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function", TMPDIR=str(others),
    )  # fmt: skip
    assert (others / "precious").exists(), "what is none of a test's is not deleted"
    assert "precious" not in output
    return code, output


@pytest.mark.parametrize(
    ("test", "what"),
    [
        ("a_socket", r"descriptor \d+: socket AF_INET \('127\.0\.0\.1', \d+\)"),
        ("a_thread", r"thread sleeper"),
        ("a_process_of_a_process_that_has_ended", r"process \d+: sleep 22"),
        ("a_file", r"file \S+/left-\w+"),
        ("a_cycle", r"dropped: .*ResourceWarning.*unclosed.*socket"),
        ("a_task", r"task <Task pending name='forgotten'"),
    ],
)
def test_what_is_left_fails_the_test_that_left_it(run: tuple[int, str], test: str, what: str) -> None:
    section = re.search(rf"(?s)_ ERROR at teardown of test_it_leaves_{test} _+\n(.*?)\n(?:_{{5}}|={{5}})", run[1])
    assert section, run[1]
    assert re.search(rf"it left behind\n\s+{what}", section[1]), section[1]


def test_no_test_fails_for_another_nor_for_what_is_closed_or_shared(run: tuple[int, str]) -> None:
    code, output = run
    assert code == 1
    wrong = re.findall(r"^(?:FAILED|ERROR) \S+::test_(\w+)", output, re.MULTILINE)
    assert {test for test in wrong if not test.startswith("it_leaves")} == set(), output
    assert len({test for test in wrong if test.startswith("it_leaves")}) == 6
    assert len(re.findall(r"^PASSED \S+::test_innocent", output, re.MULTILINE)) == 4
