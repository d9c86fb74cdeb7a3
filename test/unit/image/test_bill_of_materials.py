"""The list of what is in the layer: true to what was installed, complete, valid, and the same each time."""

from __future__ import annotations

import pytest

from topology_image import bom, locks

DIGESTS = {"one": "1" * 64, "two-more": "2" * 64}
LOCKED = {name: locks.Locked(name, "1.0", "", frozenset({digest, "f" * 64})) for name, digest in DIGESTS.items()}


FOUND = {
    "metadata": {"component": {"name": "cluster-topology-operator", "version": "0"}},
    "components": [{"name": name, "version": "1.0", "bom-ref": f"{name}==1.0"} for name in ("one", "two_more")],
}
"""What is found in an environment of two packages, as far as it is looked at."""


def completed(**differently):
    said = {"version": "0.1.0+gabc", "wheel": "3" * 64, "installed": DIGESTS, "locked": LOCKED} | differently
    return bom.completed(FOUND, **said)


def test_what_was_installed_has_its_hash_and_the_whole_its_version():
    made = completed()
    root = made["metadata"]["component"]
    assert (root["version"], root["hashes"]) == ("0.1.0+gabc", [{"alg": "SHA-256", "content": "3" * 64}])
    assert [one["hashes"][0]["content"] for one in made["components"]] == list(DIGESTS.values())


@pytest.mark.parametrize(
    ("differently", "complaint"),
    [
        ({"locked": {"one": LOCKED["one"]}}, "two_more is in the layer and in no locked file"),
        ({"installed": {"one": "1" * 64}}, "two-more 1.0 with hash None is not what is locked"),
        ({"installed": DIGESTS | {"one": "9" * 64}}, "one 1.0 with hash 9+ is not what is locked"),
        (
            {"locked": LOCKED | {"one": locks.Locked("one", "1.1", "", frozenset({"1" * 64}))}},
            "is not what is locked: 1.1",
        ),
        ({"installed": DIGESTS | {"three": "4" * 64}}, r"installed, and not in the list: \['three'\]"),
    ],
)
def test_a_list_that_would_not_be_true_is_refused(differently, complaint):
    with pytest.raises(bom.BomError, match=complaint):
        completed(**differently)
