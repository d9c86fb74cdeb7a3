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


def linked(path, target):
    path.unlink()
    path.symlink_to(target)


SOURCE = f"{PACKAGE}/it.py"
PYTHON = "opt/operator/bin/python3"
PROGRAM = "opt/operator/bin/cluster-topology-operator"
NO_SOURCE = f"{PACKAGE}/__pycache__/gone.cpython-{sys.version_info[0]}{sys.version_info[1]}.pyc"
COMPARED = "its byte code would be compared with the source at every start"


@pytest.mark.parametrize(
    ("name", "change", "wanted"),
    [
        ("opt/operator/lib/python3.12/site-packages/pip/x.txt", None, "something to build or install with"),
        ("opt/tool/bin/gcc", None, "something to build or install with"),
        (f"{PACKAGE}/tests/data.json", None, "a test"),
        (f"{PACKAGE}/fast.c", None, "left over from building"),
        (f"{PACKAGE}/direct_url.json", None, "from which folder"),
        (NO_SOURCE, None, "byte code without a source"),
        ("opt/operator/bin/pygmentize", None, "not ours"),
        (SOURCE, lambda path: compiled(path, py_compile.PycInvalidationMode.TIMESTAMP), COMPARED),
        (SOURCE, lambda path: compiled(path, py_compile.PycInvalidationMode.CHECKED_HASH), COMPARED),
        (SOURCE, lambda path: path.chmod(0o666), "others could change it"),
        (SOURCE, lambda path: path.chmod(0o600), "cannot read it"),
        (SOURCE, lambda path: path.chmod(0o4755), "others could change"),
        (PROGRAM, lambda path: path.write_text("#!/somewhere/python\n"), "begins with #!/somewhere/python"),
        (PYTHON, lambda path: linked(path, "/usr/bin/python3.9"), "leads to /usr/bin/python3.9"),
    ],
)
def test_what_is_wrong_is_seen_and_nothing_else(layer, name, change, wanted):
    place = layer.root / name
    if change is None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("#!/opt/operator/bin/python\n")
    else:
        change(place)
    aged(layer.root)
    (sentence,) = found(layer)
    assert sentence.startswith(str(place.parent.relative_to(layer.root)).removesuffix("/__pycache__"))
    assert wanted in sentence


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
