"""`plan --manifests`: which manifest of a folder speaks for the cluster, and what would come of it."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import pathlib
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from topology_api.vocabulary import Phase
from topology_controller.plugin import judging, manifest, manifest_files, plan

from ..core import worlds
from . import replies
from .test_answers_and_their_schemas import conforms

if TYPE_CHECKING:
    from topology_controller.observe import facts

ONE = """\
apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata:
  name: cluster
spec:
  desiredTopology: HighlyAvailable
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {kind: nothing}\n"
WISHLESS = ONE.replace("  desiredTopology: HighlyAvailable\n", "  cloudConfig: {name: ''}\n")


def _tree(folder: pathlib.Path, **files: str) -> pathlib.Path:
    """Files by name; two underscores stand for a slash, the last one for the dot."""
    for name, text in files.items():
        stem, _, suffix = name.replace("__", "/").rpartition("_")
        place = folder / f"{stem}.{suffix}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return folder


def _refused(folder: pathlib.Path) -> list[str]:
    with pytest.raises(manifest.ManifestError) as raised:
        manifest.wanted(folder)
    return [line.removeprefix(f"{folder}/").removeprefix(f"{folder}: ") for line in str(raised.value).splitlines()]


def _asked(known: facts.Facts, wanted: manifest.Wanted) -> tuple[dict[str, Any], int]:
    found, verdict = plan.manifest(replies.seen(known), worlds.TRANSITIONS, wanted)
    answer = replies.through_json(found)
    conforms(answer)
    for width in (0, 80):
        assert replies.printed(answer, width)
    return answer, verdict.exit_code


# What is found


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("infrastructure_yaml", ONE, 6),
        ("infrastructure_yml", ONE, 6),
        ("deep__er__infrastructure_yaml", f"---\n{CONFIG_MAP}---\n{ONE}---\n{CONFIG_MAP}", 12),
        ("windows_yaml", f"{CONFIG_MAP}---\n{ONE}".replace("\n", "\r\n"), 11),
        ("marked_yaml", "\ufeff" + ONE, 6),
        ("quoted_yaml", ONE.replace("Infrastructure", '"Infrastructure"').replace("Highly", "'Highly").replace(
            "Available\n", "Available'\n"), 6),
        ("anchored_yaml", ONE.replace("name: cluster", "name: cluster\n  labels: {a: &t HighlyAvailable}").replace(
            "desiredTopology: HighlyAvailable", "desiredTopology: *t"), 5),
        ("one_json", json.dumps(yaml.safe_load(ONE), indent=2), 1),
        ("tabs_json", json.dumps(yaml.safe_load(ONE), indent="\t"), 1),
        ("json_yaml", json.dumps(yaml.safe_load(ONE), indent="\t"), 1),
        ("two_json", f'{{"kind": "ConfigMap"}}\n{json.dumps(yaml.safe_load(ONE))}', 2),
        ("list_yaml", yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [
            yaml.safe_load(CONFIG_MAP), yaml.safe_load(ONE)]}), 14),
        ("own-list_json", json.dumps({"apiVersion": "config.openshift.io/v1", "kind": "InfrastructureList",
                                      "items": [yaml.safe_load(ONE)]}), 1),
        ("after-a-template_yaml", f"{{{{ if .Values.x }}}}\nkind: ConfigMap\n{{{{ end }}}}\n---\n{ONE}", 10),
        ("empty-status_yaml", f"{ONE}status: {{}}\n", 6),
    ],
)  # fmt: skip
def test_the_manifest_is_found_however_it_is_written(tmp_path: pathlib.Path, name: str, text: str, line: int) -> None:
    found = manifest.wanted(_tree(tmp_path, other_yaml=CONFIG_MAP, readme_md="kind: Infrastructure", **{name: text}))
    assert (found.wish, [one.line for one in found.manifests], found.skipped) == ("HighlyAvailable", [line], ())


def test_the_same_in_several_files_is_one_wish(tmp_path: pathlib.Path) -> None:
    found = manifest.wanted(_tree(tmp_path, b_yaml=ONE, a__c_yaml=f"# again\n{ONE}"))
    assert found.wish == "HighlyAvailable"
    assert [(one.place.name, one.line) for one in found.manifests] == [("c.yaml", 7), ("b.yaml", 6)]


