"""Each rule about the files of the application layer holds for a right one, and sees the one thing that is wrong."""

from __future__ import annotations

import os
import py_compile
import sys

import pytest

from topology_image import layer_rules

EPOCH = 1767225600
PACKAGE = "opt/operator/lib/python3.12/site-packages/ours"


@pytest.fixture
def layer(tmp_path):
    """Make a small layer in which every rule holds; those about the owner need root, and others skip them."""
    old = os.umask(0o022)
    try:
        binaries, package = tmp_path / "opt/operator/bin", tmp_path / PACKAGE
        binaries.mkdir(parents=True)
        package.mkdir(parents=True)
        for name in layer_rules.PROGRAMS:
            (binaries / name).write_text("#!/opt/operator/bin/python\n")
        (binaries / "python3").symlink_to("/usr/bin/python3.12")
        (binaries / "python").symlink_to("python3")
        (package / "it.py").write_text("x = 1\n")
        compiled(package / "it.py")
        aged(tmp_path)
    finally:
        os.umask(old)
    return layer_rules.Layer(tmp_path, "/usr/bin/python3.12", ("/somebody/s/folder",), EPOCH)


def compiled(path, mode=py_compile.PycInvalidationMode.UNCHECKED_HASH):
    py_compile.compile(str(path), invalidation_mode=mode, doraise=True)


def aged(root):
    for path in (root, *root.rglob("*")):
        os.utime(path, (EPOCH, EPOCH), follow_symlinks=False)


def found(layer):
    return [sentence for sentence in layer_rules.findings(layer) if os.geteuid() == 0 or ": owner " not in sentence]


def test_a_right_layer_has_no_finding(layer):
    assert found(layer) == []


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("opt/operator/lib/python3.12/site-packages/pip/x.txt", "something to build or install with"),
        ("opt/tool/bin/gcc", "something to build or install with"),
        (f"{PACKAGE}/tests/data.json", "a test"),
        (f"{PACKAGE}/fast.c", "left over from building"),
        (f"{PACKAGE}/direct_url.json", "from which folder"),
        (f"{PACKAGE}/__pycache__/gone.cpython-{'%d%d'}.pyc", "byte code without a source"),
        ("opt/operator/bin/pygmentize", "not ours"),
    ],
)
def test_what_does_not_belong_there_is_seen(layer, name, wanted):
    place = layer.root / (name % sys.version_info[:2] if "%" in name else name)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("#!/opt/operator/bin/python\n")
    aged(layer.root)
    assert len(found(layer)) == 1
    assert wanted in found(layer)[0]


@pytest.mark.parametrize(
    "mode", [py_compile.PycInvalidationMode.TIMESTAMP, py_compile.PycInvalidationMode.CHECKED_HASH]
)
def test_byte_code_that_is_compared_at_every_start_is_seen(layer, mode):
    compiled(layer.root / PACKAGE / "it.py", mode)
    aged(layer.root)
    assert found(layer) == [f"{PACKAGE}/it.py: its byte code would be compared with the source at every start"]


@pytest.mark.parametrize(
    ("mode", "wanted"), [(0o666, "others could change it"), (0o600, "cannot read it"), (0o4755, "others could change")]
)
def test_modes_that_are_wrong_are_seen(layer, mode, wanted):
    (layer.root / PACKAGE / "it.py").chmod(mode)
    assert len(found(layer)) == 1
    assert wanted in found(layer)[0]


def test_a_program_that_would_not_start_is_seen(layer):
    (layer.root / "opt/operator/bin/kubectl-topology").write_text("#!/somewhere/else/python\n")
    (layer.root / "opt/operator/bin/python3").unlink()
    (layer.root / "opt/operator/bin/python3").symlink_to("/usr/bin/python3.9")
    aged(layer.root)
    assert found(layer) == [
        "opt/operator/bin/kubectl-topology: begins with #!/somewhere/else/python",
        "opt/operator/bin/python3: leads to /usr/bin/python3.9",
    ]


def test_the_digest_sees_content_mode_name_and_link(layer):
    seen = {layer_rules.digest(layer)}
    it = layer.root / PACKAGE / "it.py"
    for change in (
        lambda: it.write_text("x = 3\n"),
        lambda: it.chmod(0o755),
        lambda: it.rename(it.with_name("that.py")),
        lambda: (layer.root / "opt/operator/bin/link").symlink_to("x"),
    ):
        change()
        seen.add(layer_rules.digest(layer))
    assert len(seen) == 5
