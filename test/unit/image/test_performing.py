"""A Dockerfile performed in a folder: its lines are run, what they make stays there, nothing else is touched."""

from __future__ import annotations

import os
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


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("RUN echo x > /usr/x", "line 2: RUN echo x.*Read-only file system"),
        ("RUN echo x > /etc/x", "Read-only file system"),
        ("RUN exit 7", "exit code 7"),
        ("COPY absent /opt/", "found only"),
        ("COPY Dockerfile /opt/", "dockerignore keeps it out"),
        ("COPY file /etc/file", "COPY to /etc/file"),
        ("ENTRYPOINT sh -c x", "only the exec form"),
    ],
)
def test_a_line_that_cannot_be_performed_is_named(tmp_path, line, complaint):
    with pytest.raises(builder.BuildError, match=f"(?s){complaint}"):
        perform(tmp_path, f"FROM base\n{line}\n")


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


def test_nothing_of_the_room_is_left_outside(tmp_path):
    before = pathlib.Path("/proc/self/mounts").read_text()
    image = perform(tmp_path, "FROM base\nRUN true\n")
    assert run(image, "/usr/bin/true").returncode == 0
    assert pathlib.Path("/proc/self/mounts").read_text() == before
    assert not os.path.ismount("/mnt")


def test_whoever_is_not_root_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(sandbox.SandboxError, match="sudo make image-check"):
        sandbox.need()
