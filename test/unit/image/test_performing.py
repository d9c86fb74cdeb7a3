"""A Dockerfile performed in a folder: its lines are run, what they make stays there, nothing else is touched."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from test import skips

from topology_image import builder, dockerfile, sandbox

PREFIX = pathlib.Path(sys.base_prefix)


def able() -> str:
    try:
        sandbox.need()
    except sandbox.SandboxError as error:
        return str(error)
    return ""


pytestmark = pytest.mark.skipif(bool(able()), reason=f"{skips.ELSEWHERE}no sandbox can be made: {able()}")


def perform(place, text, **given):
    context = place / "context"
    context.mkdir(exist_ok=True)
    (context / "Dockerfile").write_text(text)
    (context / ".dockerignore").write_text("*\n!kept\n!file\n**/hidden\n")
    (context / "file").write_text("content\n")
    (context / "kept" / "hidden").mkdir(parents=True, exist_ok=True)
    (context / "kept" / "seen").write_text("seen\n")
    told: list[str] = []
    made = builder.Builder(dockerfile.read(context / "Dockerfile"), context, given, PREFIX, told.append)
    return made.build(place / "stages")


def run(image, *command, **differently):
    inside = sandbox.Sandbox(own=image.own(), environment=image.environment, command=list(command), **differently)
    return subprocess.run(  # noqa: S603 - a program of the system, in a sandbox
        sandbox.enter(inside), capture_output=True, text=True, check=False, timeout=60
    )


def test_stages_hand_on_what_they_made(tmp_path):
    image = perform(
        tmp_path,
        "FROM base AS one\nARG WORD=default\nWORKDIR /build\nCOPY kept kept\nCOPY file ./\n"
        'RUN echo "$WORD" > made && mkdir /opt/it && cp made file /opt/it\n'
        "FROM base\nARG WORD\nCOPY --from=one /opt/it /opt/it\nLABEL word=$WORD\nUSER 5:0\n"
        'ENV A=1 B="x y"\nENTRYPOINT ["/opt/it/x"]\nCMD ["a"]\n',
        WORD="given",
    )
    assert (image.root / "opt" / "it" / "made").read_text() == "given\n"
    assert (image.root / "opt" / "it" / "file").read_text() == "content\n"
    assert not (image.root / "build" / "made").exists()
    built = tmp_path / "stages" / "one" / "build" / "kept"
    assert sorted(path.name for path in built.iterdir()) == ["seen"]
    assert (image.labels, image.user, image.entrypoint, image.command) == (
        {"word": "given"},
        "5:0",
        ["/opt/it/x"],
        ["a"],
    )
    assert image.environment["B"] == "x y"


def test_a_pod_finds_nothing_to_write_to_and_no_shell(tmp_path):
    image = perform(tmp_path, "FROM base\nRUN mkdir -m 777 /opt/open && echo x > /opt/open/x\n")
    locked = {"uid": 1000650000, "groups": (1000650000,), "shells": False, "temporary": False}
    who = run(image, "/usr/bin/id", **locked)
    assert who.stdout.startswith("uid=1000650000 gid=0(root) groups=0(root),1000650000"), who.stderr
    written = run(image, "/usr/bin/touch", "/opt/open/y", **locked)
    assert "Read-only file system" in written.stderr
    assert run(image, "/bin/sh", "-c", "true", **locked).returncode != 0
    assert run(image, "/bin/sh", "-c", "true", uid=1000650000).returncode == 0
    caps = run(image, "/usr/bin/cat", "/proc/self/status", **locked).stdout
    found = dict(line.split(":\t") for line in caps.splitlines() if line.startswith(("Cap", "NoNewPrivs")))
    assert found.pop("NoNewPrivs") == "1"
    assert found
    assert {int(value, 16) for value in found.values()} == {0}
