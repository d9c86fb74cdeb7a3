"""A known vulnerability of a locked version is found in a folder of records; one that knows nothing is refused."""

from __future__ import annotations

import json

import pytest

from topology_image import __main__ as command
from topology_image import audit, locks


def record(folder, name, events=(), versions=(), file="PYSEC-2026-1.json"):
    affected = {"package": {"name": name, "ecosystem": "PyPI"}, "versions": list(versions)}
    if events:
        affected["ranges"] = [{"type": "ECOSYSTEM", "events": list(events)}]
    made = {"id": "PYSEC-2026-1", "summary": "made up", "published": "2026-01-01T00:00:00Z", "affected": [affected]}
    (folder / file).write_text(json.dumps(made))
    return made


def locked(folder, line="yarl==1.25.1"):
    place = folder / "x.lock"
    place.write_text(f"{line} \\\n    --hash=sha256:{'a' * 64}\n")
    return place


def test_without_a_source_it_prints_that_in_one_line_and_ends_in_a_way_of_its_own(monkeypatch, capsys):
    """CI goes on then, and fails for whatever is found."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    assert command.main(["audit"]) == 3
    printed = capsys.readouterr()
    [line] = (printed.out + printed.err).splitlines()
    assert line.startswith("topology_image: not audited, no advisory source is at hand: ")
    assert "ADVISORIES=FOLDER" in line


def test_what_is_found_is_named_and_what_cannot_be_read_fails(monkeypatch, capsys, tmp_path):
    record(tmp_path, "Yarl", [{"introduced": "0"}, {"fixed": "1.25.2"}])
    monkeypatch.setattr(locks, "FILES", [str(locked(tmp_path))])
    assert command.main(["audit", "--advisories", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "yarl" in said
    assert "PYSEC-2026-1" in said
    (tmp_path / "broken.json").write_text("{")
    assert command.main(["audit", "--advisories", str(tmp_path)]) == 1
    assert "broken.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("events", "versions", "asked", "wanted"),
    [
        ([{"introduced": "1.0"}, {"fixed": "1.2"}], [], "1.1", True),
        ([{"introduced": "1.0"}, {"fixed": "1.2"}], [], "1.2", False),
        ([{"introduced": "1.0"}, {"fixed": "1.2"}], [], "0.9", False),
        ([{"introduced": "1.0"}, {"last_affected": "1.2"}], [], "1.2", True),
        ([{"fixed": "1.2"}, {"introduced": "2.0"}, {"introduced": "1.0"}, {"fixed": "2.1"}], [], "2.0.5", True),
        ([], ["1.0", "1.1"], "1.1.0", True),
        ([], ["1.0", "not a version"], "1.1", False),
    ],
)
def test_a_version_is_affected_by_the_rule_of_the_format(tmp_path, events, versions, asked, wanted):
    made = record(tmp_path, "yarl", events, versions)
    assert audit.affects(made, "yarl", asked) is wanted
    assert not audit.affects(made, "another", asked)