def test_a_file_and_standard_input_can_stand_for_the_folder(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tree(tmp_path, one_yaml=ONE)
    assert manifest.wanted(tmp_path / "one.yaml").wish == "HighlyAvailable"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{CONFIG_MAP}---\n{ONE}".encode())))
    found = manifest.wanted(pathlib.Path("-"))
    assert (found.wish, str(found.manifests[0].place), found.manifests[0].line) == (
        "HighlyAvailable", "standard input", 11,
    )  # fmt: skip


def test_other_objects_are_named_when_they_could_have_been_meant(tmp_path: pathlib.Path) -> None:
    _tree(
        tmp_path,
        misspelt_yaml=ONE.replace("name: cluster", "name: clsuter"),
        old_yaml=ONE.replace("/v1", "/v1alpha1"),
        machines_yaml=ONE.replace("config.openshift.io", "infrastructure.cluster.x-k8s.io"),
    )
    (line,) = _refused(tmp_path)
    assert line.startswith("no manifest of Infrastructure cluster (config.openshift.io/v1) in 3 files")
    assert "misspelt.yaml:1 is an Infrastructure named 'clsuter', not cluster" in line
    assert "old.yaml:1 has apiVersion 'config.openshift.io/v1alpha1', not config.openshift.io/v1" in line
    assert "machines.yaml" not in line


# What is refused


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        (ONE.replace("HighlyAvailable", "HighAvailable"), 6, "unknown target 'HighAvailable'; did you mean HighlyAv"),
        (ONE.replace("HighlyAvailable", "External"), 6, "a hosted control plane is made on the management cluster"),
        (ONE.replace("HighlyAvailable", "3"), 6, "'3', which reads as int; wanted one of SingleReplica"),
        (ONE.replace("HighlyAvailable", "[HighlyAvailable]"), 6, "spec.desiredTopology is a list"),
        (ONE.replace("HighlyAvailable", '""'), 6, "unknown target ''"),
        (ONE.replace("HighlyAvailable", "{{ .Values.topology }}"), 6, "a template that has not been rendered"),
        (ONE.replace("desiredTopology: HighlyAvailable", "{{ .Values.topology }}"), 6, "spec: a key is a mapping, or"),
        (ONE.replace("HighlyAvailable", "!mine x"), 6, "spec.desiredTopology is 'x', which reads as !mine"),
        (ONE + "  desiredTopology: SingleReplica\n", 7, "spec: the key 'desiredTopology' stands here twice"),
        (ONE + "spec: {}\n", 7, "the key 'spec' stands here twice"),
        (ONE.replace("name: cluster", "name: cluster\n  name: other"), 5, "metadata: the key 'name' stands here twice"),
        (ONE + "  <<: {a: b}\n", 7, "spec: a merge key is not read here: write it out"),
        (ONE + "status: {controlPlaneTopology: HighlyAvailable}\n", 7, "sets status, which an apply does not write"),
        (ONE.replace("spec:\n  desiredTopology: ", "spec: "), 5, "spec is 'HighlyAvailable'; wanted a mapping"),
        (ONE + "  a: 'b\n", 8, "is not YAML: found unexpected end of stream. If it is a template, render it first"),
        (ONE + "\tb: c\n", 7, "is not YAML: found character '\\t' that cannot start any token"),
        (ONE + "x: " + "[\n" * 5000, 1, "is not YAML: nested too deeply"),
        (ONE + "# " + "x" * manifest_files.LARGEST_DOCUMENT, 1, "this document is larger than 1048576 bytes"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: pathlib.Path, text: str, line: int, told: str) -> None:
    above = f"{CONFIG_MAP}---\n"
    _tree(tmp_path, a__infrastructure_yaml=above + text, fine_yaml=ONE)
    (found,) = _refused(tmp_path)
    # A document that cannot be placed more exactly is named by its first line, the mark.
    shift = len(CONFIG_MAP.splitlines()) + (1 if line > 1 else 0)
    assert found.startswith(f"a/infrastructure.yaml:{line + shift}: "), found
    assert told in found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"kind": "Infrastructure",\n "spec": {,}}', "one.json:2: is not JSON: Expecting property name"),
        ('{"kind": "Infrastructure", "a": ' + "[" * 100_000, "one.json:1: is not JSON: nested too deeply"),
        (
            '{"kind": "Infrastructure", "a": ' + "1" * 10_000 + "}",
            "one.json:1: is not JSON: nested too deeply, or a n",
        ),
        (
            json.dumps(yaml.safe_load(ONE)).replace('"spec"', '"spec": {}, "spec"'),
            "one.json:1: the key 'spec' stands here twice",
        ),
    ],
)
def test_what_is_wrong_in_json_is_told_too(tmp_path: pathlib.Path, text: str, told: str) -> None:
    _tree(tmp_path, one_json=text)
    (found,) = _refused(tmp_path)
    assert found.startswith(told)


