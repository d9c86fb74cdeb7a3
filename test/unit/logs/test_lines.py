"""What a line says, in both formats: the same facts, one line each, bounded, from the levels that were asked for."""

import datetime as dt
import json
import logging
import os
import re
from typing import Any

import pytest

from topology_controller import logs, terminal
from topology_controller.kube import errors, resource

INFRASTRUCTURES = resource.Resource("config.openshift.io", "v1", "infrastructures", "Infrastructure")
CONFLICT = errors.Conflict("patch", INFRASTRUCTURES, None, "cluster", 409, "Conflict", "the object has been modified")
HEADER = re.compile(
    r"(?P<letter>[IWE])(?P<when>\d{4} \d\d:\d\d:\d\d\.\d{6}) +(?P<process>\d+) (?P<place>[^ ]+:\d+)\] (?P<rest>.*)"
)


def record(msg: str, *args: Any, level: int = logging.INFO, error: BaseException | None = None) -> logging.LogRecord:
    trace = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord("topology_controller.reconcile", level, "/x/reconcile.py", 42, msg, args, trace)


def both(*args: Any, **options: Any) -> tuple[str, dict[str, Any]]:
    made = record(*args, **options)
    return logs.Text().format(made), json.loads(logs.Json().format(made))


def test_a_text_line_has_the_header_of_klog_in_utc() -> None:
    made = record("phase %(phase)s", {"phase": "Idle"})
    found = HEADER.fullmatch(logs.Text().format(made))
    assert found is not None
    assert (found["letter"], found["place"], found["rest"]) == ("I", "reconcile.py:42", "phase Idle")
    assert int(found["process"]) == os.getpid()
    true = dt.datetime.fromtimestamp(made.created, dt.UTC)
    said = dt.datetime.strptime(f"{true.year}{found['when']}", "%Y%m%d %H:%M:%S.%f")  # noqa: DTZ007 - klog's is UTC
    assert (said.month, said.day, said.hour, said.minute) == (true.month, true.day, true.hour, true.minute)


def test_both_formats_say_the_same_facts_and_none_twice() -> None:
    given = {"check": "EtcdHealthy", "status": "Unmet", "message": "1 of 3", "generation": 7, "ok": True}
    text, fields = both("check %(check)s is %(status)s: %(message)s", {**given, "attempt": None})
    assert text.endswith("] check EtcdHealthy is Unmet: 1 of 3 generation=7 ok=true")
    assert {name: fields[name] for name in given} == given
    assert "attempt" not in fields
    assert fields["msg"] == "check EtcdHealthy is Unmet: 1 of 3"
    assert fields["logger"] == "topology_controller.reconcile"


def test_an_error_of_the_api_brings_its_fields() -> None:
    text, fields = both("%(error)s; trying again in %(seconds).1f s", {"error": CONFLICT, "seconds": 1.23456})
    said = "cannot patch infrastructures.config.openshift.io/cluster: 409 Conflict: the object has been modified"
    assert text.endswith(f"] {said}; trying again in 1.2 s")
    assert fields["object"] == "infrastructures.config.openshift.io/cluster"
    assert (fields["verb"], fields["code"], fields["reason"]) == ("patch", 409, "Conflict")
    assert fields["seconds"] == 1.235
    assert "error" not in fields


def test_a_fact_cannot_pass_for_another_part_of_the_line() -> None:
    _, fields = both("x %(level)s", {"level": "forged", "ts": "forged", "msg": "forged", "other": float("inf")})
    assert (fields["level"], fields["msg"], fields["other"]) == ("info", "x forged", "inf")
    assert fields["ts"] != "forged"


def test_a_long_text_loses_its_end_and_a_long_trace_its_beginning() -> None:
    text, fields = both("%(message)s", {"message": "ä" * 100_000})
    assert len(text) < 4100
    assert len(fields["msg"]) == 4000
    assert len(fields["message"]) == 1000
    assert text.endswith("...")
    _, fields = both("x", error=ValueError("y" * 100_000 + " the end"))
    assert len(fields["exception"]) < 8100
    assert fields["exception"].endswith("the end")


def test_others_are_heard_from_warnings_on_whatever_is_asked(
    untouched: None, capfd: pytest.CaptureFixture[str]
) -> None:
    logs.set_up(terminal.REQUESTS, "text")
    for name in ("asyncio", "aiohttp.client", "kubernetes_asyncio.client.rest"):
        logging.getLogger(name).info("chatter")
        logging.getLogger(name).warning("trouble of %s", name)
    logging.getLogger("topology_controller.kube.transport").log(terminal.REQUESTS, "a request")
    logs.flush()
    lines = capfd.readouterr().err.splitlines()
    assert [line.partition("] ")[2] for line in lines] == [
        "trouble of asyncio", "trouble of aiohttp.client",
        "trouble of kubernetes_asyncio.client.rest", "a request",
    ]  # fmt: skip


def test_a_line_that_cannot_be_formatted_ends_nothing(untouched: None, capfd: pytest.CaptureFixture[str]) -> None:
    logs.set_up(logging.INFO, "text")
    logging.getLogger("topology_controller.x").info("%(missing)s", {"other": 1})
    logging.getLogger("topology_controller.x").info("after it")
    logs.flush()
    first, second = capfd.readouterr().err.splitlines()
    assert "cannot be formatted" in first
    assert second.endswith("] after it")


def test_why_a_command_ends_is_a_plain_line_or_a_json_line(untouched: None, capfd: pytest.CaptureFixture[str]) -> None:
    logs.complain("program", "no such file\nhttps://me:pass@proxy:3128")
    logs.set_up(logging.INFO, "json")
    logs.complain("program", "no such file")
    logs.flush()
    lines = capfd.readouterr().err.splitlines()
    assert lines[:2] == ["program: no such file", "program: https://(removed)@proxy:3128"]
    assert json.loads(lines[2])["msg"] == "no such file"
