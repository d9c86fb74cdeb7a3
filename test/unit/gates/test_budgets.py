"""The budgets of lint: more than is allowed is named, and so is a folder that is not there any more."""

from __future__ import annotations

import budgets


def test_what_is_over_is_named_with_both_figures():
    (line,) = budgets.over({"gates": {"of": ["test/unit/gates"], "suffix": [".py"], "lines": 10, "files": 1000}})
    assert line.startswith("gates: ")
    assert line.endswith(" lines, 10 are allowed by hack/budgets.toml")


def test_a_folder_that_was_moved_does_not_keep_its_budget_for_ever():
    (line,) = budgets.over({"moved": {"of": ["test/nowhere"], "lines": 10}})
    assert line == "moved: there is nothing in test/nowhere, which hack/budgets.toml names"
