"""The Dockerfile says what docs/development/image.md promises; its base has the digest that the registry has."""

import hashlib
import io
import pathlib
import re
import urllib.request
from collections.abc import Mapping

import pytest

from topology_image import ImageError, builder, locks

ROOT = pathlib.Path(__file__).resolve().parents[3]
RECIPE = builder.read_recipe(ROOT / "Dockerfile")
*BEFORE, FINAL = RECIPE.stages


def said(stage: builder.Stage, word: str) -> list[str]:
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
    assert {line.split()[0] for line in said(FINAL, "COPY")} == {"--from=project"}, "modes of a checkout"
    assert FINAL.base == BEFORE[0].base == "${BASE}"


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


# -- the digest of the base

INDEX = b'{"schemaVersion": 2, "manifests": []}'
DIGEST = "sha256:" + hashlib.sha256(INDEX).hexdigest()
OTHER = "sha256:" + "0" * 64


REGISTRY = "registry.example.org/ubi9/python"


class Answer(io.BytesIO):
    headers: Mapping[str, str] = {}


@pytest.fixture
def pinned(tmp_path, monkeypatch):
    """Pin a base where the registry claims this digest for its one tag; returns the Dockerfile as it is then."""

    def pin(claimed, before=""):
        def urlopen(request, timeout):
            assert request.full_url == "https://registry.example.org/v2/ubi9/python/manifests/9.8"
            assert "oci.image.index" in request.get_header("Accept")
            answer = Answer(INDEX)
            answer.headers = {"Docker-Content-Digest": claimed} if claimed else {}
            return answer

        monkeypatch.setattr(urllib.request, "urlopen", urlopen)
        path = tmp_path / "Dockerfile"
        path.write_text(f"# head\nARG BASE={REGISTRY}:9.8{before}\n\nFROM ${{BASE}} AS one\n")
        builder.pin_base(path)
        return path.read_text()

    return pin


@pytest.mark.parametrize("before", ["", f"@{OTHER}"])
def test_the_digest_of_the_tag_is_written_and_nothing_else(pinned, before):
    assert pinned(DIGEST, before) == f"# head\nARG BASE={REGISTRY}:9.8@{DIGEST}\n\nFROM ${{BASE}} AS one\n"


@pytest.mark.parametrize("claimed", [OTHER, None])
def test_an_answer_without_the_digest_that_it_claims_is_refused(pinned, claimed):
    with pytest.raises(ImageError, match=f"claims digest {claimed}"):
        pinned(claimed)