def test_everything_that_is_wrong_is_told_at_once(tmp_path: pathlib.Path) -> None:
    both = ONE.replace("HighlyAvailable", "Mine") + "status: {a: b}\n"
    assert [line.partition(": ")[0] for line in _refused(_tree(tmp_path, a_yaml=both, b_yaml=ONE + "- x\n"))] == [
        "a.yaml:6", "a.yaml:7", "b.yaml:7",
    ]  # fmt: skip


def test_manifests_that_differ_are_each_named(tmp_path: pathlib.Path) -> None:
    _tree(
        tmp_path,
        base_yaml=WISHLESS,
        one__cluster_yaml=ONE,
        two__cluster_yaml=ONE.replace("HighlyAvailable", "DualReplica"),
    )
    assert _refused(tmp_path) == [
        "the manifests of Infrastructure cluster differ: name the folder of one cluster, or render it and give it as -",
        "base.yaml:1: this one has no spec.desiredTopology",
        "one/cluster.yaml:6: this one asks for HighlyAvailable",
        "two/cluster.yaml:6: this one asks for DualReplica",
    ]


def test_a_folder_without_any_manifest_says_how_many_files_were_looked_at(tmp_path: pathlib.Path) -> None:
    _tree(tmp_path, a_yaml=CONFIG_MAP, b__c_json="{}", d_txt=ONE)
    (tmp_path / ".hidden.yaml").write_text(ONE)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "a.yaml").write_text(ONE)
    (line,) = _refused(tmp_path)
    assert line == "no manifest of Infrastructure cluster (config.openshift.io/v1) in 2 files of YAML or JSON"


# What a folder may hold besides


def test_links_are_followed_inside_of_the_folder_only_and_never_in_circles(tmp_path: pathlib.Path) -> None:
    outside = _tree(tmp_path / "outside", infrastructure_yaml=ONE.replace("HighlyAvailable", "DualReplica"))
    folder = _tree(tmp_path / "repository", real__infrastructure_yaml=ONE)
    (folder / "again").symlink_to("real")
    (folder / "real" / "up").symlink_to("..")
    (folder / "same.yaml").symlink_to("real/infrastructure.yaml")
    (folder / "out").symlink_to(outside)
    (folder / "out.yaml").symlink_to(outside / "infrastructure.yaml")
    (folder / "nowhere.yaml").symlink_to("gone.yaml")
    (folder / "circle.yaml").symlink_to("circle.yaml")
    found = manifest.wanted(folder)
    assert (found.wish, len(found.manifests)) == ("HighlyAvailable", 1)
    assert {pathlib.Path(one.file).name: one.why for one in found.skipped} == {
        "out": "is a link that leads out of the folder",
        "out.yaml": "is a link that leads out of the folder",
        "nowhere.yaml": "is a link that leads nowhere",
        "circle.yaml": "is a link that leads nowhere",
    }
    (tmp_path / "link").symlink_to(folder)
    assert manifest.wanted(tmp_path / "link").wish == "HighlyAvailable"


