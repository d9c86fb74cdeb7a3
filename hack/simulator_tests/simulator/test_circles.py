"""`hack/circles.py`, which lint asks: no files of a package need each other, not for types either."""

from __future__ import annotations

import pathlib
import runpy

CIRCLE = runpy.run_path(str(pathlib.Path(__file__).parents[2] / "circles.py"))["circle"]


def test_a_circle_of_types_is_found(tmp_path):
    package = tmp_path / "made"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("from . import two\n")
    (package / "two.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .one import Name\n")
    assert set(CIRCLE(package)) == {"made.one", "made.two"}
    (package / "two.py").write_text("from . import missing\n")
    assert CIRCLE(package) == []
