"""The digest of the base image comes from the registry, and is believed only where its answer has it."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import threading
from typing import TYPE_CHECKING

import pytest

from topology_image import base

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

INDEX = b'{"schemaVersion": 2, "manifests": []}'
DIGEST = "sha256:" + hashlib.sha256(INDEX).hexdigest()
OTHER = "sha256:" + "0" * 64


@contextlib.contextmanager
def registry(claimed: str | None) -> Iterator[str]:
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


def recipe(folder: pathlib.Path, line: str) -> pathlib.Path:
    path = folder / "Dockerfile"
    path.write_text(f"# head\n{line}\n\nFROM ${{BASE}} AS one\n")
    return path


@pytest.mark.parametrize("before", ["", f"@{OTHER}"])
def test_the_digest_of_the_tag_is_written_and_nothing_else(tmp_path: pathlib.Path, before: str) -> None:
    with registry(DIGEST) as host:
        path = recipe(tmp_path, f"ARG BASE={host}/ubi9/python:9.8{before}")
        assert base.pin(path, scheme="http") == f"{host}/ubi9/python:9.8@{DIGEST}"
    assert path.read_text() == f"# head\nARG BASE={host}/ubi9/python:9.8@{DIGEST}\n\nFROM ${{BASE}} AS one\n"


@pytest.mark.parametrize("claimed", [OTHER, None])
def test_an_answer_without_the_digest_that_it_claims_is_refused(tmp_path: pathlib.Path, claimed: str | None) -> None:
    with registry(claimed) as host:
        path = recipe(tmp_path, f"ARG BASE={host}/ubi9/python:9.8")
        before = path.read_text()
        with pytest.raises(base.BaseError, match=f"claims digest {claimed}"):
            base.pin(path, scheme="http")
    assert path.read_text() == before
