"""`engines` builds as `envtest` does, by the same functions (`from_modules.sh`): what is its own is its modules."""

from __future__ import annotations

import pathlib

_FOLDER = pathlib.Path(__file__).parents[3] / "hack" / "engines"


def test_every_module_has_its_content_in_go_sum() -> None:
    """Also the two that the checksum database does not know: their lines come from those who require them."""
    sums = (_FOLDER / "go.sum").read_text()
    for module in ("open-cluster-management.io/ocm v1.2.0 h1:", "sigs.k8s.io/about-api ", "stolostron/go-log-utils "):
        assert module in sums
    assert "replace" not in (_FOLDER / "go.mod").read_text()
