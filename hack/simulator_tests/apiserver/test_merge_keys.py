"""The table of Kubernetes' own types: of the release that the real server is of, and of every built-in kind."""

from __future__ import annotations

import pathlib
import re

from topology_simulator.apiserver import builtins, strategic

ROOT = pathlib.Path(__file__).parents[3]
TABLE = ROOT / "hack" / "topology_simulator" / "apiserver" / "merge_keys.txt"


def test_the_table_is_of_the_release_that_the_real_server_is_of():
    pinned = re.search(r"^\tk8s.io/api (v\S+)", (ROOT / "hack" / "envtest" / "go.mod").read_text(), re.MULTILINE)
    assert pinned is not None
    head = TABLE.read_text().partition("\n")[0]
    assert head == f"# Written by hack/merge_keys.py from the field tags of k8s.io/api {pinned[1]}. Do not edit."


def test_every_built_in_kind_has_a_type_but_definitions():
    without = [kind.kind for kind in builtins.kinds() if not strategic.type_name(kind)]
    assert without == ["CustomResourceDefinition"]
