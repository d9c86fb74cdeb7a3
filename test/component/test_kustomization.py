"""kubectl builds from bindata what the program prints, so that people without a payload need only one of the two."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
from typing import Any

import kubernetes_validate
import yaml

from test.component import test_kubectl
from topology_controller import manifests

ROOT = pathlib.Path(__file__).parents[2]
OLDEST = "1.30"
"""Of OpenShift 4.17: the first that has all of these kinds in these versions."""
_PATIENCE = 60.0


def built(folder: str) -> list[dict[str, Any]]:
    made = subprocess.run(  # noqa: S603 - the kubectl that the tests use
        [test_kubectl.needed(), "kustomize", str(ROOT / folder)],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    assert (made.returncode, made.stderr) == (0, ""), made.stderr
    return list(yaml.safe_load_all(made.stdout))


def printed() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(manifests.render(manifests.Kind.OPERATOR)))


def test_kubectl_builds_what_the_program_prints_in_the_same_order():
    assert built("bindata") == printed()


def test_the_example_for_older_releases_differs_in_the_constraint_only():
    """restricted-v3 and the user namespaces that it asks for are there since OpenShift 4.20."""
    older, newer = built("docs/examples/restricted-v2"), printed()
    assert len(older) == len(newer)
    ((old, new),) = [pair for pair in zip(older, newer, strict=True) if pair[0] != pair[1]]
    for one in older:
        with contextlib.suppress(kubernetes_validate.SchemaNotFoundError):  # a kind of OpenShift
            assert kubernetes_validate.validate(one, OLDEST, strict=True) == OLDEST
    template = new["spec"]["template"]
    assert template["metadata"]["annotations"].pop("openshift.io/required-scc") == "restricted-v3"
    assert template["spec"].pop("hostUsers") is False
    assert old["spec"]["template"]["metadata"]["annotations"].pop("openshift.io/required-scc") == "restricted-v2"
    assert old == new
