"""The Dockerfile says what docs/image.md promises, and a line that is not understood is refused, never skipped."""

from __future__ import annotations

import pathlib
import re

from topology_image import builder, dockerfile, locks

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
