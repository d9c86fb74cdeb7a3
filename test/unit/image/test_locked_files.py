"""The locked files leave nothing open, licences are allowed, known vulnerabilities are found, and the list is true."""

from __future__ import annotations

import json
import pathlib
import tomllib
from importlib import metadata

import pytest
from packaging import markers, utils

from topology_image import ImageError, bom, locks
from topology_image import __main__ as command

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", locks.FILES)
def test_a_locked_file_leaves_nothing_open(name):
    assert locks.read(ROOT / name)


def test_what_is_installed_is_what_is_locked():
    locked = locks.read(ROOT / "requirements-dev.lock")
    wanted = {
        one.name: one.version for one in locked.values() if not one.marker or markers.Marker(one.marker).evaluate()
    }
    installed = {str(utils.canonicalize_name(one.metadata["Name"])): one.version for one in metadata.distributions()}
    assert {name: installed.get(name) for name in wanted} == wanted


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-build.lock"])
def test_what_is_shipped_is_what_the_tests_ran_with(name):
    developed = locks.read(ROOT / "requirements-dev.lock")
    for one in locks.read(ROOT / name).values():
        assert one == developed[one.name]


LOCKED = locks.read(ROOT / "requirements.lock")
PAGE = (ROOT / "docs" / "development" / "image.md").read_text()


@pytest.mark.parametrize("name", LOCKED)
def test_a_package_is_under_licences_that_are_allowed(name):
    assert locks.refused(locks.licence(name).expression) == []


def test_the_operator_alone_is_the_project_without_its_tools():
    places = (ROOT / "pyproject.toml", ROOT / "controller" / "pyproject.toml")
    whole, alone = (tomllib.loads(place.read_text()) for place in places)
    del whole["project"]["optional-dependencies"], whole["project"]["scripts"], alone["project"]["scripts"]
    assert alone["project"] == whole["project"]
    assert alone["build-system"] == whole["build-system"]
    assert alone["tool"]["hatch"]["version"] == whole["tool"]["hatch"]["version"]


def test_the_page_lists_them_as_they_are():
    assert locks.table(LOCKED.values()) in PAGE, (
        "docs/development/image.md: put in what `python -m topology_image licences` prints"
    )


@pytest.mark.parametrize(
    ("expression", "refused"),
    [
        ("MIT AND Apache-2.0", []),
        ("GPL-3.0-only", ["GPL-3.0-only"]),
        ("GPL-3.0-only OR MIT", []),
        ("MIT AND (GPL-2.0-only OR AGPL-3.0-only)", ["GPL-2.0-only", "AGPL-3.0-only"]),
        ("Apache-2.0 WITH LLVM-exception", ["Apache-2.0 WITH LLVM-exception"]),
    ],
)
def test_what_nobody_agreed_to_is_refused(expression, refused):
    assert locks.refused(expression) == refused


# -- the audit


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
    assert locks.affects(made, "yarl", asked) is wanted
    assert not locks.affects(made, "another", asked)


# -- the list of what is in the layer

DIGESTS = {"one": "1" * 64, "two-more": "2" * 64}
TWO = {name: locks.Locked(name, "1.0", "", frozenset({digest, "f" * 64})) for name, digest in DIGESTS.items()}


FOUND = {
    "metadata": {"component": {"name": "cluster-topology-operator", "version": "0"}},
    "components": [{"name": name, "version": "1.0", "bom-ref": f"{name}==1.0"} for name in ("one", "two_more")],
}
"""What is found in an environment of two packages, as far as it is looked at."""


def completed(**differently):
    said = {"version": "0.1.0+gabc", "wheel": "3" * 64, "installed": DIGESTS, "locked": TWO} | differently
    return bom.completed(FOUND, **said)


def test_what_was_installed_has_its_hash_and_the_whole_its_version():
    made = completed()
    root = made["metadata"]["component"]
    assert (root["version"], root["hashes"]) == ("0.1.0+gabc", [{"alg": "SHA-256", "content": "3" * 64}])
    assert [one["hashes"][0]["content"] for one in made["components"]] == list(DIGESTS.values())


@pytest.mark.parametrize(
    ("differently", "complaint"),
    [
        ({"locked": {"one": TWO["one"]}}, "two_more is in the layer and in no locked file"),
        ({"installed": {"one": "1" * 64}}, "two-more 1.0 with hash None is not what is locked"),
        ({"installed": DIGESTS | {"one": "9" * 64}}, "one 1.0 with hash 9+ is not what is locked"),
        (
            {"locked": TWO | {"one": locks.Locked("one", "1.1", "", frozenset({"1" * 64}))}},
            "is not what is locked: 1.1",
        ),
        ({"installed": DIGESTS | {"three": "4" * 64}}, r"installed, and not in the list: \['three'\]"),
    ],
)
def test_a_list_that_would_not_be_true_is_refused(differently, complaint):
    with pytest.raises(ImageError, match=complaint):
        completed(**differently)
