"""`plan -f`: which manifest of a file speaks for the cluster, and what would come of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from topology_api.vocabulary import Phase
from topology_controller.plugin import manifest, simulate
from topology_controller.plugin.commands import plan

from ..core import worlds
from . import replies
from .test_answers_and_their_schemas import conforms

if TYPE_CHECKING:
    import pathlib

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
WITHOUT_REQUEST = ONE.replace("  desiredTopology: HighlyAvailable\n", "  cloudConfig: {name: ''}\n")


def _file(folder: pathlib.Path, text: str | bytes) -> str:
    place = folder / "infrastructure.yaml"
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(place)


def _refused(source: str) -> list[str]:
    with pytest.raises(manifest.ManifestError) as raised:
        manifest.wanted(source)
    assert "\n".join(raised.value.problems) == str(raised.value)
    return [problem.removeprefix(f"{source}:").strip() for problem in raised.value.problems]


def _asked(known: facts.Facts, wanted: manifest.Wanted) -> tuple[dict[str, Any], int]:
    found, judgement = plan.manifest(replies.seen(known), worlds.TRANSITIONS, wanted)
    answer = replies.through_json(found)
    conforms(answer)
    assert replies.printed(answer, 80)
    return answer, judgement.verdict.exit_code


# What is found


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (ONE, 6),
        (f"---\n{CONFIG_MAP}---\n{ONE}---\n{CONFIG_MAP}", 12),
        (f"{CONFIG_MAP}---\n{ONE}".replace("\n", "\r\n"), 11),
        ("\ufeff" + ONE, 6),
        (ONE.replace("name: cluster", "name: cluster\n  labels: {a: &t HighlyAvailable}").replace(
            "desiredTopology: HighlyAvailable", "desiredTopology: *t"), 5),
        (json.dumps(yaml.safe_load(ONE)), 1),
        (f'{{"kind": "ConfigMap"}} {json.dumps(yaml.safe_load(ONE))}\n---\n{CONFIG_MAP}', 1),
        (yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [
            yaml.safe_load(CONFIG_MAP), yaml.safe_load(ONE)]}), 14),
        (json.dumps({"apiVersion": "config.openshift.io/v1", "kind": "InfrastructureList",
                     "items": [yaml.safe_load(ONE)]}), 1),
        (f"{{{{ if .Values.x }}}}\nkind: ConfigMap\n{{{{ end }}}}\n---\n{ONE}", 10),
    ],
)  # fmt: skip
def test_the_manifest_is_found_however_it_is_written(tmp_path: pathlib.Path, text: str, line: int) -> None:
    found = manifest.wanted(_file(tmp_path, text))
    assert (found.desired, found.lines, found.skipped) == ("HighlyAvailable", (line,), ())


def test_other_objects_are_named_when_they_could_have_been_meant(tmp_path: pathlib.Path) -> None:
    misspelt = ONE.replace("name: cluster", "name: clsuter")
    source = _file(tmp_path, f"{misspelt}---\n{ONE.replace('/v1', '/v1alpha1')}")
    (line,) = _refused(source)
    assert f"{source}:1 is an Infrastructure named 'clsuter', not cluster" in line
    assert f"{source}:8 has apiVersion 'config.openshift.io/v1alpha1'" in line
    found = manifest.wanted(_file(tmp_path, f"{misspelt}---\n{ONE}"))
    assert [skipped["file"] for skipped in found.answer()["skipped"]] == [f"{source}:1"]


# What is refused


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        (ONE.replace("HighlyAvailable", "HighAvailable"), 6, "unknown target 'HighAvailable'; did you mean HighlyAv"),
        (ONE.replace("HighlyAvailable", "External"), 6, "a hosted control plane is created on the management cluster"),
        (ONE.replace("HighlyAvailable", "3"), 6, "'3', which reads as int; wanted one of SingleReplica"),
        (ONE.replace("HighlyAvailable", "{{ .Values.topology }}"), 6, "a template that has not been rendered"),
        (ONE.replace("desiredTopology: HighlyAvailable", "{{ .Values.topology }}"), 6, "spec: a key is a mapping, or"),
        (ONE + "  desiredTopology: SingleReplica\n", 7, "spec: the key 'desiredTopology' stands here twice"),
        (ONE + "  <<: {a: b}\n", 7, "spec: a key is '<<', which reads as merge; wanted a text"),
        (ONE + "status: {controlPlaneTopology: HighlyAvailable}\n", 7, "sets status, which an apply does not write"),
        (ONE.replace("spec:\n  desiredTopology: ", "spec: "), 5, "spec is 'HighlyAvailable'; wanted a mapping"),
        (
            ONE + "  a: 'b\n",
            8,
            "cannot be parsed: found unexpected end of stream. If it is a template, render it first",
        ),
        (ONE + "x: " + "[\n" * 5000, 1, "cannot be parsed: nested too deeply"),
        (ONE + "# " + "x" * manifest.LARGEST_DOCUMENT, 1, "this document is larger than 1048576 characters"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: pathlib.Path, text: str, line: int, told: str) -> None:
    above = f"{CONFIG_MAP}---\n"
    (found,) = _refused(_file(tmp_path, f"{above}{text}---\n{ONE}" if "[\n" not in text else above + text))
    # A document that cannot be placed more exactly is named by its first line, the mark.
    shift = len(CONFIG_MAP.splitlines()) + (1 if line > 1 else 0)
    assert found.startswith(f"{line + shift}: "), found
    assert told in found


def test_manifests_that_differ_are_each_named(tmp_path: pathlib.Path) -> None:
    problems = _refused(_file(tmp_path, f"{WITHOUT_REQUEST}---\n{ONE}"))
    assert problems[1:] == ["1: this one has no spec.desiredTopology", "13: this one asks for HighlyAvailable"]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "no manifest of Infrastructure cluster (config.openshift.io/v1)"),
        (b"a: b\nc: \xff\n", "2: is not UTF-8 text"),
        (b"#" * (manifest.LARGEST + 1), "is larger than 16777216 bytes"),
    ],
    ids=["empty", "not UTF-8", "too large"],
)
def test_what_is_no_text_is_refused(tmp_path: pathlib.Path, raw: bytes, told: str) -> None:
    assert _refused(_file(tmp_path, raw)) == [told]
    assert _refused(str(tmp_path)) == ["cannot be read: Is a directory"]


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_file_can_end_the_program(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    place = tmp_path_factory.getbasetemp() / "any-manifest"
    for begin in (b"kind: Infrastructure\napiVersion: config.openshift.io/v1\n", b'{"kind": "Infrastructure", '):
        place.write_bytes(begin + raw)
        problems: tuple[str, ...] = ("none",)
        try:
            manifest.wanted(str(place))
        except manifest.ManifestError as error:
            problems = error.problems
        assert problems
        assert all(problems)


# What would come of it


def _wanted(desired: str | None) -> manifest.Wanted:
    return manifest.Wanted("clusters/edge/infrastructure.yaml", desired, (6,))


@pytest.mark.parametrize("phase", list(Phase))
def test_a_manifest_with_a_request_is_judged_as_plan_judges_that_target(phase: Phase) -> None:
    known = replies.in_phase(phase)
    for desired in ("HighlyAvailable", "DualReplica"):
        found, code = _asked(known, _wanted(desired))
        said = found.pop("manifest")
        assert found == replies.planned(known, desired)
        assert said["files"] == [{"file": "clusters/edge/infrastructure.yaml", "line": 6}]
        assert said["desiredTopology"] == desired
        assert code == simulate.Verdict(found["verdict"]).exit_code


@pytest.mark.parametrize(
    ("phase", "verdict", "code", "told"),
    [
        (Phase.IDLE, "Fulfilled", 0, "The manifest requests nothing, and nothing is requested"),
        (Phase.UNSUPPORTED, "Possible", 0, "DualReplica is requested: to prune that field"),
        (Phase.PENDING, "Possible", 0, "would cancel the request"),
        (Phase.ADMITTING, "Possible", 0, "would cancel the request"),
        (Phase.CONVERGING, "Blocked", 3, "is refused until the cluster has followed to Highly"),
        (Phase.COMPLETED, "Possible", 0, "would remove a request that is fulfilled; the topology stays"),
    ],
)  # fmt: skip
def test_a_manifest_without_a_request_takes_the_request_back_where_that_is_possible(
    phase: Phase, verdict: str, code: int, told: str
) -> None:
    known = replies.in_phase(phase)
    found, ended = _asked(known, _wanted(None))
    assert (found["verdict"], ended) == (verdict, code)
    assert (found["target"], found["checks"], found["command"]) == ("", [], None)
    assert told in found["message"]
    assert "clusters/edge/infrastructure.yaml:6 has no spec.desiredTopology" in replies.printed(found)
