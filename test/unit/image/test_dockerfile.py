"""The Dockerfile says what docs/image.md promises, and a line that is not understood is refused, never skipped."""

from __future__ import annotations

import pathlib
import re

import pytest

from topology_image import builder, dockerfile, layer_rules, locks

ROOT = pathlib.Path(__file__).resolve().parents[3]
RECIPE = dockerfile.read(ROOT / "Dockerfile")
*BEFORE, FINAL = RECIPE.stages


def said(stage: dockerfile.Stage, word: str) -> list[str]:
    return [step.value for step in stage.steps if step.word == word]


def test_every_install_is_held_against_hashes_or_stays_at_home():
    installs = [
        part
        for stage in RECIPE.stages
        for line in said(stage, "RUN")
        for part in line.split("&&")
        if re.search(r"\bpip\b.* (install|download|wheel) ", part)
    ]
    assert len(installs) == 4
    for part in installs:
        fetched = "--require-hashes" in part and "--only-binary :all:" in part
        at_home = "--no-deps" in part and ("--no-index" in part or "--no-build-isolation" in part)
        assert fetched or at_home, part


def test_the_last_stage_only_takes_away_and_copies():
    assert said(FINAL, "RUN") == ["rm -rf /opt/app-root /usr/libexec/s2i /usr/share/python3.12-wheels"]
    assert [line for line in said(FINAL, "COPY") if line.startswith("--from")] == [
        "--from=project /opt/operator /opt/operator"
    ]
    assert FINAL.base == BEFORE[0].base == "${BASE}"


def test_it_starts_without_a_shell_as_a_number_in_group_zero():
    assert said(FINAL, "ENTRYPOINT") == ['["/opt/operator/bin/cluster-topology-operator"]']
    assert re.fullmatch(r"[1-9]\d*:0", said(FINAL, "USER")[-1])
    home = said(FINAL, "ENV")[0]
    # Without a HOME, kubernetes_asyncio cannot be imported by a UID that /etc/passwd does not know.
    assert " HOME=/tmp " in home
    assert "PYTHONDONTWRITEBYTECODE=1" in home


def test_the_base_is_never_the_latest_one():
    base = RECIPE.arguments["BASE"]
    assert re.fullmatch(r"registry\.access\.redhat\.com/ubi9/python-312-minimal:\d+\.\d+(@sha256:[0-9a-f]{64})?", base)


def test_what_stays_source_is_the_same_here_and_there():
    [compiling] = [line for stage in BEFORE for line in said(stage, "RUN") if "compileall" in line]
    assert f"-x '{layer_rules.NOT_COMPILED}'" in compiling
    assert "--invalidation-mode unchecked-hash" in compiling
    assert "PYTHONHASHSEED=0" in compiling


def test_the_context_is_what_is_copied_and_nothing_else():
    copied = {
        name.strip("/").split("/")[0]
        for stage in RECIPE.stages
        for line in said(stage, "COPY")
        if not line.startswith("--from")
        for name in line.split()[:-1]
    }
    assert set(builder.let_in(ROOT)) == copied
    assert copied & set(locks.FILES) == {"requirements.lock", "requirements-build.lock"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("RUN true\n", "RUN is not understood|there is no FROM"),
        ("FROM a\nADD x /y\n", "line 2: ADD is not understood"),
        ("FROM a\nRUN true\nHEALTHCHECK NONE\n", "line 3: HEALTHCHECK"),
        ("FROM --platform=x a\n", "line 1: FROM"),
        ("# only a comment\n", "there is no FROM"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path, text, complaint):
    place = tmp_path / "Dockerfile"
    place.write_text(text)
    with pytest.raises(dockerfile.DockerfileError, match=complaint):
        dockerfile.read(place)


def test_variables_are_filled_in_as_an_engine_does():
    step = dockerfile.Step(7, "LABEL", 'version="${V}" text="a $V b" none="$W"')
    assert step.pairs({"V": "1.2"}) == {"version": "1.2", "text": "a 1.2 b", "none": ""}
    assert dockerfile.Step(1, "ARG", 'A=""').argument() == ("A", "")
    assert dockerfile.Step(1, "ARG", "A").argument() == ("A", None)
    with pytest.raises(dockerfile.DockerfileError, match="line 7"):
        dockerfile.Step(7, "ENV", "A b").pairs({})
