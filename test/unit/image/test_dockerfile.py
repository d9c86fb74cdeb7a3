"""The Dockerfile says what docs/image.md promises; its base has the digest that the registry has, and proves."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import pathlib
import re
import threading

import pytest

from topology_image import base, builder, dockerfile, locks

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


@contextlib.contextmanager
def registry(claimed):
    """A registry on loopback with one tag."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == "/v2/ubi9/python/manifests/9.8" and "oci.image.index" in self.headers["Accept"]
            self.send_response(200 if known else 404)
            if claimed is not None:
                self.send_header("Docker-Content-Digest", claimed)
            self.end_headers()
            self.wfile.write(INDEX)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def recipe(folder, line):
    path = folder / "Dockerfile"
    path.write_text(f"# head\n{line}\n\nFROM ${{BASE}} AS one\n")
    return path


@pytest.mark.parametrize("before", ["", f"@{OTHER}"])
def test_the_digest_of_the_tag_is_written_and_nothing_else(tmp_path, before):
    with registry(DIGEST) as host:
        path = recipe(tmp_path, f"ARG BASE={host}/ubi9/python:9.8{before}")
        assert base.pin(path, scheme="http") == f"{host}/ubi9/python:9.8@{DIGEST}"
    assert path.read_text() == f"# head\nARG BASE={host}/ubi9/python:9.8@{DIGEST}\n\nFROM ${{BASE}} AS one\n"


@pytest.mark.parametrize("claimed", [OTHER, None])
def test_an_answer_without_the_digest_that_it_claims_is_refused(tmp_path, claimed):
    with registry(claimed) as host:
        path = recipe(tmp_path, f"ARG BASE={host}/ubi9/python:9.8")
        before = path.read_text()
        with pytest.raises(base.BaseError, match=f"claims digest {claimed}"):
            base.pin(path, scheme="http")
    assert path.read_text() == before