def test_what_is_no_plain_file_is_not_opened(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    assert manifest.wanted(_tree(tmp_path, one_yaml=ONE)).wish == "HighlyAvailable"


def test_a_large_file_matters_only_when_it_could_hold_the_manifest(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest_files, "LARGEST_FILE", 1000)
    filler = "# 3456789\n" * 200
    _tree(tmp_path, one_yaml=ONE, bundle_yaml=filler)
    assert manifest.wanted(tmp_path).wish == "HighlyAvailable"
    for cut in range(0, 60, 7):
        # Wherever the words fall on the seam of two pieces that are read.
        (tmp_path / "bundle.yaml").write_text(filler[: 1000 - cut] + "\nkind: Infrastructure\n" + filler)
        (line,) = _refused(tmp_path)
        assert line == "bundle.yaml: is larger than 1000 bytes, and there is an Infrastructure in it"


@pytest.mark.parametrize(("bound", "told"), [("MOST_ENTRIES", "5 files"), ("DEEPEST", "5 folders in each other")])
def test_a_folder_that_has_no_end_is_refused(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, bound: str, told: str
) -> None:
    monkeypatch.setattr(manifest_files, bound, 5)
    _tree(tmp_path, a__b__c__d__e__f__g__h_yaml=ONE)
    (line,) = _refused(tmp_path)
    assert f"there are more than {told}: name the folder of one cluster" in line


def test_aliases_upon_aliases_cost_nothing(tmp_path: pathlib.Path) -> None:
    bomb = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" if n else "a0: &a0 [x]\n" for n in range(40))
    items = "items: &i [{apiVersion: v1, kind: List, items: *a39}]\n"
    text = f"apiVersion: v1\nkind: List\n{bomb}{items}---\n{ONE}"
    assert manifest.wanted(_tree(tmp_path, one_yaml=text)).wish == "HighlyAvailable"


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_file_can_end_the_program(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    folder = tmp_path_factory.getbasetemp() / "any-manifest"
    folder.mkdir(exist_ok=True)
    for name in ("one.yaml", "one.json"):
        (folder / name).write_bytes(b"kind: Infrastructure\napiVersion: config.openshift.io/v1\n" + raw)
    try:
        manifest.wanted(folder)
    except manifest.ManifestError as error:
        told = error.problems
    else:
        return
    assert told
    assert all(one.text for one in told)


# What would come of it


def _wanted(wish: str | None) -> manifest.Wanted:
    place = pathlib.Path("clusters/edge/infrastructure.yaml")
    return manifest.Wanted("clusters/edge", (manifest.Manifest(place, 6, wish),))


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("wish", ["HighlyAvailable", "DualReplica"])
def test_a_manifest_with_a_wish_is_judged_as_plan_judges_that_target(phase: Phase, wish: str) -> None:
    known = replies.in_phase(phase)
    found, code = _asked(known, _wanted(wish))
    said = found.pop("manifest")
    assert found == replies.planned(known, wish)
    assert said["files"] == [{"file": "clusters/edge/infrastructure.yaml", "line": 6}]
    assert said["desiredTopology"] == wish
    assert code == judging.Verdict(found["verdict"]).exit_code


@pytest.mark.parametrize(
    ("phase", "verdict", "code", "told"),
    [
        (Phase.IDLE, "Fulfilled", 0, "The manifest wishes for nothing, and nothing is wanted"),
        (Phase.UNSUPPORTED, "Possible", 0, "DualReplica is wanted: to prune that field"),
        (Phase.PENDING, "Possible", 0, "would withdraw the wish"),
        (Phase.ADMITTING, "Possible", 0, "would withdraw the wish"),
        (Phase.CONVERGING, "Blocked", 3, "is refused until the cluster has followed to Highly"),
        (Phase.COMPLETED, "Possible", 0, "would remove a wish that is fulfilled; the topology stays"),
    ],
)  # fmt: skip
def test_a_manifest_without_a_wish_takes_the_wish_back_where_that_is_possible(
    phase: Phase, verdict: str, code: int, told: str
) -> None:
    known = replies.in_phase(phase)
    found, ended = _asked(known, _wanted(None))
    assert (found["verdict"], ended, found["target"], found["checks"], found["command"]) == (
        verdict,
        code,
        "",
        [],
        None,
    )
    assert told in found["message"]
    assert "clusters/edge/infrastructure.yaml:6 has no spec.desiredTopology" in replies.printed(found)


def test_a_record_that_was_lost_still_forbids_to_take_the_wish_back() -> None:
    known = worlds.moved(worlds.healthy(), worlds.converging())
    lost = worlds.with_infrastructure(known, record=None, raw_record=None)
    copy = worlds.copy_of(worlds.converging())
    found, code = _asked(dataclasses.replace(lost, own_operator=copy), _wanted(None))
    assert (found["verdict"], code) == ("Blocked", 3)


def test_a_hosted_cluster_takes_no_wish_but_a_manifest_without_one() -> None:
    known = worlds.with_infrastructure(worlds.healthy(), control_plane="External", desired=None)
    assert _asked(known, _wanted("HighlyAvailable"))[1] == 4
    assert _asked(known, _wanted(None))[1] == 0
